#!/usr/bin/env python3
"""Receives webhooks and keeps a table of geofence events that stays right when late data revises or retracts them.

    WAYPOST_SECRET=whsec_… python3 receiver.py TABLE [PORT]

TABLE is a SQLite file. Answers 204 once an event is in it, so that an answer means stored. Needs Python only; in a program of your own,
the library `standardwebhooks` does what `verified` does here.
"""

import base64
import hashlib
import hmac
import json
import os
import sqlite3
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

MOST_BYTES = 5_000_000
TOLERANCE_SECONDS = 300


def verified(headers, body, secret):
    """Whether one of the signatures is ours, of these bytes and of now."""
    ident, sent_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent_at.isdigit() or abs(time.time() - int(sent_at)) > TOLERANCE_SECONDS:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = hmac.new(key, f"{ident}.{sent_at}.".encode() + body, hashlib.sha256).digest()
    ours = f"v1,{base64.b64encode(signed).decode()}"
    # While a secret is replaced there are two.
    return any(hmac.compare_digest(ours, one) for one in headers.get("webhook-signature", "").split(" "))


def keep(table, event):
    """Puts an event into the table, unless a newer revision of it is there: events may come twice."""
    if not event["type"].startswith("geofence."):
        return
    data = event["data"]
    with table:
        table.execute(
            """insert into event (id, revision, status, kind, vehicle, geofence, occurred_at) values (?, ?, ?, ?, ?, ?, ?)
               on conflict (id) do update set revision = excluded.revision, status = excluded.status,
               vehicle = excluded.vehicle, geofence = excluded.geofence, occurred_at = excluded.occurred_at
               where excluded.revision > event.revision""",
            (
                data["id"],
                data["revision"],
                data["status"],
                data["type"],
                data["vehicleName"],
                data["geofenceName"],
                data["occurredAt"],
            ),
        )


class Receiver(BaseHTTPRequestHandler):
    """One delivery."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("content-length", "0"))
        body = self.rfile.read(length) if length <= MOST_BYTES else b""
        if verified(self.headers, body, os.environ["WAYPOST_SECRET"]):
            keep(self.server.table, json.loads(body))
            self.send_response(204)
        else:
            self.send_response(401)
            self.close_connection = True
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    table = sqlite3.connect(sys.argv[1])
    table.execute(
        """create table if not exists event (id text primary key, revision integer, status text, kind text, vehicle text,
           geofence text, occurred_at text)"""
    )
    server = HTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 8000), Receiver)
    server.table = table
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
