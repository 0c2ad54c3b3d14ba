#!/usr/bin/env python3
"""Cuts the bundled slice out of the Austin data set. Standard library only.

    cut.py slice DATA OUT     traces.csv.gz, fences.geojson.gz, circles.json and demo.json
    cut.py shown OUT          shown/: of the slice in OUT what its demo.json names, which the program carries
    cut.py events REFERENCE OUT
                              packs the reference script's answer for exactly that slice

The slice is two evenings of the nine days: 2016-03-22, whose feed repeats a third of its fixes,
and 2017-04-18, which holds 22 fixes at 0,0. `demo.json` names the busiest buses of the second
evening and the fences the demo draws; the test of the repository uses everything.

Rows are grouped by vehicle, each vehicle's in the order of the source: that halves the size, and
the order between vehicles has no meaning in the source either. Rows and coordinates are unchanged;
the columns route and trip are left out.
"""
import collections
import csv
import gzip
import io
import json
import math
import os
import sys
from datetime import datetime, timezone

DAYS = ("2016-03-22", "2017-04-18")
COLUMNS = ("vehicle", "recorded_at", "lat", "lon", "speed_kmh")

# Every fence of these kinds, then single large ones by id. Congress and most state house
# districts are left out for their size alone.
KINDS = ("hood", "historic", "airport")
LARGE = ("city-austin", "city-leander", "city-pflugerville", "city-west-lake-hills",
         "senate-tx-14", "house-tx-46", "house-tx-49", "house-tx-50", "house-tx-51")
# Parks that a trace of the slice touches, but for two large ones by the rivers.
PARKS_WITHOUT = ("park-walter-e-long-metro-park", "park-emma-long-metro-park")

DEMO_FROM = "2017-04-18T17:15:00-05:00"
DEMO_TO = "2017-04-18T22:45:00-05:00"
DEMO_BUSES = 28
DEMO_POLYGONS = ("city-austin", "hood-downtown", "hood-east-cesar-chavez", "hood-hyde-park", "hood-zilker",
                 "hood-university-of-texas", "hood-west-campus", "hood-bouldin-creek", "hood-mueller",
                 "hood-montopolis", "hood-riverside", "hood-crestview", "hood-allandale", "hood-clarksville")
DEMO_MORE = 7
DEMO_CIRCLES = 10


