#!/usr/bin/env python3
"""Recomputes the analytics of ended visits from the stored fixes and compares them with the server's.

Shares nothing with the server but the definitions of docs/tracking.md ("Motion", "Analytics"): it reads
the visits, fences and vehicles through the interface, the fixes by `waypost export positions`, and has a
geodesic of its own (Vincenty's inverse formula on WGS 84). Python 3 and the program alone.

    tools/recompute_analytics.py --email you@example.org --password … --organization ID \\
        --waypost target/release/waypost --data-dir waypost-data --visits 500

Exits with 1 if a member of any visit differs by more than --tolerance.
"""

import argparse
import csv
import io
import json
import math
import random
import subprocess
import sys
import urllib.parse
import urllib.request
from datetime import datetime, timedelta, timezone

MOVING_KMH = 3.0
LEAST_NOISE_METERS, MOST_NOISE_METERS = 20.0, 200.0
LOOK_BACK, MAX_SILENCE, HALF_MINUTE = 30.0, 600.0, 30.0
STOP_SECONDS = 120.0
LEAST_SPEED_SECONDS = 5.0
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def vincenty(a, b):
    """Metres on WGS 84 between two (latitude, longitude)."""
    if a == b:
        return 0.0
    major, flat = 6378137.0, 1 / 298.257223563
    minor = major * (1 - flat)
    east = math.radians((b[1] - a[1] + 540) % 360 - 180)
    u1 = math.atan((1 - flat) * math.tan(math.radians(a[0])))
    u2 = math.atan((1 - flat) * math.tan(math.radians(b[0])))
    lon = east
    for _ in range(200):
        sin_sigma = math.hypot(
            math.cos(u2) * math.sin(lon),
            math.cos(u1) * math.sin(u2) - math.sin(u1) * math.cos(u2) * math.cos(lon),
        )
        if sin_sigma == 0:
            return 0.0
        cos_sigma = math.sin(u1) * math.sin(u2) + math.cos(u1) * math.cos(u2) * math.cos(lon)
        sigma = math.atan2(sin_sigma, cos_sigma)
        sin_alpha = math.cos(u1) * math.cos(u2) * math.sin(lon) / sin_sigma
        cos2 = 1 - sin_alpha**2
        mid = cos_sigma - 2 * math.sin(u1) * math.sin(u2) / cos2 if cos2 else 0.0
        c = flat / 16 * cos2 * (4 + flat * (4 - 3 * cos2))
        turn = sigma + c * sin_sigma * (mid + c * cos_sigma * (2 * mid**2 - 1))
        before, lon = lon, east + (1 - c) * flat * sin_alpha * turn
        if abs(lon - before) < 1e-13:
            break
    u = cos2 * (major**2 - minor**2) / minor**2
    big_a = 1 + u / 16384 * (4096 + u * (-768 + u * (320 - 175 * u)))
    big_b = u / 1024 * (256 + u * (-128 + u * (74 - 47 * u)))
    inner = cos_sigma * (2 * mid**2 - 1) - big_b / 6 * mid * (4 * sin_sigma**2 - 3) * (4 * mid**2 - 3)
    return minor * big_a * (sigma - big_b * sin_sigma * (mid + big_b / 4 * inner))


class Fix:
    """A stored fix that was evaluated; its instant in seconds since 1970."""

    def __init__(self, micros, latitude, longitude, speed, accuracy):
        self.at, self.place = micros / 1e6, (latitude, longitude)
        self.speed, self.accuracy = speed, accuracy

    def rank(self):
        unknown = math.inf if self.accuracy is None else self.accuracy
        return (self.at, unknown, self.place)


def fixes_of(rows):
    """In order; of several at one instant the best."""
    fixes = []
    for fix in sorted((Fix(*row) for row in rows), key=Fix.rank):
        if not fixes or fixes[-1].at < fix.at:
            fixes.append(fix)
    return fixes


