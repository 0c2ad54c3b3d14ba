#!/usr/bin/env python3
"""Measures three promises on servers of its own and prints the figures. Python 3 alone, Linux, loopback only.

    readers      twelve clients page through stored positions and read slowly: p99 of a tracker's acknowledgements, at most
                 twice that of before
    compression  a list on a connection that is kept alive, by gzip, br and zstd: median time, at most twice that of identity
    start        1,000 new vehicles with tanks: ready within two seconds after kill -9, and after a stop

    tools/promises.py --binary target/release/waypost
    tools/promises.py --only readers --positions 300000 --database postgres://user@127.0.0.1/name

Exits with 1 where one of them is not kept. Figures mean little while other work runs: repeat them.
"""

import argparse
import http.client
import json
import socket
import statistics
import sys
import tempfile
import threading
import time

from attack import EMAIL, PASSWORD, Server, Tracker, quantile, send

MOST_RATIO, MOST_START_SECONDS = 2.0, 2.0
# A p99 of acknowledgements below this is good, whatever it was before.
LEAST_P99_MS = 25.0
READERS, READ_BYTES, READ_PAUSE_SECONDS = 12, 16 << 10, 0.05
ITEMS = 500
# Seconds between two stored positions, and degrees on each of them.
STEP_SECONDS, STEP_DEGREES = 10, 0.000_01


def signed_in(port):
    return send(port, "POST", "/v1/auth/login", body={"email": EMAIL, "password": PASSWORD})[1]["accessToken"]


def organization(port, token):
    admin = {"email": "admin@example.org", "firstName": "A", "lastName": "B"}
    made = {"name": "Measured", "slug": "measured", "contactEmail": "mail@example.org", "admin": admin}
    status, organization = send(port, "POST", "/v1/organizations", token, made)
    assert status == 201, organization
    send(port, "PUT", "/v1/organizations/activate/" + organization["id"], token, {})
    return organization["id"]


def vehicle(port, token, organization, name, **more):
    made = {"name": name, "organizationId": organization, "tracker": {"uniqueId": name}, **more}
    status, vehicle = send(port, "POST", "/v1/vehicles", token, made)
    assert status == 201, vehicle
    return vehicle


def readers(options, directory):
    server = Server(options, directory)
    try:
        port, token = server.port, signed_in(server.port)
        org = organization(port, token)
        read, reported = (vehicle(port, token, org, name) for name in ("imei-1", "imei-2"))
        store_positions(port, read["tracker"]["token"], options.positions)
        tracker = Tracker(port, reported["tracker"]["token"], 0.01)
        tracker.start()
        time.sleep(2)
        before, _ = p99_ms(tracker, options.seconds)
        until = time.monotonic() + options.seconds + 3
        path = f"/v1/vehicles/{read['id']}/positions?organizationId={org}&limit=1000"
        took = [[0, 0] for _ in range(READERS)]
        threads = [threading.Thread(target=read_slowly, args=(port, token, path, until, one)) for one in took]
        [thread.start() for thread in threads]
        time.sleep(2)
        during, worst = p99_ms(tracker, options.seconds)
        [thread.join() for thread in threads]
        tracker.is_over = True
    finally:
        server.stop()
    pages, read_bytes = (sum(column) for column in zip(*took))
    is_kept = tracker.fault is None and pages > 0 and (during <= MOST_RATIO * before or during <= LEAST_P99_MS)
    print(
        f"readers: ack p99 {before:.1f} ms before, {during:.1f} ms beside {READERS} slow readers, {during / before:.2f}x, worst "
        f"{worst:.0f} ms; {pages} pages, {read_bytes >> 20} MiB read of {options.positions} positions{told(is_kept)}"
    )
    return is_kept


def store_positions(port, token, count):
    """As a device that sends what it kept, up to an hour ago."""
    first = int(time.time() * 1000) - 3_600_000 - count * STEP_SECONDS * 1000
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    for begin in range(0, count, ITEMS):
        numbers = range(begin, min(begin + ITEMS, count))
        items = [
            {"recordedAt": first + n * STEP_SECONDS * 1000, "latitude": 30 + n % 9000 * STEP_DEGREES, "longitude": -97.75}
            for n in numbers
        ]
        connection.request("POST", "/v1/positions", json.dumps({"items": items}), headers)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status == 200 and not json.loads(text)["rejected"], text[:300]
    connection.close()


def p99_ms(tracker, seconds):
    first = len(tracker.acks)
    time.sleep(seconds)
    acks = [took * 1000 for _, took in tracker.acks[first:]]
    if tracker.fault or not acks:
        raise SystemExit(f"the tracker is not acknowledged: {tracker.fault!r}")
    return quantile(acks, 0.99), max(acks)


