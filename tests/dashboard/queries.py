#!/usr/bin/env python3
"""The queries of a Grafana dashboard as recording rules, for promtool; fails if two panels have one id.

    tests/dashboard/queries.py monitoring/grafana.json
"""

import json
import sys

with open(sys.argv[1]) as file:
    panels = json.load(file)["panels"]
assert len(panels) == len({panel["id"] for panel in panels}), "two panels have one id"
print("groups:\n  - name: dashboard\n    rules:")
for number, target in enumerate(target for panel in panels for target in panel["targets"]):
    # Grafana puts a duration in its place.
    query = target["expr"].replace("$__rate_interval", "5m")
    print(f"      - record: dashboard:{number}\n        expr: {json.dumps(query)}")
