"""The pages tell the truth: every command they show is run, every link leads somewhere, every word is explained.

A fenced block marked `console` is run. A line that begins with `$ ` is a command; a here-document and lines ending in
a backslash belong to it. What follows, up to the next command, is what it prints, in this order and with nothing
changed but for `...`, which stands for anything: alone on a line for lines that are left out, inside a line for a part
of it. Blank lines do not count. A last line `# exit 1` says how the command ends; without it, it ends with 0. All
blocks of a page share one temporary folder and one shell, so that a page can be followed from top to bottom.

Two things a page shows are not run, because they would make the very environment the tests run in: `git clone` gives a
copy of this checkout instead, and a `make` target is only looked up.
"""

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from keisei.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
RUN = ("tutorial", "how-to", "explanation")
PAGES = [page for page in (ROOT / "README.md", *DOCS.rglob("*.md"), *ROOT.glob("[CS]*.md")) if page.is_file()]
RUN_PAGES = [page for page in PAGES if page.parent == ROOT or page.relative_to(DOCS).parts[0] in RUN]
FUTURE = DOCS / "explanation/what-comes-next.md"
"""The one page that speaks of what is not there."""
REFERENCE = DOCS / "reference"
"""Generated from the code, where a field's line may say which command will read it."""
WORDS = (
    "agent artifact atom attempt bundle capability event evidence finding gate-decision intent landing launch ledger "
    "outcome profile role skill task to-do verdict"
)
"""The vocabulary: one word, one thing, everywhere."""
CODE = (
    "adapter agent-id alias-stub canonical-JSON constitution dialect DNA elevation form fragment gate kit kit-root "
    "layer manifest problem project record resolved-role rule schema scope-block severity spawnable task-spec text "
    "verify"
)
"""What the code adds to it."""


class Shown(NamedTuple):
    """One command as a page shows it."""

    line: int
    command: str
    output: list[str]
    code: int


