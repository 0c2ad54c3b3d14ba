#!/usr/bin/env python3
"""An integration: appends every event of geofences to a file, each once, in the order of its commit.

    integration.py EVENTS [--follow] [--organization ID]

The list of events, sorted by `sequence`, is a feed: its cursor says where to go on. The cursor is kept in the file's last
line, so that a run that is killed goes on exactly behind the last event that it wrote. Corrections of an event come with its
`id` and a higher `revision`. Without --follow it ends when there is nothing more.

WAYPOST_URL: the server. WAYPOST_EMAIL, WAYPOST_PASSWORD: a user of the organization; an operator names the --organization.
"""

import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ.get("WAYPOST_URL", "http://127.0.0.1:8080")
PAGE = 200
# What happened at geofences; without it, trips, stops, fuel and the rest come too.
TYPES = ("entry", "exit", "dwell")
FOLLOW_SECONDS = 2


class Server:
    """Signs in, and again when the access token has ended."""

    def __init__(self):
        self.token = ""

    def sign_in(self):
        account = {"email": os.environ["WAYPOST_EMAIL"], "password": os.environ["WAYPOST_PASSWORD"]}
        self.token = self.ask("/v1/auth/login", account)["accessToken"]

    def ask(self, path, body=None):
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = json.dumps(body).encode() if body is not None else None
        with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers), timeout=20) as answer:
            return json.load(answer)

    def get(self, path):
        """Asks until there is an answer."""
        while True:
            try:
                if not self.token:
                    self.sign_in()
                return self.ask(path)
            except urllib.error.HTTPError as error:
                if error.code == 401 and self.token:
                    self.token = ""
                elif error.code in (408, 429) or error.code >= 500:
                    time.sleep(float(error.headers.get("Retry-After") or 1))
                else:
                    sys.exit(f"integration: {error.code}: {error.read().decode(errors='replace')}")
            except OSError as error:
                print(f"integration: {error}; again in 5 s", file=sys.stderr)
                time.sleep(5)


def last_cursor(path):
    """The cursor of the last whole line; what is behind it was cut off by a kill, and is removed."""
    if not os.path.exists(path):
        return None
    with open(path, "rb+") as file:
        text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        file.truncate(len(whole))
    lines = whole.splitlines()
    return json.loads(lines[-1])["cursor"] if lines else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("events")
    parser.add_argument("--follow", action="store_true")
    parser.add_argument("--organization")
    arguments = parser.parse_args()
    server, cursor = Server(), last_cursor(arguments.events)
    with open(arguments.events, "a") as file:
        while True:
            query = {"sort": "sequence", "limit": PAGE, "type": TYPES}
            query |= {"after": cursor} if cursor else {}
            query |= {"organizationId": arguments.organization} if arguments.organization else {}
            page = server.get("/v1/events?" + urllib.parse.urlencode(query, doseq=True))
            pagination = page["pagination"]
            cursor = pagination["endCursor"] or cursor
            if page["data"]:
                # One line, one write: a page is there whole or not at all.
                file.write(json.dumps({"events": page["data"], "cursor": cursor}) + "\n")
                file.flush()
                os.fsync(file.fileno())
            for event in page["data"]:
                print(event["type"], event["vehicleName"], event.get("geofenceName") or "", event["status"])
            if not pagination["hasNextPage"]:
                if not arguments.follow:
                    return
                time.sleep(FOLLOW_SECONDS)


main()
