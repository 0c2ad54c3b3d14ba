#!/usr/bin/env python3
"""Makes the fixture of a released version: its store on both engines, filled by its own program, and what that program answers of it.

    tools/store_fixture.py --binary target/release/waypost --database postgres://USER:PASSWORD@127.0.0.1:PORT/EMPTY

Writes tests/fixtures/stores/VERSION.sqlite.gz, .sql.gz (moved there by `waypost transfer`, dumped by pg_dump) and .json.gz: the answers
of every GET, the number of rows of every table, and the tokens that clients hold. tests/live/released.rs opens them with every later
program. Fails where a table has no row, unless EMPTY says why. A fixture of a version that was released is never made anew.
Python 3 alone, Linux, loopback only.
"""

import argparse
import email
import glob
import gzip
import json
import os
import re
import sqlite3
import subprocess
import tempfile
import time

from attack import EMAIL, PASSWORD, Server, send

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "tests/fixtures/stores")
NOBODY_LISTENS = "127.0.0.1:9"
# Tables without a row, and why.
EMPTY = {"card_scan": "vehicles whose cards are read again: for moments"}
DAY_MS = 86_400_000
# Entries of a list that are asked for one by one.
LOOKED_AT = 4
# About one kilometre, in degrees of latitude.
KILOMETER = 0.009


class Fleet:
    """A running server of the version, and what is asked of it."""

    def __init__(self, binary, directory):
        self.options = argparse.Namespace(binary=binary, unlimited=True, database=None, descriptors=None)
        self.directory, self.tokens, self.organization = directory, {}, None

    def start(self, **settings):
        names = {f"WAYPOST_{name.upper()}": value for name, value in settings.items()}
        os.environ.update(names)
        self.server = Server(self.options, self.directory)
        for name in names:
            del os.environ[name]

    def ask(self, method, path, token=None, body=None, status=(200, 201, 204), headers=None):
        said, answer = send(self.server.port, method, path, token, body, headers)
        assert said in status, (method, path, said, answer)
        return answer

    def make(self, path, body, by="root"):
        """With the organization named, as an operator has to."""
        more = {"organizationId": self.organization} if by == "root" else {}
        return self.ask("POST", path, self.tokens[by], {**more, **body})

    def change(self, path, body, method="PUT"):
        return self.ask(method, f"{path}?organizationId={self.organization}", self.tokens["root"], body)

    def link(self, to, word):
        """The token of a letter's link, once it is written."""
        for _ in range(100):
            for path in glob.glob(os.path.join(self.directory, "mail/*.eml")):
                with open(path, "rb") as file:
                    letter = email.message_from_bytes(file.read())
                found = re.search(rf"/{word}/(\S+)", letter.get_payload(decode=True).decode())
                if letter["To"] and to in letter["To"] and found:
                    return found[1]
            time.sleep(0.1)
        raise SystemExit(f"no letter to {to}")

    def report(self, token, items):
        for begin in range(0, len(items), 400):
            said = self.ask("POST", "/v1/positions", token, {"items": items[begin : begin + 400]})
            assert not said["rejected"], said

    def until(self, sql, wanted=lambda count: count > 0):
        for _ in range(300):
            with sqlite3.connect(os.path.join(self.directory, "waypost.sqlite"), timeout=30) as store:
                if wanted(store.execute(sql).fetchone()[0]):
                    return
            time.sleep(0.1)
        raise SystemExit(f"it does not come to that: {sql}")

    def execute(self, sql):
        with sqlite3.connect(os.path.join(self.directory, "waypost.sqlite"), timeout=30) as store:
            store.execute(sql)


def clock():
    return int(time.time() * 1000)


def fix(at, latitude, longitude=-97.74, **more):
    return {"recordedAt": at, "latitude": latitude, "longitude": longitude, **more}


