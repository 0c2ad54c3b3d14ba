#!/usr/bin/env python3
"""Sends what the pages of docs/devices tell people to type to a server, by curl as each app does, and looks for the position.

    tests/devices.py docs/devices http://127.0.0.1:PORT FOLDER_OF_LETTERS

A field is a row of a table whose value is in backticks, or an entry of Traccar's file. The server listens at every address of this
machine: each app reports to 127.0.0.2, as from elsewhere in the network, and the position is looked for at the address given.
"""

import base64
import json
import pathlib
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

LATITUDE, LONGITUDE, KMH = 48.137, 11.575, 36.0
METERS_PER_SECOND, KNOTS = 10.0, 19.438
PASSWORD = "correct horse battery"
FORM, JSON = "application/x-www-form-urlencoded", "application/json"


class Server:
    """The server's interface, as an operator and a person of the fleet use it."""

    def __init__(self, api, letters):
        self.api, self.letters, self.token = api, pathlib.Path(letters), None
        self.token = self.ask("POST", "/v1/auth/login", {"email": "me@example.com", "password": PASSWORD})["accessToken"]
        admin = {"email": "boss@example.com", "firstName": "Ada", "lastName": "Boss"}
        body = {"name": "Fleet", "contactEmail": "office@example.com", "admin": admin}
        self.organization = self.ask("POST", "/v1/organizations", body)["id"]
        self.ask("PUT", f"/v1/organizations/activate/{self.organization}", {})
        self.key = self.make_key()

    def ask(self, method, path, body=None):
        headers = {"Content-Type": JSON}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.api + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read()
                return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            sys.exit(f"{method} {path}: {error.code} {error.read().decode()}")

    def make_key(self):
        """A program's key that may only report."""
        email = "gateway@example.com"
        body = {"organizationId": self.organization, "name": "Gateway", "email": email, "password": PASSWORD, "scopes": ["positions:ingest"]}
        program = self.ask("POST", "/v1/system-users", body)["id"]
        self.ask("POST", f"/v1/system-users/verify-email/{self.letter(email)}", {})
        return self.ask("POST", f"/v1/system-users/{program}/keys", {"name": "docs", "scopes": ["positions:ingest"]})["token"]

    def letter(self, recipient):
        """The token in the letter to an address."""
        last = time.monotonic() + 60
        while time.monotonic() < last:
            for file in self.letters.glob("*.eml"):
                text = re.sub(r"=\r?\n", "", file.read_text()).replace("=3D", "=")
                found = re.search(r"/verify/(\S+)", text)
                if recipient in text and found:
                    return found[1]
            time.sleep(0.1)
        sys.exit(f"no letter to {recipient}")

    def tracker(self, name):
        """A vehicle whose tracker has this name: its id, and the token."""
        made = self.ask("POST", "/v1/vehicles", {"organizationId": self.organization, "name": name, "tracker": {"uniqueId": name}})
        return made["id"], made["tracker"]["token"]

    def newest(self, vehicle):
        page = self.ask("GET", f"/v1/vehicles/{vehicle}/positions?organizationId={self.organization}&sort=-recordedAt")
        return page["data"][0] if page["data"] else None


def fields_of(page):
    """What a page says to type: value by field, or by the entry of a file, in angle brackets."""
    rows = re.findall(r"^\| ([^|]+?) \| `([^`]+)` \|$", page, re.MULTILINE)
    entries = re.findall(r"<entry key='([^']+)'>([^<]+)</entry>", page)
    return dict(rows) | {f"<{key}>": value for key, value in entries}


def filled(template, values):
    """A template with an app's own places for values filled in, the longest name first."""
    for name in sorted(values, key=len, reverse=True):
        template = template.replace(name, str(values[name]))
    assert not re.search(r"%[A-Z]{2}|\{\w+\}", template), f"a place of a template that nothing fills: {template}"
    return template


def form(at, speed):
    return f"lat={LATITUDE}&lon={LONGITUDE}&timestamp={at}&speed={speed}&bearing=90&altitude=519&accuracy=5"


def iso(at):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))


def post(url, body, kind=JSON, *more):
    text = body if isinstance(body, str) else json.dumps(body)
    return ["--data-raw", text, "--header", f"Content-Type:{kind and ' ' + kind}", *more, url]


