#!/usr/bin/env python3
"""Compares the stops that the engine finds in recorded traces with those of movingpandas, another program.

    pip install movingpandas
    WAYPOST_TEST_STOPS=stops.csv cargo test --test reference -- --ignored --nocapture stops_of
    tools/compare_stops.py --traces demo/traces.csv.gz --stops stops.csv

movingpandas calls a stop what stays within a diameter for a time (`TrajectoryStopDetector`); a trace is cut where nothing was heard for ten
minutes, as the engine does. Of either side's stops of five minutes or longer, those count as found again that the other's stops cover by half.
Prints both shares, and what is different, longest first; exits with 1 below --least.
"""

import argparse
import csv
import sys
from collections import defaultdict
from datetime import timedelta

import geopandas
import movingpandas
import pandas

LEAST_SECONDS = 300.0
SILENCE = timedelta(seconds=600)


def traces(path):
    """The fixes of each vehicle, in time, one of each instant, without those of no place."""
    table = pandas.read_csv(path, dtype={"vehicle": str})
    table.columns = [name.lower() for name in table.columns]
    at = next(name for name in table.columns if name in ("recorded_at", "time", "timestamp", "recordedat"))
    lat = next(name for name in table.columns if name.startswith("lat"))
    lon = next(name for name in table.columns if name.startswith("lon"))
    who = next(name for name in table.columns if name in ("vehicle", "vehicle_id", "id"))
    table = table[(table[lat] != 0) | (table[lon] != 0)]
    numeric = pandas.api.types.is_numeric_dtype(table[at])
    table["t"] = pandas.to_datetime(table[at], unit="ms" if numeric else None, utc=True).dt.tz_localize(None)
    table = table.drop_duplicates([who, "t"]).sort_values([who, "t"])
    for vehicle, fixes in table.groupby(who):
        if len(fixes) > 1:
            yield str(vehicle), fixes.rename(columns={lat: "lat", lon: "lon"})[["t", "lat", "lon"]]


def theirs(fixes, diameter):
    """(from, to) of the stops that movingpandas finds, seconds since 1970."""
    points = geopandas.points_from_xy(fixes["lon"], fixes["lat"])
    frame = geopandas.GeoDataFrame(fixes[["t"]], geometry=points, crs=4326).set_index("t")
    whole = movingpandas.Trajectory(frame, 1)
    found = []
    for part in movingpandas.ObservationGapSplitter(whole).split(gap=SILENCE):
        stops = movingpandas.TrajectoryStopDetector(part).get_stop_time_ranges(
            max_diameter=diameter, min_duration=timedelta(seconds=LEAST_SECONDS)
        )
        found += [(stop.t_0.timestamp(), stop.t_n.timestamp()) for stop in stops]
    return found


def ours(path):
    """(from, to) of the engine's stops by vehicle, in the same form; those that go on end with the last fix."""
    found = defaultdict(list)
    with open(path, newline="") as file:
        for vehicle, begin, end in csv.reader(file):
            found[vehicle].append((float(begin) / 1000, float(end) / 1000))
    return found


def is_covered(stop, others):
    shared = sum(max(0.0, min(stop[1], end) - max(stop[0], begin)) for begin, end in others)
    return shared * 2 >= stop[1] - stop[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--traces", required=True)
    parser.add_argument("--stops", required=True)
    parser.add_argument("--diameter", type=float, default=100.0, help="metres within which a vehicle stands")
    parser.add_argument("--vehicles", type=int, default=0, help="only so many of them")
    parser.add_argument("--least", type=float, default=0.99)
    asked = parser.parse_args()
    known = ours(asked.stops)
    counts, different = {"theirs": [0, 0], "ours": [0, 0]}, []
    for number, (vehicle, fixes) in enumerate(traces(asked.traces)):
        if asked.vehicles and number >= asked.vehicles:
            break
        times = [at.timestamp() for at in fixes["t"]]
        of_engine, of_other = known[vehicle], theirs(fixes, asked.diameter)
        # What the engine takes for a stop across a silence, movingpandas is not asked about.
        gaps = [(a, b) for a, b in zip(times, times[1:]) if b - a > SILENCE.total_seconds()]
        heard = [s for s in of_engine if s[1] - s[0] >= LEAST_SECONDS and not any(a < s[1] and s[0] < b for a, b in gaps)]
        for name, stops, others in (("theirs", of_other, of_engine), ("ours", heard, of_other)):
            for stop in stops:
                found = is_covered(stop, others)
                counts[name][0] += found
                counts[name][1] += 1
                if not found:
                    different.append((stop[1] - stop[0], name, vehicle, stop[0]))
    for seconds, name, vehicle, begin in sorted(different, reverse=True)[:20]:
        print(f"only {name}: {vehicle} from {pandas.Timestamp(begin, unit='s')} for {seconds:.0f} s")
    shares = {name: found / max(1, count) for name, (found, count) in counts.items()}
    for name, (found, count) in counts.items():
        print(f"{name}: {found} of {count} stops found by the other, {100 * shares[name]:.2f} %")
    sys.exit(min(shares.values()) < asked.least)


if __name__ == "__main__":
    main()