def read_slowly(port, token, path, until, took):
    """Page after page, a few kilobytes at a time, through a receive buffer that holds hardly more."""
    while time.monotonic() < until:
        after = ""
        while after is not None and time.monotonic() < until:
            with socket.socket() as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, READ_BYTES)
                connection.settimeout(30)
                connection.connect(("127.0.0.1", port))
                head = f"GET {path}{after} HTTP/1.1\r\nHost: w\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
                connection.sendall(head.encode())
                text = b""
                while time.monotonic() < until and (part := connection.recv(READ_BYTES)):
                    text += part
                    took[1] += len(part)
                    time.sleep(READ_PAUSE_SECONDS)
            page = json.loads(text.split(b"\r\n\r\n", 1)[1]) if text.endswith(b"}") else {}
            took[0] += bool(page)
            pagination = page.get("pagination", {})
            after = "&after=" + pagination["endCursor"] if pagination.get("hasNextPage") else None


def compression(options, directory):
    server = Server(options, directory)
    try:
        port, token = server.port, signed_in(server.port)
        org = organization(port, token)
        for number in range(200):
            vehicle(port, token, org, f"bus-{number:04}", plate={"number": f"B-{number:04}", "country": "DE"})
        path = f"/v1/vehicles?organizationId={org}&limit=200"
        medians = {coding: median_ms(port, token, path, coding) for coding in ("identity", "gzip", "br", "zstd")}
    finally:
        server.stop()
    identity, size = medians.pop("identity")
    is_kept = all(took <= MOST_RATIO * identity for took, _ in medians.values())
    shown = ", ".join(f"{name} {took:.2f} ms ({took / identity:.1f}x, {size} bytes)" for name, (took, size) in medians.items())
    print(f"compression: identity {identity:.2f} ms ({size} bytes), {shown}{told(is_kept)}")
    return is_kept


def median_ms(port, token, path, coding, times=60):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    took, size = [], 0
    for _ in range(times):
        began = time.perf_counter()
        connection.request("GET", path, headers={"Authorization": "Bearer " + token, "Accept-Encoding": coding})
        answer = connection.getresponse()
        size = len(answer.read())
        took.append((time.perf_counter() - began) * 1000)
        used = answer.getheader("Content-Encoding", "identity")
        assert answer.status == 200 and used == coding, (answer.status, used)
    connection.close()
    return statistics.median(took), size


def start(options, directory):
    empty, server = ready_seconds(options, directory)
    token = signed_in(server.port)
    org = organization(server.port, token)
    for number in range(options.vehicles):
        fuel = {"kind": "diesel", "tankCapacityLiters": 300, "sensor": {"kind": "percent"}}
        vehicle(server.port, token, org, f"bus-{number:04}", fuel=fuel)
    server.process.kill()
    server.process.wait(30)
    after_kill, server = ready_seconds(options, directory)
    server.stop()
    after_stop, server = ready_seconds(options, directory)
    server.stop()
    is_kept = max(after_kill, after_stop) <= MOST_START_SECONDS
    print(
        f"start: {options.vehicles} new vehicles with tanks: ready {after_kill:.2f} s after kill -9, {after_stop:.2f} s after a stop; "
        f"the empty server {empty:.2f} s{told(is_kept)}"
    )
    return is_kept


def ready_seconds(options, directory):
    """Looked at every 100 ms."""
    began = time.monotonic()
    server = Server(options, directory)
    return time.monotonic() - began, server


def told(is_kept):
    return "" if is_kept else "  NOT KEPT"


def main():
    measures = {"readers": readers, "compression": compression, "start": start}
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", default="target/release/waypost", help="the server's program")
    parser.add_argument("--only", choices=measures, help="one of them")
    parser.add_argument("--positions", type=int, default=300_000, help="that the readers page through")
    parser.add_argument("--vehicles", type=int, default=1_000, help="that are new at the start")
    parser.add_argument("--seconds", type=float, default=20, help="before the readers, and beside them")
    parser.add_argument("--database", help="postgres://… of an empty database instead of SQLite; with --only")
    options = parser.parse_args()
    if options.database and not options.only:
        parser.error("a database is empty once: name one with --only")
    # What a server's options of tools/attack.py are beside these.
    options.unlimited, options.descriptors = True, None
    is_kept = True
    for name, measure in measures.items():
        if options.only in (None, name):
            with tempfile.TemporaryDirectory() as directory:
                is_kept &= measure(options, directory)
    sys.exit(0 if is_kept else 1)


if __name__ == "__main__":
    main()
