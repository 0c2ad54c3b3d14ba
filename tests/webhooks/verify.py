#!/usr/bin/env python3
"""Has PyPI's standardwebhooks and svix judge what tests/webhooks/keep.py kept; fails if one of them judges otherwise than it must.

    tests/webhooks/verify.py FILE FORMER_SECRET NEW_SECRET

What has one signature was sent before the secret was replaced; what has two, after it.
"""

import base64
import json
import sys

import standardwebhooks.webhooks
import svix.webhooks

LIBRARIES = {"standardwebhooks": standardwebhooks.webhooks, "svix": svix.webhooks}


def takes(library, secret, body, headers):
    """Whether a library takes a delivery for one that is signed by a secret."""
    try:
        library.Webhook(secret).verify(body, headers)
    except library.WebhookVerificationError:
        return False
    return True


file, former, new = sys.argv[1:]
with open(file) as lines:
    deliveries = [json.loads(line) for line in lines]
counts = {1: 0, 2: 0}
for delivery in deliveries:
    body, headers = base64.b64decode(delivery["body"]), delivery["headers"]
    signatures = len(headers["webhook-signature"].split(" "))
    counts[signatures] += 1
    later = str(int(headers["webhook-timestamp"]) + 1)
    for name, library in LIBRARIES.items():
        told = [takes(library, secret, body, headers) for secret in (former, new)]
        assert told == [True, signatures == 2], f"{name}: {told} of {headers}"
        forged = [
            (body + b" ", headers),
            (body, headers | {"webhook-id": "another"}),
            (body, headers | {"webhook-timestamp": later}),
        ]
        assert not any(takes(library, former, *one) for one in forged), f"{name} takes what was forged of {headers}"
assert all(counts.values()), counts
print(f"webhooks: {' and '.join(LIBRARIES)} of PyPI take {counts[1]} deliveries with one signature and {counts[2]} with two")
