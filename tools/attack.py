#!/usr/bin/env python3
"""Attacks a server of its own, without sign-in and with a viewer's, while a tracker reports, and prints what that costs.

Each attack runs for some seconds from one attacker, then from sixteen at once: bombs (bodies that unpack to 1 GiB),
bodies and heads that never end, of one address and of 600 for each attacker, large bodies under an Idempotency-Key,
JSON that unpacks to sixteen megabytes of objects, reports of devices that unpack to four megabytes of objects and of
names. Beside it a tracker reports and /healthz is asked. Python 3 alone,
Linux, loopback only.

    tools/attack.py --binary target/release/waypost
    tools/attack.py --seconds 20 --attackers 16 --database postgres://user@127.0.0.1/name

Exits with 1 where an acknowledgement took longer than a second, the p99 of acknowledgements more than doubled (and
is above --least-p99-ms), memory grew by more than 64 MiB, or /healthz took longer than half a second.
"""

import argparse
import base64
import gzip
import http.client
import json
import multiprocessing
import os
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

GIB = 1 << 30
MOST_ACK_SECONDS, MOST_GROWTH, MOST_HEALTHZ_SECONDS = 1.0, 2.0, 0.5
MOST_MEMORY_BYTES = 64 << 20
EMAIL, PASSWORD = "root@example.org", "correct horse battery"
# 1 GiB of spaces as Brotli, 809 bytes; here itself packed.
BROTLI_BOMB = zlib.decompress(
    base64.b64decode(
        "eNo7//9/PYOKw6ONDkXv///8/5+/gcVBRqzh3V/7////M05g6DjMdGHv/+f//9szCDEURjDs+v7/z///7A5MCnzcDt//zQeqYvBg"
        "OJLI+OLe/8///8szcDZY6DDc/V3/7/9/ZgVGgXbWBdX/z4MtYXi0gaFk1JJRS4aIJWBVMEv4AcEUr3A="
    )
)


def gzip_bomb(unpacked):
    """Many members, each a mebibyte of spaces."""
    member = gzip.compress(b" " * (1 << 20), 9)
    return member * (unpacked >> 20)


def zstd_bomb(unpacked=GIB):
    """A frame of blocks that each repeat one byte."""
    frame = bytearray(struct.pack("<I", 0xFD2FB528) + bytes([0x00, (21 - 10) << 3]))
    block = 128 << 10
    for at in range(0, unpacked, block):
        is_last = at + block >= unpacked
        frame += struct.pack("<I", (block << 3) | (1 << 1) | is_last)[:3] + b" "
    return bytes(frame)


def send(port, method, path, token=None, body=None, headers=None, timeout=30, source=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout, source_address=source)
    headers = dict(headers or {})
    if token:
        headers["Authorization"] = "Bearer " + token
    if body is not None and not isinstance(body, bytes):
        body, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    read = answer.read()
    connection.close()
    return answer.status, json.loads(read) if read[:1] in (b"{", b"[") else None


