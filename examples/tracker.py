#!/usr/bin/env python3
"""A tracker: reads fixes from standard input, and reports them until each is acknowledged.

    tracker.py OUTBOX < fixes.csv

A line is `recordedAt,latitude,longitude[,speedKmh]`. What is not acknowledged stays in the file OUTBOX, one JSON object a
line, and is reported first by the next run: an acknowledgement means committed, and a fix that is sent twice is stored once.

WAYPOST_URL: the server. WAYPOST_TOKEN: the tracker's token.
"""

import json
import os
import random
import sys
import time
import urllib.error
import urllib.request

URL = os.environ.get("WAYPOST_URL", "http://127.0.0.1:8080")
TOKEN = os.environ["WAYPOST_TOKEN"]
# One request: at most 256 KiB.
MOST_ITEMS = 200
LONGEST_PAUSE_SECONDS = 60


class Refused(Exception):
    """The server will not take it, however often it is asked."""


class Outbox:
    """Fixes that are not acknowledged, in a file."""

    def __init__(self, path):
        self.path = path
        self.fixes = []
        if os.path.exists(path):
            with open(path) as file:
                self.fixes = [json.loads(line) for line in file if line.endswith("\n")]

    def add(self, fix):
        self.fixes.append(fix)
        with open(self.path, "a") as file:
            file.write(json.dumps(fix) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def drop(self, count):
        self.fixes = self.fixes[count:]
        part = self.path + ".part"
        with open(part, "w") as file:
            file.writelines(json.dumps(fix) + "\n" for fix in self.fixes)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self.path)


def fix_of(line):
    fields = line.strip().split(",")
    fix = {"recordedAt": fields[0], "latitude": float(fields[1]), "longitude": float(fields[2])}
    if len(fields) > 3 and fields[3]:
        fix["speedKmh"] = float(fields[3])
    return fix


def report(fixes):
    """Reports once; the server's answer. Raises what says whether to try again."""
    body = json.dumps({"items": fixes}).encode()
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{URL}/v1/positions", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code in (408, 429) or error.code >= 500:
            error.pause = float(error.headers.get("Retry-After") or 1)
            raise
        raise Refused(f"{error.code}: {error.read().decode(errors='replace')}") from error


def empty(outbox):
    """Reports everything, however long it takes."""
    failures = 0
    while outbox.fixes:
        some = outbox.fixes[:MOST_ITEMS]
        try:
            answer = report(some)
        except Refused:
            raise
        except OSError as error:
            failures += 1
            pause = max(getattr(error, "pause", 0), min(2**failures, LONGEST_PAUSE_SECONDS))
            print(f"tracker: {error}; again in some {pause:.0f} s", file=sys.stderr)
            time.sleep(pause * random.uniform(0.5, 1.5))
            continue
        failures = 0
        for rejected in answer.get("rejected", []):
            print(f"tracker: not stored: {rejected}", file=sys.stderr)
        outbox.drop(len(some))
        print(f"tracker: {len(some)} acknowledged, {len(outbox.fixes)} left")


def main():
    outbox = Outbox(sys.argv[1])
    for line in sys.stdin:
        if line.strip():
            outbox.add(fix_of(line))
    empty(outbox)


if len(sys.argv) != 2:
    sys.exit(__doc__)
main()