def read_rows(path):
    with gzip.open(path, "rt", newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def write_gzip(path, text):
    """Gzip without a time stamp or file name, so that the same input gives the same bytes."""
    with gzip.GzipFile(filename="", fileobj=open(path, "wb"), mode="wb", compresslevel=9, mtime=0) as handle:
        handle.write(text.encode())


def csv_text(header, rows):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def feature_text(features):
    lines = ",\n".join(json.dumps(feature, separators=(",", ":")) for feature in features)
    return f'{{"type":"FeatureCollection","features":[\n{lines}\n]}}\n'


def circle_text(circles):
    return "[\n" + ",\n".join(json.dumps(circle) for circle in circles) + "\n]\n"


def instant(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


def rings(geometry):
    parts = geometry["coordinates"] if geometry["type"] == "MultiPolygon" else [geometry["coordinates"]]
    return [ring for part in parts for ring in part]


def may_hold(geometry, places):
    """Whether the box of a polygon holds one of the places."""
    points = [point for ring in rings(geometry) for point in ring]
    west, east = min(p[0] for p in points), max(p[0] for p in points)
    south, north = min(p[1] for p in points), max(p[1] for p in points)
    return any(west <= lon <= east and south <= lat <= north for lat, lon in places)


def metres(lat1, lon1, lat2, lon2):
    x = (lon2 - lon1) * math.cos(math.radians((lat1 + lat2) / 2))
    return math.hypot(x, lat2 - lat1) * 111_195


def slice_traces(data):
    """The rows of the two evenings, grouped by vehicle in the order of first appearance."""
    by_vehicle = collections.defaultdict(list)
    for row in read_rows(f"{data}/traces.csv.gz"):
        if row["recorded_at"][:10] in DAYS:
            by_vehicle[row["vehicle"]].append(row)
    return by_vehicle


def slice_fences(data, places):
    with open(f"{data}/fences.geojson", encoding="utf-8") as handle:
        features = json.load(handle)["features"]

    def wanted(feature):
        name, kind = feature["properties"]["id"], feature["properties"]["kind"]
        if kind == "park":
            return name not in PARKS_WITHOUT and may_hold(feature["geometry"], places)
        return kind in KINDS or name in LARGE

    return [feature for feature in features if wanted(feature)]


def demo_buses(by_vehicle):
    """The buses with the most fixes at a new place in the demo's hours."""
    begin, end = instant(DEMO_FROM), instant(DEMO_TO)
    moves = collections.Counter()
    for name, rows in by_vehicle.items():
        places = [(r["lat"], r["lon"]) for r in rows if begin <= instant(r["recorded_at"]) < end]
        moves[name] = sum(a != b for a, b in zip(places, places[1:]))
    return sorted(name for name, _ in sorted(moves.items(), key=lambda m: (-m[1], m[0]))[:DEMO_BUSES])


def demo_fences(features, circles, places):
    """The named polygons, the parks and hoods most visited besides, and the most visited circles."""
    ids = {feature["properties"]["id"]: feature for feature in features}
    chosen = [name for name in DEMO_POLYGONS if name in ids]
    visits = {name: sum(may_hold(feature["geometry"], [place]) for place in places[::5])
              for name, feature in ids.items()
              if name not in chosen and feature["properties"]["kind"] in ("park", "hood", "historic")}
    parts = {name: (len(rings(ids[name]["geometry"])) > 1, count) for name, count in visits.items() if count}
    chosen += sorted(parts, key=lambda name: parts[name], reverse=True)[:DEMO_MORE]
    near = {c["id"]: sum(metres(lat, lon, c["lat"], c["lon"]) <= c["radius_m"] for lat, lon in places[::5])
            for c in circles}
    return chosen, sorted(near, key=near.get, reverse=True)[:DEMO_CIRCLES]


def cut_slice(data, out):
    by_vehicle = slice_traces(data)
    rows = [[row[c] for c in COLUMNS] for vehicle in by_vehicle.values() for row in vehicle]
    write_gzip(f"{out}/traces.csv.gz", csv_text(COLUMNS, rows))

    places = sorted({(float(row[2]), float(row[3])) for row in rows if float(row[2]) != 0})
    features = slice_fences(data, places)
    write_gzip(f"{out}/fences.geojson.gz", feature_text(features))

    with open(f"{data}/circles.json", encoding="utf-8") as handle:
        circles = [{key: c[key] for key in ("id", "name", "lat", "lon", "radius_m")} for c in json.load(handle)]
    with open(f"{out}/circles.json", "w", encoding="utf-8") as handle:
        handle.write(circle_text(circles))

    buses = demo_buses(by_vehicle)
    begin, end = instant(DEMO_FROM), instant(DEMO_TO)
    seen = [(float(r["lat"]), float(r["lon"])) for name in buses for r in by_vehicle[name]
            if begin <= instant(r["recorded_at"]) < end]
    polygons, circle_ids = demo_fences(features, circles, seen)
    plan = {"from": DEMO_FROM, "to": DEMO_TO, "vehicles": buses, "polygons": polygons, "circles": circle_ids}
    with open(f"{out}/demo.json", "w", encoding="utf-8") as handle:
        json.dump(plan, handle, indent=1)
        handle.write("\n")
    print(f"{len(rows)} fixes of {len(by_vehicle)} vehicles, {len(features)} polygons, {len(circles)} circles")
    cut_shown(out)


def cut_shown(out):
    with open(f"{out}/demo.json", encoding="utf-8") as handle:
        plan = json.load(handle)
    begin, end = instant(plan["from"]), instant(plan["to"])
    rows = [row for row in read_rows(f"{out}/traces.csv.gz")
            if row["vehicle"] in plan["vehicles"] and begin <= instant(row["recorded_at"]) < end]
    os.makedirs(f"{out}/shown", exist_ok=True)
    write_gzip(f"{out}/shown/traces.csv.gz", csv_text(COLUMNS, [[row[c] for c in COLUMNS] for row in rows]))
    with gzip.open(f"{out}/fences.geojson.gz", "rt", encoding="utf-8") as handle:
        features = [f for f in json.load(handle)["features"] if f["properties"]["id"] in plan["polygons"]]
    write_gzip(f"{out}/shown/fences.geojson.gz", feature_text(features))
    with open(f"{out}/circles.json", encoding="utf-8") as handle:
        circles = [circle for circle in json.load(handle) if circle["id"] in plan["circles"]]
    with open(f"{out}/shown/circles.json", "w", encoding="utf-8") as handle:
        handle.write(circle_text(circles))
    print(f"shown: {len(rows)} fixes, {len(features)} polygons, {len(circles)} circles")


def cut_events(reference, out):
    rows = read_rows(reference)
    header = ("vehicle", "fence", "kind", "recorded_at", "lat", "lon")
    rows.sort(key=lambda r: (r["vehicle"], r["recorded_at"], r["fence"]))
    write_gzip(f"{out}/events_expected.csv.gz", csv_text(header, [[r[c] for c in header] for r in rows]))
    print(f"{len(rows)} events")


if __name__ == "__main__":
    commands = {"slice": (cut_slice, 2), "shown": (cut_shown, 1), "events": (cut_events, 2)}
    command, count = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if command is None or len(sys.argv) != 2 + count:
        sys.exit(__doc__)
    command(*sys.argv[2:])
