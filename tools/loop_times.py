#!/usr/bin/env python3
"""Times what somebody who works on Waypost waits for, in a checkout whose target/ is empty.

    tools/loop_times.py map      README's first command, until the first bus on its map has moved
    tools/loop_times.py check    ./check
    tools/loop_times.py edit     a line added to one handler, until that handler's own tests have answered
    tools/loop_times.py          all three

`map` and `check` begin with `cargo clean`, so they ask for --clean; crates that cargo has downloaded before are not
downloaded again. `edit` builds first and then times --edits of them; the handler is put back as it was. Run it on a
machine that does nothing else: it says what the processor did, and for how long. Python 3 alone.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
HANDLER = ROOT / "src/http/drivers.rs"
# A function of that handler, and what is added behind its first line.
WHERE = re.compile(r"(\nfn shown\(.*\{\n)")
OWN_TESTS = ["cargo", "test", "--locked", "--quiet", "--test", "api", "--", "drivers::"]


def processor_seconds():
    """Of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def told(what, begun, used):
    print(f"{what}: {time.monotonic() - begun:.1f} s ({processor_seconds() - used:.0f} s of processor time)", flush=True)


def run(command):
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stdout[-4000:]}")


def asked(url, path, token=None, method="GET"):
    headers = {"authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url + path, method=method, headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def places(url, token, organization):
    """Where each vehicle is shown."""
    path = f"/v1/vehicles?organizationId={organization}&include=live&limit=100"
    listed = asked(url, path, token)["data"]
    position = lambda vehicle: (vehicle.get("live") or {}).get("position") or {}
    return {v["id"]: (position(v).get("latitude"), position(v).get("longitude")) for v in listed}


def until_the_map_moves(output):
    """Reads the demo's output up to its link, signs in by that, and looks at the vehicles until one has moved."""
    links = (re.search(r"open (http://\S+)/#token=(\S+)", line) for line in output)
    link = next((found for found in links if found), None)
    if link is None:
        sys.exit("the demo ended without a link")
    url = link[1]
    token = asked(url, f"/v1/auth/sign-in-link/{link[2]}", method="POST")["accessToken"]
    organization = asked(url, "/v1/organizations", token)["data"][0]["id"]
    before = {}
    while True:
        now = places(url, token, organization)
        if any(None not in place and before.get(v, place) != place for v, place in now.items()):
            return
        before = {v: place for v, place in now.items() if None not in place}
        time.sleep(0.1)


def time_map(command):
    with tempfile.TemporaryDirectory() as folder:
        command = [*command, "--data-dir", f"{folder}/demo", "--listen", "127.0.0.1:0"]
        begun, used = time.monotonic(), processor_seconds()
        demo = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
        try:
            until_the_map_moves(demo.stdout)
            took = time.monotonic() - begun
        finally:
            os.killpg(demo.pid, signal.SIGTERM)
            demo.wait()
        print(f"map: {took:.1f} s ({processor_seconds() - used:.0f} s of processor time)", flush=True)


def time_check():
    begun, used = time.monotonic(), processor_seconds()
    run(["./check"])
    told("check", begun, used)


def time_edits(count):
    before = HANDLER.read_text()
    if not WHERE.search(before):
        sys.exit(f"{HANDLER.name} no longer has the function that is edited")
    run(OWN_TESTS)
    walls = []
    try:
        # The first one finds nothing to build upon and does not count.
        for number in range(count + 1):
            line = f'    tracing::trace!("edit {number}");\n' * (number + 1)
            HANDLER.write_text(WHERE.sub(lambda found: found[1] + line, before, count=1))
            begun, used = time.monotonic(), processor_seconds()
            run(OWN_TESTS)
            if number > 0:
                walls.append(time.monotonic() - begun)
                told(f"edit {number}", begun, used)
    finally:
        HANDLER.write_text(before)
    print(f"edit, median of {count}: {statistics.median(walls):.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["map", "check", "edit", []], help="all when left out")
    parser.add_argument("--clean", action="store_true", help="empty target/ before map and check")
    parser.add_argument("--edits", type=int, default=3, metavar="N", help="how many edits to time (3)")
    options = parser.parse_args()
    what = options.what or ["map", "check", "edit"]
    if not options.clean and {"map", "check"} & set(what) and (ROOT / "target").exists():
        sys.exit("target/ is there; give --clean to empty it")
    for step in what:
        if options.clean and step != "edit":
            run(["cargo", "clean"])
        match step:
            case "map":
                time_map(["cargo", "run", "--locked", "--", "demo"])
            case "check":
                time_check()
            case "edit":
                time_edits(options.edits)


if __name__ == "__main__":
    main()
