#!/usr/bin/env python3
"""A receiver of webhooks that takes everything and keeps it as it came, for libraries to judge.

    tests/webhooks/keep.py FILE

Writes a line of JSON per delivery into FILE: the headers, and the body in base64.
"""

import base64
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver(BaseHTTPRequestHandler):
    """One delivery."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        kept = {"headers": dict(self.headers.items()), "body": base64.b64encode(body).decode()}
        with open(sys.argv[1], "a") as file:
            file.write(json.dumps(kept) + "\n")
        self.send_response(204)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print(f"listening on {server.server_port}", flush=True)
server.serve_forever()