class Server:
    def __init__(self, options, directory):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        env = dict(os.environ, WAYPOST_LISTEN=f"127.0.0.1:{self.port}", WAYPOST_DATA_DIR=directory, WAYPOST_LOG="warn")
        env.update(WAYPOST_ADMIN_EMAIL=EMAIL, WAYPOST_ADMIN_PASSWORD=PASSWORD, WAYPOST_ADMIN_LISTEN="off")
        if options.unlimited:
            env.update(WAYPOST_RATE_LIMIT="off", WAYPOST_RATE_LIMIT_SIGN_IN="off")
        if options.database:
            env["WAYPOST_DATABASE_URL"] = options.database

        def limited():
            if options.descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (options.descriptors, options.descriptors))

        self.log = open(os.path.join(directory, "log"), "w")
        arguments = [options.binary, "serve"]
        self.process = subprocess.Popen(arguments, env=env, stdout=self.log, stderr=self.log, preexec_fn=limited)
        for _ in range(600):
            try:
                if send(self.port, "GET", "/readyz", timeout=1)[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise SystemExit("the server does not get ready: " + open(self.log.name).read()[-2000:])

    def memory(self, of="VmRSS"):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith(of))

    def forget_most_memory(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as refs:
            refs.write("5")

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


class Tracker(threading.Thread):
    """Reports a position every few milliseconds over its socket, and measures how long each acknowledgement takes."""

    def __init__(self, port, token, pause):
        super().__init__(daemon=True)
        self.acks, self.pause, self.is_over, self.fault = [], pause, False, None
        self.socket = socket.create_connection(("127.0.0.1", port), 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET /v1/ws/tracker HTTP/1.1\r\nHost: waypost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nAuthorization: Bearer {token}\r\n"
            f"Sec-WebSocket-Protocol: waypost.tracker.v1\r\n\r\n".encode()
        )
        self.read = self.socket.makefile("rb")
        if b" 101 " not in self.read.readline():
            raise SystemExit("the tracker's socket is not opened")
        while self.read.readline() != b"\r\n":
            pass

    def frame(self):
        first, length = self.read.read(2)
        length &= 127
        if length == 126:
            length = struct.unpack(">H", self.read.read(2))[0]
        return first & 15, self.read.read(length)

    def say(self, opcode, text):
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(text))
        length = bytes([128 | len(text)]) if len(text) < 126 else struct.pack(">BH", 254, len(text))
        self.socket.sendall(bytes([128 | opcode]) + length + mask + masked)

    def run(self):
        try:
            seq = 0
            while not self.is_over:
                seq += 1
                item = {"seq": seq, "recordedAt": int(time.time() * 1000), "latitude": 30.25, "longitude": -97.75}
                began = time.monotonic()
                self.say(1, json.dumps({"type": "positions", "items": [item]}).encode())
                while True:
                    opcode, text = self.frame()
                    if opcode == 9:
                        self.say(10, text)
                    elif opcode == 8:
                        raise ConnectionError("closed: " + repr(text))
                    elif opcode == 1 and (said := json.loads(text))["type"] == "ack" and said["seq"] == seq:
                        break
                self.acks.append((began, time.monotonic() - began))
                time.sleep(self.pause)
        except Exception as error:  # told when the figures are
            self.fault = error