def traccar_client_10(fields, name, at):
    return post(fields["Server URL"], f"id={name}&{form(at, KNOTS)}&batt=87", FORM), ""


def traccar_client_9(fields, name, at):
    coords = {"latitude": LATITUDE, "longitude": LONGITUDE, "speed": METERS_PER_SECOND, "heading": 90, "accuracy": 5}
    body = {"location": {"timestamp": iso(at) + ".000Z", "coords": coords, "extras": {}}, "device_id": name}
    return post(fields["Server URL"], body), ""


def traccar_client_8(fields, name, at):
    return ["--request", "POST", f"{fields['Server URL']}?id={name}&{form(at, KNOTS)}"], ""


def osmand(fields, name, at):
    values = [LATITUDE, LONGITUDE, at * 1000, 5.0, 519.0, METERS_PER_SECOND, 90.0]
    return [filled(fields["Online tracking web address"], {f"{{{place}}}": value for place, value in enumerate(values)})], ""


def gpslogger_body(fields, at):
    places = {"LAT": LATITUDE, "LON": LONGITUDE, "TIMESTAMP": at, "ACC": 5.0, "ALT": 519.0, "DIR": 90.0, "BATT": 87.0, "SPD_KPH": KMH}
    return filled(fields["HTTP Body"], {f"%{place}": value for place, value in places.items()})


def gpslogger(fields, name, at):
    return ["--request", fields["HTTP Method"], *post(fields["URL"], gpslogger_body(fields, at), "")], ""


def gpslogger_by_basic(fields, name, at):
    return post(fields["URL without token"], gpslogger_body(fields, at), "", "--user", f"anybody:{fields['token']}"), ""


def owntracks(fields, name, at):
    body = {"_type": "location", "lat": LATITUDE, "lon": LONGITUDE, "tst": at, "acc": 5, "vel": 36, "cog": 90, "tid": "B7"}
    return post(fields["URL (Host)"], body, JSON + "; charset=utf-8"), "[]"


def feature(at, **more):
    properties = {"timestamp": iso(at) + "Z", "speed": METERS_PER_SECOND, "course": 90, "horizontal_accuracy": 5, **more}
    return {"type": "Feature", "geometry": {"type": "Point", "coordinates": [LONGITUDE, LATITUDE]}, "properties": properties}


def overland(fields, name, at):
    body = {"locations": [feature(at, device_id=name)], "current": {}, "trip": {}}
    bearer = f"Authorization: Bearer {fields['Access Token']}"
    return post(fields["Receiver Endpoint URL"], body, JSON, "--header", bearer), '{"result":"ok"}'


def overland_by_key(fields, name, at):
    return overland({**fields, "Access Token": fields["key"]}, name, at)


def colota(fields, name, at):
    body = {"lat": LATITUDE, "lon": LONGITUDE, "acc": 5, "vel": METERS_PER_SECOND, "batt": 85, "bs": 2, "tst": at, "bear": 90}
    return post(fields["Endpoint"], body), ""


def colota_as_overland(fields, name, at):
    return post(fields["Endpoint"], {"locations": [feature(at)], "device_id": "colota"}), '{"result":"ok"}'


def phonetrack(fields, name, at):
    places = {"LAT": LATITUDE, "LON": LONGITUDE, "TIMESTAMP": at, "ACC": 5.0, "ALT": 519.0, "SPD": METERS_PER_SECOND, "DIR": 90.0}
    return [filled(fields["Target address"], {f"%{place}": value for place, value in places.items()})], ""


def ulogger(fields, name, at):
    url = fields["Server URL"] + "/client/index.php"
    for action in ("action=auth&user=anybody&pass=anything", "action=addtrack&track=Tour"):
        send(post(url, action, FORM))
    body = f"action=addpos&lat={LATITUDE}&lon={LONGITUDE}&time={at}&speed={METERS_PER_SECOND}&accuracy=5&trackid=1"
    return post(url, body, FORM), '{"error":false}'


