"""The project of a demo: a small repository with a rounding bug, tests that need nothing installed, and keisei.toml."""

import json
import subprocess
from collections.abc import Mapping
from typing import Final

from keisei.demo.place import Place
from keisei.records.error import OperatorError, WorldFault
from keisei.sandbox.reach import interpreter_reads

NAME: Final = "billing"
TEST: Final = "python3 -B -m unittest"
CHECK: Final = "python3 -B tools/check.py"
KEY: Final = "demo-key-that-no-agent-sees"
"""The key of the scripted model; the agents' programs are tried on it."""
WHO: Final = ("-c", "user.name=demo", "-c", "user.email=demo@localhost", "-c", "init.defaultBranch=main")

TAX: Final = '''\
"""Taxes of an invoice, in whole cents."""

RATES = {"standard": 19, "reduced": 7, "none": 0}


def tax(net: int, rate: str = "standard") -> int:
    """The tax on an amount, rounded half up."""
    return round(net * RATES[rate] / 100)


def gross(net: int, rate: str = "standard") -> int:
    """An amount with its tax."""
    return net + tax(net, rate)
'''
CASES: Final = """\
import unittest

from billing.tax import gross, tax


class TaxTest(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(tax(0), 0)

    def test_one_cent(self):
        self.assertEqual(tax(1), 0)

    def test_standard(self):
        self.assertEqual(tax(10_000), 1_900)

    def test_reduced(self):
        self.assertEqual(tax(10_000, "reduced"), 700)

    def test_none(self):
        self.assertEqual(tax(10_000, "none"), 0)

    def test_a_rate_that_nobody_knows(self):
        with self.assertRaises(KeyError):
            tax(100, "luxury")


class GrossTest(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(gross(0), 0)

    def test_standard(self):
        self.assertEqual(gross(10_000), 11_900)

    def test_reduced(self):
        self.assertEqual(gross(10_000, "reduced"), 10_700)

    def test_none(self):
        self.assertEqual(gross(10_000, "none"), 10_000)

    def test_large(self):
        self.assertEqual(gross(1_000_000_000), 1_190_000_000)
"""
FILES: Final[dict[str, str]] = {
    "src/billing/__init__.py": '"""Billing."""\n',
    "src/billing/tax.py": TAX,
    "tests/__init__.py": 'import sys\n\nsys.path.insert(0, "src")\n',
    "tests/test_tax.py": CASES,
    "tools/check.py": (
        '"""Every file of src and tests is Python."""\n\nimport ast\nfrom pathlib import Path\n\n'
        'for path in sorted([*Path("src").rglob("*.py"), *Path("tests").rglob("*.py")]):\n'
        "    ast.parse(path.read_text(), str(path))\n"
    ),
    "pyproject.toml": '[project]\nname = "billing"\nversion = "1.0"\ndependencies = []\n',
    ".gitignore": "__pycache__/\n*.local.json\n",
}
"""What the repository holds beside keisei's own files."""
PROFILE: Final = """\
profile_id = "demo"
style = "{style}"
role = "edit-local"
default_adapter_id = "alice"
fallback_adapter_ids = []
prompt_parts = ["You implement one task, inside its scope."]
skill_ids = []

[context_policy]
max_prompt_chars = 200000
include_recent_memory = false

[result_policy]
allow_follow_up_tasks = false
allow_external_messages = false
"""
PROJECT: Final = """\
[project]
name = "{name}"

[commands]
check = "{check}"
test = "{test}"

[landing]
auto = true

[runner]
jobs = 1
max-attempts = 1

[workspace]
min-free-mb = 0

[sandbox]
read = {read}
"""
ADAPTER: Final = """
[adapters.{name}]
kind = "{kind}"
command = {command}
timeout_ms = 60000
env_file = {keys}

[adapters.{name}.env]
{variable} = "{url}"
"""


def build(place: Place, adapters: str, style: str) -> str:
    """Make the repository with one commit on main, and return that commit. Raises OperatorError without git."""
    read = [str(place.bin), *interpreter_reads()]
    project = PROJECT.format(name=NAME, check=CHECK, test=TEST, read=quoted(read))
    own = {"keisei.toml": f"{project}{adapters}", ".keisei/profiles/demo.toml": PROFILE.format(style=style)}
    for path, text in {**FILES, **own}.items():
        (place.main / path).parent.mkdir(parents=True, exist_ok=True)
        (place.main / path).write_text(text, encoding="utf-8", errors="surrogateescape")
    git(place, "init", "-q")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "Billing begins")
    return tip(place)


def write_key(place: Place, variable: str) -> None:
    """The file with the key, for its owner only."""
    place.keys.touch(mode=0o600)
    place.keys.write_text(f"{variable}={KEY}\n", encoding="utf-8")


def quoted(value: object) -> str:
    """A value as TOML and JSON both write it."""
    return json.dumps(value, ensure_ascii=False)


def tip(place: Place) -> str:
    """The commit that main is at."""
    return git(place, "rev-parse", "refs/heads/main")


def numstat(place: Place, before: str, after: str) -> Mapping[str, tuple[int, int]]:
    """The files between two commits, each with the lines that came and went."""
    lines = git(place, "diff", "--numstat", "--no-renames", before, after).splitlines()
    parts = [line.split("\t", 2) for line in lines]
    return {path: (int(added), int(removed)) for added, removed, path in parts if added != "-"}


def git(place: Place, *words: str) -> str:
    """What git says in the project, with nobody's configuration. Raises OperatorError, WorldFault."""
    env = place.environment() | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    argv = ["git", "-C", str(place.main), *WHO, *words]
    try:
        done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603 - git
    except OSError as error:
        raise OperatorError(
            f"git cannot be started: {(error.strerror or str(error)).lower()}", "install git"
        ) from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise WorldFault(f"`git {words[0]}` failed in the demo's project: {said[:300]}")
    return done.stdout.decode("utf-8", "surrogateescape").strip()