class Health(threading.Thread):
    """Asks /healthz on a new connection each time, from another address than the attackers', as a monitor would."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.looks, self.is_over = port, [], False

    def run(self):
        while not self.is_over:
            began = time.monotonic()
            try:
                is_well = send(self.port, "GET", "/healthz", timeout=10, source=("127.0.0.2", 0))[0] == 200
            except OSError:
                is_well = False
            took = time.monotonic() - began
            self.looks.append((began, took if is_well else max(took, 10.0)))
            time.sleep(0.05)


def posting(path, body, headers, token=None):
    """An attacker that sends the same request again and again."""

    def attack(port, until, pause):
        answers = {}
        while time.monotonic() < until:
            try:
                status = send(port, "POST", path, token, body, {"Content-Type": "application/json", **headers})[0]
            except (OSError, http.client.HTTPException) as error:
                status = type(error).__name__
            answers[status] = answers.get(status, 0) + 1
            time.sleep(pause)
        return answers

    return attack


def holding(bytes_of_one, many, addresses=1):
    """An attacker that opens connections from so many addresses, says this much on each, and holds them; opens new
    ones for those it lost."""

    def attack(port, until, pause):
        held, answers, own = [], {}, os.getpid() % 250
        while time.monotonic() < until:
            try:
                if len(held) >= many:
                    time.sleep(pause)
                    held.pop(0).close()
                number = answers.get("opened", 0) % addresses
                source = (f"127.{own + 1}.{number // 250}.{number % 250 + 1}" if addresses > 1 else "127.0.0.1", 0)
                connection = socket.create_connection(("127.0.0.1", port), 5, source)
                connection.settimeout(5)
                held.append(connection)
                connection.sendall(bytes_of_one)
                answers["opened"] = answers.get("opened", 0) + 1
            except OSError as error:
                answers[type(error).__name__] = answers.get(type(error).__name__, 0) + 1
                time.sleep(pause)
        for connection in held:
            connection.close()
        return answers

    return attack


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else float("nan")


def between(pairs, start, end):
    return [took for began, took in pairs if start <= began < end]


def attacks(viewer, writer, device):
    objects = b'[{"":0}' + b',{"":0}' * ((16 << 20) // 7 - 2) + b"]"
    packed = gzip.compress(objects, 9)
    collection = b'{"type":"FeatureCollection","features":' + objects[: (15 << 20)]
    collection = gzip.compress(collection[: collection.rindex(b",")] + b"]}", 9)
    head = "POST /v1/auth/refresh HTTP/1.1\r\nHost: w\r\nContent-Type: application/json\r\n"
    slow = f"{head}Content-Length: 50\r\n\r\n{{".encode()
    full = f"{head}Content-Length: 65000\r\n\r\n{{".encode() + b" " * 60_000
    large = f"POST /v1/organizations HTTP/1.1\r\nHost: w\r\nContent-Type: application/json\r\nIdempotency-Key: %s\r\n"
    large = (large % os.urandom(8).hex()).encode() + b"Content-Length: 16777206\r\n\r\n" + b" " * (1 << 20)
    yield "bomb, br, no sign-in", posting("/v1/auth/refresh", BROTLI_BOMB, {"Content-Encoding": "br"})
    yield "bomb, zstd, no sign-in", posting("/v1/auth/refresh", zstd_bomb(), {"Content-Encoding": "zstd"})
    yield "bomb, gzip, no sign-in", posting("/v1/auth/refresh", gzip_bomb(64 << 20), {"Content-Encoding": "gzip"})
    yield "bomb, br, may import", posting("/v1/geofences/import", BROTLI_BOMB, {"Content-Encoding": "br"}, writer)
    yield "slow bodies, 600 held", holding(slow, 600)
    yield "half heads, 600 held", holding(b"GET / HTTP/1.1\r\nHost: w\r\nX: ", 600)
    yield "slow, many addresses, held", holding(slow, 600, 600)
    yield "full, many addresses, held", holding(full, 600, 600)
    yield "heads, many addresses, held", holding(b"GET / HTTP/1.1\r\nHost: w\r\nX: ", 600, 600)
    yield "16 MiB under a key", holding(large, 70)
    nested = b'[{"ident":"imei-2","position.latitude":' + objects[: (4 << 20) - 100]
    nested = gzip.compress(nested[: nested.rindex(b",")] + b"]}]", 9)
    fields = gzip.compress(b"token=&" + b"a&" * ((2 << 20) - 10), 9)
    report = "/in/" + device
    yield "objects, device", posting(report, nested, {"Content-Encoding": "gzip"})
    yield "fields, device", posting(report, fields, {"Content-Encoding": "gzip"})
    yield "objects, viewer", posting("/v1/geofences/import", packed, {"Content-Encoding": "gzip"}, viewer)
    yield "objects, may import", posting("/v1/geofences/import", collection, {"Content-Encoding": "gzip"}, writer)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", default="target/release/waypost", help="the server's program")
    parser.add_argument("--seconds", type=float, default=8, help="of each attack")
    parser.add_argument("--attackers", type=int, default=16, help="at once, in the second round")
    parser.add_argument("--pause-ms", type=float, default=100, help="between two requests of one attacker")
    parser.add_argument("--tracker-pause-ms", type=float, default=10, help="between two positions")
    parser.add_argument("--descriptors", type=int, help="the server's ulimit -H -n; as here if left out")
    parser.add_argument("--least-p99-ms", type=float, default=25, help="a p99 below this is good, whatever it was before")
    parser.add_argument("--database", help="postgres://… of an empty database instead of SQLite")
    parser.add_argument(
        "--nice", type=int, default=19, help="of the attackers, whose processors are not the server's: 0 to compete for them"
    )
    parser.add_argument("--unlimited", action="store_true", help="without rate limits")
    parser.add_argument("--only", default="", help="only attacks with this in their name")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        server = Server(options, directory)
        try:
            sys.exit(run(server, options))
        finally:
            server.stop()


def run(server, options):
    port = server.port
    root = send(port, "POST", "/v1/auth/login", body={"email": EMAIL, "password": PASSWORD})[1]["accessToken"]
    admin = {"email": "admin@example.org", "firstName": "A", "lastName": "B"}
    made = {"name": "Attacked", "slug": "attacked", "contactEmail": "mail@example.org", "admin": admin}
    status, organization = send(port, "POST", "/v1/organizations", root, made)
    assert status == 201, organization
    send(port, "PUT", "/v1/organizations/activate/" + organization["id"], root, {})
    token, device = (vehicle(port, root, organization["id"], name) for name in ("imei-1", "imei-2"))
    viewer = person(server, root, organization["id"], "viewer")
    writer = person(server, root, organization["id"], "dispatcher")
    tracker, health = Tracker(port, token, options.tracker_pause_ms / 1000), Health(port)
    tracker.start(), health.start()
    time.sleep(options.seconds)
    before = quantile([took for _, took in tracker.acks[10:]], 0.99)
    print(f"before: ack p99 {before * 1000:.1f} ms, {len(tracker.acks)} acks, {server.memory() >> 20} MiB")
    print(f"{'attack':27} {'at once':>7} {'acks':>5} {'p99 ms':>7} {'worst':>7} {'healthz':>8} {'MiB +':>6}  answers")
    is_good = True
    for count in (1, options.attackers):
        for name, attack in attacks(viewer, writer, device):
            if options.only in name:
                is_good &= told(server, tracker, health, before, options, name, attack, count)
    tracker.is_over = health.is_over = True
    return 0 if is_good else 1


def vehicle(port, root, organization, unique_id):
    """The token of a new vehicle's tracker."""
    bus = {"name": unique_id, "organizationId": organization, "tracker": {"uniqueId": unique_id}}
    return send(port, "POST", "/v1/vehicles", root, bus)[1]["tracker"]["token"]