def exported_rows(options, vehicle):
    """The evaluated fixes of a vehicle, as `waypost export positions` prints them."""
    store = ["--data-dir", options.data_dir] if options.data_dir else ["--database-url", options.database_url]
    command = [options.waypost, "export", "positions", "--vehicle", vehicle, *store]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    number = lambda word: None if word == "" else float(word)
    for line in csv.DictReader(io.StringIO(run.stdout)):
        if line["quarantine"] == "":
            at = datetime.fromisoformat(line["recordedAt"].replace("Z", "+00:00"))
            micros = (at - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)
            members = ("latitude", "longitude", "speedKmh", "accuracyMeters")
            yield (micros, *(number(line[member]) for member in members))


def noise(a, b):
    accuracies = (a.accuracy or 0.0) + (b.accuracy or 0.0)
    return min(max(2 * accuracies, LEAST_NOISE_METERS), MOST_NOISE_METERS)


class Leg:
    """From one evaluated fix to the next."""

    def __init__(self, fixes, index, max_speed):
        self.a, self.b = fixes[index - 1], fixes[index]
        a, b = self.a, self.b
        self.seconds, meters = b.at - a.at, vincenty(a.place, b.place)
        reported = b.speed if b.speed is not None and (max_speed is None or b.speed <= max_speed) else None
        if reported is not None:
            self.moving = reported >= MOVING_KMH or self.moves(a, b)
        else:
            self.moving = self.moves(self.waymark(fixes, index) or a, b)
        self.counts = self.moving or meters > noise(a, b)
        self.ground_kmh = meters / self.seconds * 3.6 if self.counts else 0.0
        self.kmh = self.ground_kmh if reported is None else reported

    @staticmethod
    def moves(a, b):
        meters = vincenty(a.place, b.place)
        return meters > noise(a, b) and meters / (b.at - a.at) * 3.6 >= MOVING_KMH

    @staticmethod
    def waymark(fixes, index):
        """The newest fix at least 30 s older that is the last of its half minute, if not older than 600 s."""
        b = fixes[index]
        for i in range(index - 1, -1, -1):
            age = b.at - fixes[i].at
            ends = fixes[i].at // HALF_MINUTE < fixes[i + 1].at // HALF_MINUTE
            if age > MAX_SILENCE:
                return None
            if age >= LOOK_BACK and ends:
                return fixes[i]
        return None


def seconds_of(text):
    return round((datetime.fromisoformat(text.replace("Z", "+00:00")) - EPOCH).total_seconds(), 3)


def place_of(location):
    return (location["latitude"], location["longitude"])


def beginning(visit, a, b, entered):
    """Where a visit began between two fixes: where it crossed, or where it was on its way at an edit."""
    if visit["entry"]["cause"] == "crossing":
        return place_of(visit["entry"]["location"])
    share = (entered - a.at) / (b.at - a.at)
    east = (b.place[1] - a.place[1] + 540) % 360 - 180
    return (a.place[0] + share * (b.place[0] - a.place[0]), a.place[1] + share * east)


def recompute(visit, exit_fix_at, fixes, rules, max_speed):
    entered, exited = seconds_of(visit["enteredAt"]), seconds_of(visit["exitedAt"])
    crossed = visit["exit"]["cause"] == "crossing"
    limit, max_gap = rules.get("speedLimitKmh"), rules["maxGapSeconds"]
    moving = stopped = rest = meters = over = 0.0
    stops, ground = 0, None
    for index in range(1, len(fixes)):
        a, b = fixes[index - 1], fixes[index]
        if b.at <= entered or a.at >= exited or (b.at > exited and not crossed):
            continue
        leg = Leg(fixes, index, max_speed)
        start, end = max(a.at, entered), min(b.at, exited)
        origin = a.place if a.at >= entered else beginning(visit, a, b, entered)
        goal = b.place if b.at <= exited else place_of(visit["exit"]["location"])
        if leg.counts:
            meters += vincenty(origin, goal)
        if leg.seconds > max_gap:
            rest = 0.0
            continue
        if limit is not None and leg.kmh > limit:
            over += end - start
        if leg.seconds >= LEAST_SPEED_SECONDS:
            ground = max(ground or 0.0, leg.ground_kmh)
        if leg.moving:
            moving, rest = moving + end - start, 0.0
        else:
            stopped += end - start
            stops += rest < STOP_SECONDS - 5e-4 <= rest + end - start + 1e-9
            rest += end - start
    inside = [fix for fix in fixes if entered <= fix.at <= exited and not (crossed and fix.at >= exit_fix_at)]
    reported = [f.speed for f in inside if f.speed is not None and (max_speed is None or f.speed <= max_speed)]
    duration = exited - entered
    result = {
        "durationSeconds": duration,
        "distanceMeters": meters,
        "movingSeconds": moving,
        "stoppedSeconds": stopped,
        "gapSeconds": duration - moving - stopped,
        "fixCount": len(inside),
        "stops": stops,
        "avgSpeedKmh": meters / duration * 3.6 if duration >= 1 else None,
        "maxSpeedKmh": max(reported) if reported else ground,
        "overspeedSeconds": None if limit is None else over,
    }
    return result


