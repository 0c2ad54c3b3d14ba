#!/usr/bin/env python3
"""The queries of a Grafana dashboard as recording rules, for promtool; fails if a panel lacks what Grafana needs of it.

    tests/dashboard.py monitoring/grafana.json
"""

import json
import sys

with open(sys.argv[1]) as file:
    dashboard = json.load(file)
assert dashboard["schemaVersion"] >= 30 and dashboard["uid"] and dashboard["title"]
ids = [panel["id"] for panel in dashboard["panels"]]
assert len(ids) == len(set(ids)), "two panels have one id"
print("groups:\n  - name: dashboard\n    rules:")
number = 0
for panel in dashboard["panels"]:
    assert panel["type"] in ("timeseries", "stat") and panel["title"], panel
    assert {"h", "w", "x", "y"} == panel["gridPos"].keys() and panel["targets"], panel
    for target in panel["targets"]:
        # Grafana puts a duration in its place.
        query = target["expr"].replace("$__rate_interval", "5m")
        print(f"      - record: dashboard:{number}\n        expr: {json.dumps(query)}")
        number += 1