def people(fleet):
    """An organization, people and programs, with a mail server that is a folder."""
    root = fleet.tokens["root"] = fleet.ask("POST", "/v1/auth/login", body={"email": EMAIL, "password": PASSWORD})["accessToken"]
    admin = {"email": "boss@example.org", "firstName": "Ada", "lastName": "Boss"}
    made = {"name": "Grüne Busse", "slug": "green", "contactEmail": "office@example.org", "admin": admin}
    fleet.organization = fleet.ask("POST", "/v1/organizations", root, made)["id"]
    fleet.ask("PUT", f"/v1/organizations/activate/{fleet.organization}", root, {})
    stranger = {"email": "s@example.org", "firstName": "S", "lastName": "T"}
    fleet.ask("POST", "/v1/organizations", body={"name": "Strangers", "contactEmail": "s@example.org", "admin": stranger})
    fleet.make("/v1/users", {"email": "disp@example.org", "firstName": "Dis", "lastName": "Patcher", "role": "dispatcher"})
    invite = fleet.link("disp@example.org", "invite")
    fleet.ask("POST", f"/v1/auth/accept-invite/{invite}", body={"password": PASSWORD})
    scopes = ["vehicles:read", "events:read", "fuel:read", "positions:read", "drivers:read", "geofences:read"]
    program = {"name": "Export", "email": "export@example.org", "password": PASSWORD, "scopes": [*scopes, "positions:ingest"]}
    program = fleet.make("/v1/system-users", program)["id"]
    fleet.ask("POST", "/v1/system-users/verify-email/" + fleet.link("export@example.org", "verify"), body={})
    keys = f"/v1/system-users/{program}/keys?organizationId={fleet.organization}"
    fleet.tokens["key"] = fleet.ask("POST", keys, root, {"name": "Reads", "scopes": scopes})["token"]
    fleet.tokens["gateway"] = fleet.ask("POST", keys, root, {"name": "Reports", "scopes": ["positions:ingest"]})["token"]


def master_data(fleet, today):
    """Fences, vehicles, drivers with documents and cards, a webhook."""
    circle = {"type": "circle", "center": {"latitude": 30.27, "longitude": -97.74}, "radiusMeters": 500}
    rules = {"exitMarginMeters": 0, "inferPassages": False, "holdWhileStanding": False, "dwellAfterSeconds": 60, "speedLimitKmh": 60}
    depot = fleet.make("/v1/geofences", {"name": "Dépôt", "effectiveFrom": None, "shape": circle, "rules": rules})["id"]
    ring = [{"latitude": 30.4 + y, "longitude": -97.7 + x} for x, y in ((0, 0), (0.1, 0), (0.1, 0.1), (0, 0.1))]
    fleet.make("/v1/geofences", {"name": "Yard", "category": "yards", "shape": {"type": "polygon", "vertices": ring}})
    fleet.change(f"/v1/geofences/{depot}", {"description": "Of all buses", "shape": {**circle, "radiusMeters": 450}, "effectiveFrom": None})
    bus = {"name": "Bus 7", "plate": {"number": "KA BB 1888", "country": "DE"}, "category": "bus", "tracker": {"uniqueId": "imei-7"}}
    bus["tracking"] = {"maxSpeedKmh": None, "maxAccuracyMeters": None, "overspeedKmh": 80}
    bus["organizationId"] = fleet.organization
    bus = fleet.ask("POST", "/v1/vehicles", fleet.tokens["root"], bus, headers={"Idempotency-Key": "bus"})
    fuel = {"kind": "diesel", "tankCapacityLiters": 400, "normLitersPer100Km": 28, "effectiveFrom": None}
    lorry = fleet.make("/v1/vehicles", {"name": "Lorry", "fuel": fuel, "tracker": {"uniqueId": "imei-8"}, "vin": "WDB9634031L738291"})
    fleet.make("/v1/vehicles", {"name": "Off the road", "status": "decommissioned"})
    gone = fleet.make("/v1/vehicles", {"name": "Sold"})["id"]
    fleet.change(f"/v1/vehicles/{gone}", None, "DELETE")
    licence = {"number": "B072RRE2I55", "country": "DE", "categories": ["B", "C"], "issuedAt": "2020-01-01", "expiresAt": "2026-01-31"}
    medical = {"type": "medicalCertificate", "number": "M 7", "expiresAt": "2031-01-01", "note": "glasses"}
    ruiz = {"firstName": "Ana", "lastName": "Ruiz", "license": licence, "documents": [medical], "cards": ["A-1"], "phone": "+49 721 1"}
    ruiz = fleet.make("/v1/drivers", {**ruiz, "notes": "prefers mornings", "employeeCode": "E7"})["id"]
    benz = fleet.make("/v1/drivers", {"firstName": "Bertha", "lastName": "Benz", "cards": ["b2", "b3"]})["id"]
    fleet.make("/v1/drivers", {"firstName": "Otto", "lastName": "Offered", "lock": False})
    began = iso(today - 10 * 3_600_000)
    fleet.make(f"/v1/drivers/{ruiz}/assign-vehicle", {"vehicleId": lorry["id"], "startedAt": began})
    fleet.make(f"/v1/drivers/{benz}/assign-vehicle", {"vehicleId": lorry["id"], "force": True})
    hook = {"url": f"http://{NOBODY_LISTENS}/hook", "eventTypes": ["geofence.*", "fuel.*"], "description": "Warehouse"}
    hook = fleet.make("/v1/webhooks", hook)
    return bus, lorry, hook["id"]


