"""Checking is quick: 150 atoms, 40 capabilities and 10 roles are linted in under a second, as a process too.

Loading one role with everything it leans on takes under 20 ms. The floor is measured in the same run: reading the same
bytes and parsing them with the bare parsers, nothing checked.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import ryaml

from keisei.library.catalog import Catalog
from keisei.library.lint import PLURALS, Report, lint
from keisei.library.shelf import Layer, layer_of
from keisei.wiring import KIT

PACKAGES, ATOMS, CAPABILITIES, ROLES = 10, 15, 40, 10
IN_PROCESS, AS_PROCESS, CLOSURES = 7, 7, 30
LINT_GOAL_S, CLOSURE_GOAL_MS = 1.0, 20.0
KEISEI = str(Path(sys.executable).with_name("keisei"))
DRAFT = "http://json-schema.org/draft-07/schema#"


def write(path: Path, text: str) -> None:
    """One file, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def schema(title: str, key: str) -> str:
    """A schema of an ordinary size, with an example."""
    fields = {name: {"type": "string", "description": f"The {name} of it.", "maxLength": 200} for name in "abcdef"}
    body = {"$schema": DRAFT, "$id": title, "title": title, "type": "object", "properties": {key: {"type": "string"}}}
    body["properties"] |= fields
    return json.dumps(
        body | {"required": [key], "additionalProperties": False, "examples": [{key: "x", "a": "y"}]}, indent=2
    )


def page(package: str, verb: str, other: str) -> str:
    """An atom's page of an ordinary size."""
    return f"""---
atom: {package}::{verb}
kind: command
version: "0.3.1"
input:
  schema: schemas/{verb}-input.json
  required: [title]
  example: {{title: Write the page}}
output:
  schema: schemas/{verb}-output.json
errors:
  - {{code: InvalidInput, http_analog: 400, description: The input does not fit.}}
  - {{code: NotFound, http_analog: 404, description: There is no such thing.}}
side_effects:
  - {{op: write, domain: {package}-db}}
idempotent: false
timeout_ms: 5000
stability: stable
keywords: [task, {verb}, planning, bench]
related: ["[[{package}::{other}]]", "[[rules/RULE 0.13]]"]
---

# {package}::{verb}

{"Some prose about what it does, and when it is the wrong one to call. " * 8}

See [[{package}::{other}]].
"""


def write_packages(root: Path) -> None:
    """Packages of atoms, two schemas an atom."""
    for number in range(PACKAGES):
        package = f"kei-bench{number}"
        folder = root / "_primitives" / package
        metadata = '[project]\nname = "x"\nversion = "0.3.1"\n[tool.keisei]\nbackend = "memory"\n'
        write(folder / "pyproject.toml", metadata)
        for index in range(ATOMS):
            verb, other = f"verb{index}", f"verb{(index + 1) % ATOMS}"
            write(folder / "atoms" / f"{verb}.md", page(package, verb, other))
            write(folder / "atoms/schemas" / f"{verb}-input.json", schema(f"{package}/{verb}-input.json", "title"))
            write(folder / "atoms/schemas" / f"{verb}-output.json", schema(f"{package}/{verb}-output.json", "id"))


def write_capabilities(root: Path) -> None:
    """Capabilities with a text, a pattern gate and vectors."""
    for number in range(CAPABILITIES):
        folder = root / "_capabilities/policy" / f"rule-{number}"
        patterns = ",\n".join(f"  '^forbidden-{number}-{index}( |$)'" for index in range(12))
        vectors = "".join(
            f'\n[[test]]\ntool = "Bash"\ninput = {{ command = "forbidden-{number}-{index}" }}\nexpect = "deny"\n'
            for index in range(8)
        )
        head = (
            f'[capability]\nname = "policy::rule-{number}"\ncategory = "policy"\nversion = "1"\ndescription = "It."\n'
        )
        gate = f'[restricts]\ntool-patterns = [\n{patterns},\n]\n[text]\npath = "text.md"\n[gate]\nkind = "pattern"\n'
        write(folder / "capability.toml", f"{head}{gate}{vectors}")
        write(folder / "text.md", f"## Rule {number}\n\n{'You MUST NOT do that, because it breaks things. ' * 12}\n")


