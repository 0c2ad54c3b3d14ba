#!/usr/bin/env python3
"""Runs the shell lines of a page against a server, and compares what they print with the page.

    tests/tour.py docs/tour.md http://127.0.0.1:PORT

A block ```sh is run, all of them in one shell, in which any line that fails ends the run; a block ```text behind it is what it
prints, `…` standing for anything. ```sh server starts the server and ```sh elsewhere leads to other hosts: both are left out.
```sh needs=PROGRAM is left out, and said so, where the program is missing.
"""

import re
import shutil
import subprocess
import sys

MARK = "@@ block"
DEADLINE_SECONDS = 120


def blocks(page):
    """Pairs of a shell block and what it prints; its first line's number comes with it."""
    found, lines, at = [], page.splitlines(), 0
    while at < len(lines):
        if not lines[at].startswith("```"):
            at += 1
            continue
        kind, begin = lines[at][3:].split(), at + 1
        at = lines.index("```", begin)
        text = lines[begin:at]
        if kind[:1] == ["sh"]:
            found.append({"line": begin + 1, "how": kind[1:], "run": text, "prints": []})
        elif kind[:1] == ["text"] and found:
            found[-1]["prints"] = text
        at += 1
    return found


def is_run(block):
    for how in block["how"]:
        program = how.removeprefix("needs=")
        if how in ("server", "elsewhere"):
            return False
        if shutil.which(program) is None:
            print(f"tour: line {block['line']}: skipped, {program} is not installed")
            return False
    return True


def main():
    page, api = sys.argv[1:]
    with open(page) as file:
        run = [block for block in blocks(file.read()) if is_run(block)]
    script = "set -euo pipefail\n"
    for number, block in enumerate(run):
        script += "\n".join([f"echo '{MARK} {number}'", *block["run"], ""])
    host = api.removeprefix("http://")
    script = script.replace("127.0.0.1:8080", host)
    done = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, text=True, timeout=DEADLINE_SECONDS)
    told = re.split(rf"^{MARK} \d+\n", done.stdout, flags=re.MULTILINE)[1:]
    for block, said in zip(run, told):
        wanted = "\n".join(block["prints"])
        pattern = re.escape(wanted).replace("…", ".*")
        if wanted and not re.fullmatch(pattern, said.rstrip("\n")):
            sys.exit(f"{page}, line {block['line']}: it should print\n{wanted}\nand prints\n{said}")
    if done.returncode:
        sys.exit(f"{page}: the block of line {run[len(told) - 1]['line']} fails: {done.returncode}\n{told[-1]}")
    if not run:
        sys.exit(f"{page}: nothing was run")
    print(f"tour: {len(run)} blocks of {page} do what it says")


main()