def traccar_server(fields, name, at):
    assert fields["<forward.type>"] == "json" and fields["<forward.retry.enable>"] == "true"
    position = {"fixTime": iso(at) + ".000+00:00", "valid": True, "outdated": False, "latitude": LATITUDE, "longitude": LONGITUDE,
                "speed": KNOTS, "course": 90, "altitude": 519, "accuracy": 5, "attributes": {"ignition": True}}
    body = {"position": position, "device": {"uniqueId": name}}
    return post(fields["<forward.url>"], body, JSON, "--header", fields["<forward.header>"]), ""


def traccar_server_by_url(fields, name, at):
    values = {"uniqueId": name, "fixTime": at * 1000, "latitude": LATITUDE, "longitude": LONGITUDE, "speed": KNOTS, "course": 90.0,
              "altitude": 519.0, "accuracy": 5.0, "valid": "true"}
    return [filled(fields["forward.url"], {f"{{{place}}}": value for place, value in values.items()})], ""


def flespi(fields, name, at):
    message = {"ident": name, "timestamp": at, "position.latitude": LATITUDE, "position.longitude": LONGITUDE,
               "position.speed": KMH, "position.valid": True}
    return post(fields["URI"], [message], JSON, "--header", fields["Custom header"]), ""


APPS = {
    "traccar-client": [traccar_client_10, traccar_client_9, traccar_client_8],
    "osmand": [osmand],
    "gpslogger": [gpslogger, gpslogger_by_basic],
    "owntracks": [owntracks],
    "overland": [overland, overland_by_key],
    "colota": [colota, colota_as_overland],
    "phonetrack": [phonetrack],
    "ulogger": [ulogger],
    "traccar-server": [traccar_server, traccar_server_by_url],
    "flespi": [flespi],
    "curl": [],
}


def send(arguments):
    """What curl is answered: the status, and the body."""
    command = ["curl", "--silent", "--show-error", "--max-time", "30", "--globoff", "--write-out", "\n%{http_code}", *arguments]
    body, status = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.rsplit("\n", 1)
    return int(status), body


def filled_in(page, host, token, key):
    """A page with the reader's own host and credentials."""
    return page.replace("https://HOST", host).replace("/in/TOKEN", f"/in/{token}").replace("`TOKEN`", f"`{token}`").replace(
        "Bearer TOKEN", f"Bearer {token}").replace("Bearer KEY", f"Bearer {key}")


def check_app(server, text, app, host, at):
    name = app.__name__.replace("_", "-")
    vehicle, token = server.tracker(name)
    page = filled_in(text, host, token, server.key)
    fields = {**fields_of(page), "token": token, "key": server.key}
    arguments, words = app(fields, name, at)
    said = send(arguments)
    assert said == (200, words), f"{name} is answered {said}, not {words!r}: {arguments}"
    stored = server.newest(vehicle)
    assert stored, f"{name}: nothing is stored: {arguments}"
    seen = (stored["latitude"], stored["longitude"], round(stored["speedKmh"], 2), stored["recordedAt"][:19])
    assert seen == (LATITUDE, LONGITUDE, KMH, iso(at)), f"{name}: {seen}"


def check_shell(server, text, host):
    """Lines to run are run."""
    vehicle, token = server.tracker("shell")
    lines = re.findall(r"```sh\n(.+?)```", filled_in(text, host, token, server.key), re.DOTALL)
    assert len(lines) == 2, "the page of curl has two commands"
    for number, line in enumerate(lines):
        said = subprocess.run(["bash", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=30).stdout
        assert said.startswith("HTTP/1.1 200"), said
        assert server.newest(vehicle)["latitude"] == LATITUDE, said
        if number + 1 < len(lines):
            time.sleep(1.1)  # the next one is of another second
    assert server.newest(vehicle)["speedKmh"] == KMH


def main():
    folder, api, letters = sys.argv[1:]
    pages = {path.stem: path.read_text() for path in pathlib.Path(folder).glob("*.md")}
    assert pages.keys() == APPS.keys(), f"pages without a check, or checks without a page: {pages.keys() ^ APPS.keys()}"
    host = api.replace("127.0.0.1", "127.0.0.2")
    server, at = Server(api, letters), int(time.time()) - 600
    for page, apps in APPS.items():
        for app in apps:
            check_app(server, pages[page], app, host, at)
    check_shell(server, pages["curl"], host)
    print(f"devices: {sum(map(len, APPS.values())) + 1} apps report as their pages say")


main()