class Server:
    def __init__(self, url, email, password, organization):
        self.url, self.organization, self.token = url.rstrip("/"), organization, None
        self.token = self.call("/v1/auth/login", {"email": email, "password": password})["accessToken"]

    def call(self, path, body=None, **query):
        if self.organization and body is None:
            query["organizationId"] = self.organization
        query = {name: value for name, value in query.items() if value is not None}
        request = urllib.request.Request(f"{self.url}{path}?{urllib.parse.urlencode(query)}".rstrip("?"))
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def ended_visits(self, most):
        visits, after = [], None
        while len(visits) < most:
            page = self.call("/v1/visits", open="false", sort="enteredAt", limit=200, after=after)
            visits += page["data"]
            after = page["pagination"]["endCursor"]
            if not page["pagination"]["hasNextPage"]:
                break
        return visits


def difference(server, own):
    """Relative to the own value, or to a thousandth of the unit if that is more."""
    if server is None or own is None:
        return 0.0 if server is own else math.inf
    return abs(server - own) / max(abs(own), 0.001)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="http://127.0.0.1:8080")
    parser.add_argument("--email", required=True)
    parser.add_argument("--password", required=True)
    parser.add_argument("--organization", help="id; needed by platform operators")
    parser.add_argument("--waypost", default="waypost", help="the program, for `waypost export positions`")
    store = parser.add_mutually_exclusive_group(required=True)
    store.add_argument("--data-dir", help="of the embedded database")
    store.add_argument("--database-url", help="postgres://…")
    parser.add_argument("--visits", type=int, default=500, help="how many to recompute")
    parser.add_argument("--from-first", type=int, default=100_000, help="chosen at random among so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tolerance", type=float, default=0.001)
    return parser.parse_args()


def main():
    options = arguments()
    server = Server(options.server, options.email, options.password, options.organization)
    known = server.ended_visits(options.from_first)
    chosen = random.Random(options.seed).sample(known, min(options.visits, len(known)))
    worst, wrong, fences, vehicles, tracks = {}, 0, {}, {}, {}
    for visit in chosen:
        vehicle, fence = visit["vehicleId"], visit["geofenceId"]
        if fence not in fences:
            fences[fence] = server.call(f"/v1/geofences/{fence}")["rules"]
        if vehicle not in vehicles:
            vehicles[vehicle] = server.call(f"/v1/vehicles/{vehicle}", include="none")["tracking"]
            tracks[vehicle] = fixes_of(exported_rows(options, vehicle))
        exit_event = server.call(f"/v1/geofence-events/{visit['exit']['eventId']}")
        exit_fix_at = seconds_of(exit_event["fix"]["recordedAt"])
        limit = vehicles[vehicle].get("maxSpeedKmh")
        own = recompute(visit, exit_fix_at, tracks[vehicle], fences[fence], limit)
        differs = False
        for name, value in own.items():
            off = difference(visit["analytics"].get(name), value)
            differs = differs or off > options.tolerance
            if off >= worst.get(name, (-1.0,))[0]:
                worst[name] = (off, visit["id"], visit["analytics"].get(name), value)
        wrong += differs
    print(f"{len(chosen)} of {len(known)} ended visits, {len(vehicles)} vehicles, {len(fences)} fences,",
          f"{sum(visit['inferred'] for visit in chosen)} passages")
    for name, (off, visit, stored, own) in worst.items():
        print(f"{name:18} largest difference {off:.3g} (visit {visit}: server {stored}, recomputed {own})")
    print(f"{wrong} visits differ by more than {options.tolerance:g}")
    return 1 if wrong or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