def iso(at):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at // 1000))


def drive(fleet, bus, now):
    """In and out of the depot, too fast, with a driver's card; late, repeated, refused for good."""
    token, begin = bus["tracker"]["token"], now - 3_600_000
    crossing = lambda n: fix(begin + n * 20_000, 30.27 if n % 4 < 2 else 30.40, speedKmh=30, ignition=True, odometerKm=1000 + n)
    fleet.report(token, [crossing(n) for n in range(40, 80)])
    # The store refuses one late fix, as if it broke a constraint.
    refused = begin + 555_000
    poison = f"create trigger poison before insert on position when new.recorded_at = {refused * 1000}"
    fleet.execute(f"{poison} begin select raise(abort, 'poison'); end")
    fleet.ask("POST", "/v1/positions", token, {"items": [fix(refused, 30.3)]})
    fleet.until("select count(*) from refused_fix")
    fleet.execute("drop trigger poison")
    fleet.report(token, [crossing(n) for n in range(20)])
    card = {"driverCard": "b2", "battery": 12.4}
    fleet.report(token, [fix(begin + 1_700_000 + n * 10_000, 30.40 + n * 0.0025, speedKmh=95, attributes=card) for n in range(12)])
    fleet.report(token, [fix(begin + 2_000_000 + n * 30_000, 30.27, speedKmh=0, attributes={"driverCard": ""}) for n in range(6)])
    fleet.report(token, [crossing(50), {**crossing(51), "headingDegrees": 90}])
    # Since the driver has it, the card assigns.
    fleet.report(token, [fix(clock(), 30.40, speedKmh=30, attributes=card)])
    fleet.ask("GET", f"/in/{token}?lat=north&lon=1&timestamp={begin // 1000}")
    unknown = {"ident": "new-1", "timestamp": begin // 1000, "position.latitude": 48.1, "position.longitude": 11.5}
    fleet.ask("POST", "/in/flespi", fleet.tokens["gateway"], [unknown])


def fuel_day(fleet, lorry, now):
    """A lorry's day, two readings a minute: a refuel of 150 l, a theft of 60 l."""
    items, percent, north, at = [], 40.0, 0.0, now - 20 * 3_600_000
    parts = [(45, -14, True), (10, 0, False), (3, 150, False), (20, 0, False), (30, -9, True), (40, 0, False), (8, -60, False)]
    for minutes, liters, is_driving in [*parts, (60, 0, False), (30, -9, True), (30, 0, False)]:
        for _ in range(2 * minutes):
            percent += liters / minutes / 8
            north += KILOMETER / 2 if is_driving else 0
            speed = 60 if is_driving else 0
            items.append(fix(at, 31 + north, speedKmh=speed, ignition=is_driving, fuel={"percent": round(percent, 2)}))
            at += 30_000
    fleet.report(lorry["tracker"]["token"], items)
    return {"from": iso(items[0]["recordedAt"]), "to": iso(at)}


def fill(fleet):
    """Everything there is; the query for the fuel of a day."""
    now = clock() // 1000 * 1000
    fleet.start()
    people(fleet)
    fleet.server.stop()
    broker = f"mqtt://{NOBODY_LISTENS}/{fleet.organization}?publish=waypost"
    fleet.start(smtp_url=f"smtp://{NOBODY_LISTENS}", webhook_networks="127.0.0.0/8", mqtt_brokers=broker)
    bus, lorry, hook = master_data(fleet, now)
    fleet.ask("POST", "/v1/auth/login", body={"email": EMAIL, "password": "a wrong one of hers"}, status=(401,))
    fleet.make("/v1/users", {"email": "view@example.org", "firstName": "Vi", "lastName": "Ewer", "role": "viewer"})
    day = fuel_day(fleet, lorry, now)
    drive(fleet, bus, now)
    for table in ("webhook_attempt", "mqtt_cursor", "mail_outbox", "pending_fix"):
        fleet.until(f"select count(*) from {table}")
    fleet.until("select count(*) from vehicle_state where dirty_from is not null", lambda count: count == 0)
    signed_in = fleet.ask("POST", "/v1/auth/login", body={"email": "disp@example.org", "password": PASSWORD})
    fleet.tokens["dispatcher"], fleet.tokens["refresh"] = signed_in["accessToken"], signed_in["refreshToken"]
    fleet.tokens["tracker"] = bus["tracker"]["token"]
    fleet.change(f"/v1/webhooks/{hook}", {"enabled": False})
    alerts = fleet.ask("GET", "/v1/alerts?limit=100", fleet.tokens["dispatcher"])["data"]
    rules = {alert["rule"]: alert["id"] for alert in alerts}
    fleet.make(f"/v1/alerts/{rules['drain']}/acknowledge", {}, "dispatcher")
    fleet.make(f"/v1/alerts/{rules['dwell']}/snooze", {"until": iso(now + DAY_MS)}, "dispatcher")
    # What is saved at a stop is there, and the last fixes are in the log alone, as a crash leaves them.
    fleet.server.stop()
    fleet.start()
    fleet.report(fleet.tokens["tracker"], [fix(clock(), 30.27, speedKmh=20)])
    return {"vehicleId": lorry["id"], **day}


def answers(fleet, day):
    """What each caller is answered by every GET that ends: lists, and some entries of each."""
    port, told = fleet.server.port, {}
    paths = {path: at["get"] for path, at in send(port, "GET", "/openapi.json")[1]["paths"].items() if "get" in at}
    whole = [path for path in paths if path.startswith("/v1/") and "/ws/" not in path and path != "/v1/events/stream"]
    for caller in ("root", "dispatcher", "key"):
        mine, ids = told.setdefault(caller, {}), {}
        known = {"limit": 100, "licenseNumber": "B072RRE2I55", "country": "DE", **day}
        if caller == "root":
            known["organizationId"] = fleet.organization
        for path in sorted(whole, key=lambda path: "{" in path):
            parameters = [parameter["name"] for parameter in paths[path].get("parameters", [])]
            # A list is not narrowed but by what it asks for.
            narrows = "/fuel/" in path
            query = "&".join(f"{name}={known[name]}" for name in parameters if name in known and (narrows or name not in day))
            begin, _, rest = path.partition("{")
            listed = [None] if not rest else ids.get(list_of(path), [])
            for id in listed:
                asked = f"{begin}{id}{rest.partition('}')[2]}?{query}" if rest else f"{path}?{query}"
                status, answer = send(port, "GET", asked, fleet.tokens[caller])
                if status != 200:
                    continue
                mine[asked] = answer
                # Cursors are signed, and may come to say more.
                if isinstance(answer, dict) and answer.pop("pagination", None):
                    ids[path] = [entry["id"] for entry in answer["data"][:LOOKED_AT] if "id" in entry]
        assert all(any(asked.startswith(path.partition("{")[0]) for asked in mine) for path in whole if caller == "root"), mine.keys()
    return told


def lasting(one, other):
    """What two answers have in common: what follows the clock is in neither."""
    if isinstance(one, dict):
        return {name: lasting(value, other[name]) for name, value in one.items() if is_lasting(value, other.get(name))}
    if isinstance(one, list):
        return [lasting(*pair) for pair in zip(one, other, strict=True)]
    return one


def is_lasting(one, other):
    return type(one) is type(other) and (isinstance(one, (dict, list)) or one == other)


def list_of(path):
    begin, _, rest = path.partition("{")
    of = {"driverId": "/v1/drivers", "vehicleId": "/v1/vehicles", "geofenceId": "/v1/geofences"}
    if begin == "/v1/organizations/organization/":
        return "/v1/organizations"
    return of.get(rest.partition("}")[0], begin.rstrip("/"))


def rows(store):
    """How many each table has."""
    names = "select name from sqlite_schema where type = 'table' and name not like 'sqlite%' and name not like '@_sqlx%' escape '@'"
    tables = [name for name, in store.execute(names + " order by name")]
    counted = {name: store.execute(f"select count(*) from {name}").fetchone()[0] for name in tables}
    empty = [name for name, count in counted.items() if count == 0 and name not in EMPTY]
    assert not empty, f"no rows in {empty}"
    return counted


def dump(binary, directory, url):
    subprocess.run([binary, "transfer", "--to", url, "--data-dir", directory], check=True, stdout=subprocess.DEVNULL)
    command = ["pg_dump", "--no-owner", "--no-privileges", "--rows-per-insert=500", url]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    # Commands of psql, and settings that only some versions know.
    lines = [line for line in text.split("\n") if not line.startswith(("SET ", "SELECT pg_catalog.set_config", "\\", "--"))]
    return re.sub(r"\n{2,}", "\n", "\n".join(lines))


def write(version, kind, content):
    path = os.path.join(FOLDER, f"{version}.{kind}.gz")
    with open(path, "wb") as file:
        file.write(gzip.compress(content, 9, mtime=0))
    print(f"{path}: {os.path.getsize(path)} bytes")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--database", required=True, help="an empty database on loopback")
    options = parser.parse_args()
    version = subprocess.run([options.binary, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]
    with tempfile.TemporaryDirectory() as directory:
        fleet = Fleet(os.path.abspath(options.binary), directory)
        try:
            day = fill(fleet)
        finally:
            fleet.server.process.kill()
            fleet.server.process.wait()
        copy = os.path.join(directory, "copy.sqlite")
        with sqlite3.connect(os.path.join(directory, "waypost.sqlite")) as store:
            counted = rows(store)
            store.execute(f"vacuum into '{copy}'")
        fleet.start()
        try:
            told = answers(fleet, day)
            time.sleep(1)
            now, told = clock(), lasting(told, answers(fleet, day))
        finally:
            fleet.server.stop()
        with open(copy, "rb") as file:
            write(version, "sqlite", file.read())
        moved = os.path.join(directory, "moved")
        os.mkdir(moved)
        os.rename(copy, os.path.join(moved, "waypost.sqlite"))
        write(version, "sql", dump(options.binary, moved, options.database).encode())
        fixture = {"now": now, "rows": counted, "tokens": fleet.tokens, "answers": told}
        write(version, "json", json.dumps(fixture, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode())


main()