def write_roles(root: Path) -> None:
    """Roles of eight rules each, all but the first on top of another one."""
    for number in range(ROLES):
        names = ", ".join(f'"policy::rule-{(number * 4 + index) % CAPABILITIES}"' for index in range(8))
        extends = f'extends = "role-{number - 1}"\n' if number % 5 else ""
        head = f'[role]\nname = "role-{number}"\ndescription = "Role {number}."\n'
        rules = f"[capabilities]\n{extends}required = [{names}]\n"
        tools = '[tools]\nallowed = ["Read", "Bash"]\n'
        patterns = "bash-patterns-allowed = ['^ls( |$)', '^cargo (build|test)( |$)']\n"
        write(root / "_roles" / f"role-{number}.toml", head + rules + tools + patterns)


def floor(root: Path) -> int:
    """Read and parse every file with the bare parser of its format, and check nothing. Returns how many."""
    count = 0
    for path in sorted(root.rglob("*.*")):
        if not path.is_file():
            continue
        count += 1
        text = path.read_bytes().decode("utf-8")
        if path.suffix == ".toml":
            tomllib.loads(text)
        elif path.suffix == ".json":
            json.loads(text)
        elif path.parent.name == "atoms":
            ryaml.loads(text.split("---\n", 2)[1])
    return count


def linted(root: Path) -> Report:
    """Everything of the root, from a fresh catalog."""
    own = layer_of("root", root)
    return lint(Catalog([Layer("kit", KIT), own]), PLURALS.values(), [own])


def closure(root: Path) -> int:
    """One role with its parents, its capabilities and their texts, from a fresh catalog. Returns how many texts."""
    catalog = Catalog([Layer("kit", KIT), layer_of("root", root)])
    return len([catalog.fragment(name) for name in catalog.resolved_role("role-4").capabilities])


def as_process(root: Path) -> None:
    """The installed program, in the root."""
    done = subprocess.run([KEISEI, "lint"], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def times(action: Callable[[Path], object], root: Path, repeats: int) -> list[float]:
    """Milliseconds of each run, after one that does not count."""
    action(root)
    taken = []
    for _ in range(repeats):
        started = time.perf_counter()
        action(root)
        taken.append((time.perf_counter() - started) * 1000)
    return taken


def main() -> int:
    """Measure, print, and fail where a promise is broken."""
    with tempfile.TemporaryDirectory(prefix="keisei-bench-") as folder:
        root = Path(folder)
        for make in (write_packages, write_capabilities, write_roles):
            make(root)
        report = linted(root)
        assert report.problems == [], report.problems[:3]
        assert report.files == {"atom": PACKAGES, "capability": CAPABILITIES, "role": ROLES}, report.files
        files, texts = floor(root), closure(root)
        measured = {
            "floor: read and parse": times(floor, root, IN_PROCESS),
            "lint, in process": times(linted, root, IN_PROCESS),
            "lint, as a process": times(as_process, root, AS_PROCESS),
            f"closure of {texts} texts": times(closure, root, CLOSURES),
        }
    print(f"{PACKAGES * ATOMS} atoms, {CAPABILITIES} capabilities, {ROLES} roles in {files} files")
    print(f"{'':24}{'runs':>6}{'median ms':>12}{'min ms':>10}{'max ms':>10}")
    for name, values in measured.items():
        print(f"{name:24}{len(values):6}{statistics.median(values):12.1f}{min(values):10.1f}{max(values):10.1f}")
    base, inside, outside, role = (statistics.median(values) for values in measured.values())
    result = {
        "bench": "lint",
        "files": files,
        "floor_ms": round(base, 1),
        "in_process_ms": round(inside, 1),
        "process_ms": round(outside, 1),
        "closure_ms": round(role, 2),
        "ratio": round(inside / base, 2),
        "goals": {"in_process_ms": LINT_GOAL_S * 1000, "process_ms": LINT_GOAL_S * 1000, "closure_ms": CLOSURE_GOAL_MS},
        "load": round(os.getloadavg()[0], 1),
    }
    result["ok"] = max(inside, outside) < LINT_GOAL_S * 1000 and role < CLOSURE_GOAL_MS
    print(json.dumps(result))
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