def told(server, tracker, health, before, options, name, attack, count):
    server.forget_most_memory()
    memory, start = server.memory(), time.monotonic()
    until = start + options.seconds

    # Processes: threads of attackers would keep the tracker's thread, which measures, waiting for the interpreter.
    fork = multiprocessing.get_context("fork")
    reports = fork.SimpleQueue()

    def one():
        os.nice(options.nice)
        reports.put(attack(server.port, until, options.pause_ms / 1000))

    attackers = [fork.Process(target=one, daemon=True) for _ in range(count)]
    [attacker.start() for attacker in attackers]
    answers = [reports.get() for _ in attackers]
    [attacker.join() for attacker in attackers]
    end = time.monotonic()
    time.sleep(0.5)
    acks, looks = between(tracker.acks, start, end), between(health.looks, start, end)
    p99, worst, healthz = quantile(acks, 0.99), max(acks, default=99.0), max(looks, default=99.0)
    more = max(0, server.memory("VmHWM") - memory)
    summed = {}
    for answer in answers:
        for status, times in answer.items():
            summed[status] = summed.get(status, 0) + times
    is_good = (
        tracker.fault is None
        and worst <= MOST_ACK_SECONDS
        and (p99 <= MOST_GROWTH * before or p99 * 1000 <= options.least_p99_ms)
        and healthz <= MOST_HEALTHZ_SECONDS
        and more <= MOST_MEMORY_BYTES
    )
    print(
        f"{name:27} {count:7} {len(acks):5} {p99 * 1000:7.1f} {worst * 1000:7.1f} {healthz * 1000:8.1f} {more >> 20:6}  "
        f"{' '.join(f'{status}x{times}' for status, times in summed.items())}{'' if is_good else '  TOO MUCH'}"
        f"{f'  {tracker.fault!r}' if tracker.fault else ''}",
        flush=True,
    )
    time.sleep(2)
    return is_good


def person(server, root, organization, role):
    """An access token of a new user, by the invitation that the server saves for want of a mail server."""
    email = role + "@example.org"
    user = {"email": email, "firstName": "A", "lastName": "B", "role": role, "organizationId": organization}
    status, made = send(server.port, "POST", "/v1/users", root, user)
    assert status == 201, made
    token = invitation(server, email)
    return send(server.port, "POST", f"/v1/auth/accept-invite/{token}", body={"password": PASSWORD})[1]["accessToken"]


def invitation(server, email):
    folder = os.path.join(os.path.dirname(server.log.name), "mail")
    for _ in range(300):
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            with open(os.path.join(folder, name), errors="replace") as letter:
                text = letter.read().replace("=\n", "").replace("=\r\n", "")
            if email in text and "/invite/" in text:
                return text.split("/invite/")[1].split()[0].strip(">.\"")
        time.sleep(0.1)
    raise SystemExit("no invitation for " + email)


if __name__ == "__main__":
    main()