class Ran(NamedTuple):
    """What it did."""

    output: list[str]
    code: int


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def fences(page: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Every fenced block: the line it begins on, its mark, its lines."""
    mark, fence, start, block = "", "", 0, []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        opening = re.match(r"(`{3,})(\w*)", line)
        if not fence and opening:
            fence, mark, start, block = opening[1], opening[2], number, []
        elif fence and line.rstrip() == fence:
            yield start, mark, block
            fence = ""
        elif fence:
            block.append(line)
    assert not fence, f"{named(page)}:{start}: the block is never closed"


def shown(page: Path) -> list[Shown]:
    return [each for start, mark, block in fences(page) if mark == "console" for each in commands_of(start, block)]


def commands_of(start: int, block: list[str]) -> Iterator[Shown]:
    lines = list(enumerate(block, start=start + 1))
    assert lines[0][1].startswith("$ "), f"line {start + 1}: a console block begins with a command"
    while lines:
        number, first = lines.pop(0)
        command = [first.removeprefix("$ ")]
        while command[-1].endswith("\\"):
            command.append(lines.pop(0)[1])
        if here := re.search(r"<<'(\w+)'", first):
            while command[-1] != here[1]:
                command.append(lines.pop(0)[1])
        output = []
        while lines and not lines[0][1].startswith("$ "):
            output.append(lines.pop(0)[1])
        code = 0
        if output and (marked := re.fullmatch(r"# exit (\d+)", output[-1])):
            code = int(marked[1])
            output.pop()
        yield Shown(number, "\n".join(command), [line for line in output if line.strip()], code)


def prepared(command: str) -> str:
    """The command as the test runs it."""
    if command.startswith("git clone "):
        return f'cp -R "$CHECKOUT" {Path(command.rsplit(maxsplit=1)[-1]).stem}'
    if command.startswith("make "):
        return ":"
    return command


def checkout(folder: Path) -> Path:
    """What a clone looks like after the set-up: the files of this checkout, and its .venv."""
    copy = folder / "checkout"
    copy.mkdir()
    for name in ("src", "docs", "scripts"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / ".venv").symlink_to(ROOT / ".venv")
    return copy


def environment(folder: Path) -> dict[str, str]:
    home = folder / "home"
    home.mkdir()
    sockets = Path(tempfile.mkdtemp(prefix="keisei-docs-"))  # a socket's path must be short
    atexit.register(shutil.rmtree, sockets, ignore_errors=True)
    return {
        "XDG_RUNTIME_DIR": str(sockets),
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C.UTF-8",
    }


def run(commands: list[str], folder: Path) -> list[Ran]:
    """Every command in turn, in one shell, so that `cd` and variables last."""
    env = environment(folder)
    if any("$CHECKOUT" in command for command in commands):
        env["CHECKOUT"] = str(checkout(folder))
    here = folder / "work"
    here.mkdir()
    mark = f"== {os.urandom(8).hex()} "
    script = folder / "page.sh"
    script.write_text(
        "".join(f"{{\n{command}\n}} 2>&1 </dev/null\nprintf '\\n{mark}%s\\n' $?\n" for command in commands),
        encoding="utf-8",
    )
    ended = subprocess.run(
        ["/bin/sh", str(script)], cwd=here, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    parts = re.split(rf"\n{mark}(\d+)\n", ended.stdout)
    assert len(parts) == 2 * len(commands) + 1, f"the shell stopped:\n{ended.stdout}\n{ended.stderr}"
    return [Ran(said.splitlines(), int(code)) for said, code in zip(parts[::2], parts[1::2], strict=False)]


def missing(wanted: list[str], said: list[str]) -> str | None:
    """The first shown line that the output does not have at its place, or None."""
    rest = iter(line.rstrip() for line in said)
    for line in wanted:
        if line.strip() == "...":
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in line.rstrip().split("...")))
        if not any(pattern.fullmatch(real) for real in rest):
            return line
    return None


@pytest.mark.parametrize("page", [page for page in RUN_PAGES if shown(page)], ids=named)
def test_every_command_of_a_page_does_what_the_page_shows(page, tmp_path):
    commands = shown(page)

    results = run([prepared(each.command) for each in commands], tmp_path)

    for each, real in zip(commands, results, strict=True):
        if prepared(each.command) == ":":
            continue
        said = "\n".join(real.output)
        place = f"{named(page)}:{each.line}: $ {each.command}"
        assert real.code == each.code, f"{place}\nends with {real.code}, not {each.code}\n{said}"
        line = missing(each.output, real.output)
        assert line is None, f"{place}\ndoes not print, or not here:\n{line}\nbut:\n{said}"


def test_the_pages_that_show_commands_are_found():
    assert {DOCS / "tutorial/first-role.md", DOCS / "how-to/write-a-role.md"} <= set(RUN_PAGES)
    assert len([page for page in RUN_PAGES if shown(page)]) > 10


def test_a_shown_line_must_stand_in_the_output_and_in_its_place():
    assert missing(["a", "...", "c ... e"], ["a", "b", "c d e"]) is None
    assert missing(["c", "a"], ["a", "b", "c"]) == "a"
    assert missing(["a b"], ["a  b"]) == "a b"


def test_a_block_is_read_as_commands_with_their_output():
    block = ["$ cat > a <<'EOF'", "$ no command", "EOF", "$ false", "no", "", "# exit 1"]

    assert list(commands_of(0, block)) == [
        Shown(1, "cat > a <<'EOF'\n$ no command\nEOF", [], 0),
        Shown(4, "false", ["no"], 1),
    ]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_command_hides_in_a_block_that_is_not_run(page):
    hidden = [
        f"{named(page)}:{start}: {line}"
        for start, mark, block in fences(page)
        if mark != "console" or page not in RUN_PAGES
        for line in block
        if re.match(r"(\$ )?(\.venv/bin/)?(keisei|kei-[a-z-]+) ", line)
    ]

    assert hidden == []


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_make_target_a_page_names_exists(page):
    text = page.read_text(encoding="utf-8")

    named_targets = set(re.findall(r"(?:`|^|^\$ )make ([a-z-]+)", text, re.MULTILINE))

    assert named_targets - targets() == set()


def exists(words: list[str]) -> bool:
    """Whether `keisei WORDS...` begins with a command that is there."""
    command: click.Command = app
    for word in words:
        if not isinstance(command, click.Group):
            return True
        found = command.get_command(click.Context(command), word)
        if found is None:
            return False
        command = found
    return True


@pytest.mark.parametrize("page", [page for page in PAGES if page != FUTURE and page.parent != REFERENCE], ids=named)
def test_no_page_names_a_command_that_does_not_exist(page):
    text = page.read_text(encoding="utf-8")

    invented = [
        " ".join(words)
        for match in re.finditer(r"(?:`|^\$ )keisei((?: [a-z][a-z0-9-]*)+)", text, re.MULTILINE)
        if not exists(words := match[1].split())
    ]

    assert invented == []


def headings(page: Path) -> set[str]:
    """The anchors of a page, as forges make them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def prose(page: Path) -> str:
    """The text without its fenced blocks and without code, where brackets are only brackets."""
    text = re.sub(r"^(`{3,}).*?^\1\s*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_relative_link_leads_somewhere(page):
    dead = []
    for link in re.findall(r"\]\(([^()\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in headings(target)):
            dead.append(link)

    assert dead == []


def test_every_page_can_be_found_from_the_index():
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in DOCS.rglob("README.md")
        for link in re.findall(r"\]\(([^()\s]+)\)", prose(page))
    }

    assert {named(page) for page in DOCS.rglob("*.md") if page.name != "README.md" and page not in linked} == set()


def entries() -> list[str]:
    return re.findall(r"^\*\*([^*]+)\*\*", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("word", [*WORDS.split(), *CODE.split()])
def test_the_glossary_explains_the_word(word):
    assert word in [entry.replace(" ", "-") for entry in entries()]


def test_the_glossary_explains_each_word_once_and_in_order():
    words = [word.lower() for word in entries()]

    assert words == sorted(set(words))
