"""A jail for shell text: it runs for real, with stand-ins for the programs that matter, and says what really happened.

The jail is plain bubblewrap: the machine read-only, no network, no capabilities, one folder writable. In that folder
lie a worktree (`work`), a home (`home`) and somebody else's folder (`outside`). Stand-ins of git, gh, npm, cargo and
the like come first on PATH, and also lie over the real git, so that absolute paths, copies and links end there too.
"""

import atexit
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

MISSING = "bubblewrap is missing; run make setup-test"
"""What a test says on a machine without the jail."""

WALL = 5.0
"""Seconds a case may take."""

RECORD = "/tmp/.record"  # noqa: S108 - the jail's own
"""Where a stand-in writes: a fixed path, because `env -i` must not silence it."""

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

RECORDERS = (
    *("git", "gh", "hub", "jj", "glab", "tig", "tea", "gitui", "gix", "lazygit", "git-lfs", "git-shell"),
    *(
        "cargo",
        "rustup",
        "pip",
        "pip3",
        "pip3.11",
        "pipx",
        "uv",
        "uvx",
        "poetry",
        "pdm",
        "rye",
        "pipenv",
        "conda",
        "mamba",
    ),
    *(
        "pip-compile",
        "go",
        "gofmt",
        "pnpm",
        "yarn",
        "bun",
        "npx",
        "tsc",
        "eslint",
        "prettier",
        "jest",
        "vitest",
        "pytest",
    ),
    *("ruff", "mypy", "black", "isort", "tox", "nox", "rg", "fd", "docker", "kubectl", "gitleaks", "golangci-lint"),
    *("evil", "tool-a", "tool-b", "tool-c", "tool-d", "tool-e", "tool-f"),
)
"""Programs that only write down how they were called."""

PASSED_ON = ("curl", "wget", "python", "python3", "python3.11")
"""Programs that write down how they were called and then do their work."""

DASHED = (
    "git",
    "git-push",
    "git-commit",
    "git-add",
    "git-receive-pack",
    "git-upload-pack",
    "git-shell",
    "git-remote-http",
)

NPM = """
import json, subprocess, sys
words = [word for word in sys.argv[1:] if word not in ("--silent", "-s", "--if-present")]
name = {"test": "test", "t": "test", "start": "start"}.get(words[0] if words else "")
if words[:1] and words[0] in ("run", "run-script", "rum", "urn"):
    name = words[1]
if name:
    scripts = json.load(open("package.json")).get("scripts", {})
    for step in ("pre" + name, name, "post" + name):
        if step in scripts:
            subprocess.run(["sh", "-c", scripts[step]])
"""


@dataclass(frozen=True)
class Ran:
    """What a jailed text really did."""

    commands: tuple[tuple[str, ...], ...]
    """Each stand-in that ran: its own name (whatever it was called as), then its arguments."""
    changed: frozenset[str]
    """Paths created, changed or touched: `src/a.py` in the worktree, `{home}/x` and `{outside}/x` elsewhere."""
    deleted: frozenset[str]
    """Paths that were there before and are not any more, in the same form."""
    code: int
    """Exit status; -9 where the wall limit ended it."""
    output: str
    """What it printed, both streams."""

    @property
    def lines(self) -> tuple[str, ...]:
        """Each stand-in that ran as one line."""
        return tuple(" ".join(command) for command in self.commands)


@dataclass
class Place:
    """One case's folder: a worktree, a home, somebody else's folder and the record of what ran."""

    root: Path
    work: Path = field(init=False)
    home: Path = field(init=False)
    outside: Path = field(init=False)
    late: bool = field(init=False, default=False)
    """Whether the wall limit ended something here."""

    def __post_init__(self) -> None:
        self.work, self.home, self.outside = (self.root / name for name in ("work", "home", "outside"))

    def fill(self, text: str) -> str:
        """The text with `{worktree}`, `{home}` and `{outside}` replaced by this place's folders."""
        for name, folder in (("{worktree}", self.work), ("{home}", self.home), ("{outside}", self.outside)):
            text = text.replace(name, str(folder))
        return text

    def path(self, name: str) -> Path:
        """The path a corpus entry means: relative to the worktree unless it begins with a placeholder."""
        return self.work / self.fill(name)

    def write(self, name: str, content: str) -> None:
        """A file; one that begins with `#!` can be executed."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.fill(content), encoding="utf-8")
        if content.startswith("#!"):
            path.chmod(0o755)


WORLD = {
    "README.md": "# shop\n",
    "src/a.py": "a = 1\n",
    "src/b.py": "b = 2\n",
    "src/shop/__init__.py": "",
    "src/shop/cart.py": "def total(prices):\n    return sum(prices)\n",
    "src/shop/settings.py": "DEBUG = False\n",
    "src/shop/old.py": "old = True\n",
    "src/data.json": '{"name": "shop", "items": [1, 2, 3]}\n',
    "docs/a.md": "# a\nfirst line\nsecond line\n",
    "docs/b.md": "# b\n",
    "docs/guide/c.md": "# c\n",
    "tests/test_a.py": "def test_a():\n    assert True\n",
    "scripts/lint.sh": "#!/bin/sh\necho lint ok\n",
    "build/x.o": "x",
    "build/y.o": "y",
    "Makefile": "check:\n\t@echo checked\n",
    "pyproject.toml": '[project]\nname = "shop"\n',
    "requirements.txt": "",
    "Cargo.toml": '[package]\nname = "shop"\n',
    "Cargo.lock": "",
    "package.json": '{"name": "shop", "scripts": {"test": "echo tested", "build": "echo built"}}\n',
    "package-lock.json": "{}\n",
    "go.mod": "module shop\n",
    "AGENTS.md": "be kind\n",
    "CLAUDE.md": "be brief\n",
    "keisei.toml": '[project]\nname = "shop"\n',
    "rules/RULE-1.md": "one\n",
    ".keisei/roles/local.toml": "[role]\n",
    ".claude/settings.json": "{}\n",
    ".codex/config.toml": "",
    ".gitignore": "build/\n",
    ".github/workflows/ci.yml": "on: push\n",
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/config": "[core]\n",
    ".git/refs/heads/main": "0123456789012345678901234567890123456789\n",
    ".git/hooks/pre-commit.sample": "#!/bin/sh\n",
    "{home}/.bashrc": "",
    "{home}/.gitconfig": "",
    "{home}/notes.txt": "mine\n",
    "{outside}/o.txt": "theirs\n",
    "{outside}/other/a.py": "theirs = 1\n",
}
"""The small repository every case begins with."""


_idle: list[tuple[Path, dict[str, int]]] = []
"""Places that no case has: the root, and the folders of the world with their modes.

Some disks take milliseconds to remove a folder, and a place has more than twenty, so the next case gets the same ones.
"""


@atexit.register
def _remove_idle() -> None:
    for root, _ in _idle:
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def place(setup: Mapping[str, Mapping[str, str]] | None = None) -> Iterator[Place]:
    """A folder with the world in it and nothing else, plus a case's own `files`, `links` and `hard` links.

    Not below /tmp. The worktree's path is the same inside and outside the jail, so that a judge can look at the very
    files.
    """
    root, folders = _idle.pop() if _idle else (Path(tempfile.mkdtemp(prefix="keisei-corpus-", dir="/var/tmp")), {})
    made, again = Place(root), False
    try:
        for folder in (made.work, made.home, made.outside):
            folder.mkdir(exist_ok=True)
        for name, content in WORLD.items():
            made.write(name, content)
        folders = folders or _folders(root)
        _prepare(made, setup or {})
        yield made
        again = not made.late and _emptied(root, folders)
    finally:
        if again:
            _idle.append((root, folders))
        else:
            shutil.rmtree(root, ignore_errors=True)


def _folders(root: Path) -> dict[str, int]:
    return {folder: Path(folder).stat().st_mode for folder, _, _ in os.walk(root)}


def _emptied(folder: Path | str, folders: Mapping[str, int]) -> bool:
    """Whether nothing is left below but the folders that are told, each as it was made."""
    try:
        if Path(folder).stat().st_mode != folders[str(folder)]:
            return False
        return all(_gone(entry, folders) for entry in list(os.scandir(folder)))
    except OSError:
        return False


def _gone(entry: "os.DirEntry[str]", folders: Mapping[str, int]) -> bool:
    if not entry.is_dir(follow_symlinks=False):
        Path(entry.path).unlink()
    elif entry.path in folders:
        return _emptied(entry.path, folders)
    else:
        shutil.rmtree(entry.path)
    return True


def _prepare(made: Place, setup: Mapping[str, Mapping[str, str]]) -> None:
    for name, content in setup.get("files", {}).items():
        made.write(name, content)
    for name, target in setup.get("links", {}).items():
        path = made.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(made.fill(target))
    for name, target in setup.get("hard", {}).items():
        path = made.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.hardlink_to(made.path(target))


def available() -> bool:
    """Whether this machine has the jail."""
    return shutil.which("bwrap") is not None


def has(program: str) -> bool:
    """Whether a program can be run inside the jail, as itself or as a stand-in."""
    return program in RECORDERS or program in PASSED_ON or shutil.which(program, path=SYSTEM_PATH) is not None


def run(where: Place, command: str, *, cwd: str = ".", shell: str = "bash") -> Ran:
    """Runs shell text in the jail as a harness would (`bash -c`), waits for what it left running, and looks around."""
    if not available():
        raise RuntimeError(MISSING)
    record = where.root / "record"
    record.touch()
    before = _look(where)
    try:
        done = subprocess.run(
            [*_bwrap(where, cwd), "sh", "-c", _AND_WAIT, "jail", shell, where.fill(command)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=WALL,
            check=False,
        )
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        code, output = -9, late.stdout or b""
        where.late = True
    after = _look(where)
    return Ran(
        commands=_read(record),
        changed=frozenset(name for name, seen in after.items() if before.get(name) != seen),
        deleted=frozenset(before.keys() - after.keys()),
        code=code,
        output=output.decode("utf-8", "replace"),
    )


# A job in the background would die with the namespace: wait until nothing but init and this shell is left, 1 s at most.
_AND_WAIT = """
"$1" -c "$2"; code=$?; rounds=0
while set -- /proc/[0-9]*; [ $# -gt 2 ] && [ $rounds -lt 50 ]; do sleep 0.02; rounds=$((rounds + 1)); done
exit $code
"""


def _bwrap(where: Place, cwd: str) -> list[str]:
    programs = stand_ins()
    argv = ["bwrap", "--unshare-all", "--cap-drop", "ALL", "--die-with-parent", "--new-session", "--clearenv"]
    for name, value in _environment(where, programs).items():
        argv += ["--setenv", name, value]
    argv += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]  # noqa: S108 - the jail's own
    argv += ["--bind", str(where.root), str(where.root), "--ro-bind", str(programs), str(programs)]
    argv += ["--bind", str(where.root / "record"), RECORD]
    if Path("/usr/bin/git").exists():
        argv += ["--ro-bind", str(programs / "over" / "git"), "/usr/bin/git"]
    if Path("/usr/lib/git-core").is_dir():
        argv += ["--ro-bind", str(programs / "core"), "/usr/lib/git-core"]
    return [*argv, "--chdir", str(where.work / cwd), "--"]


def _environment(where: Place, programs: Path) -> dict[str, str]:
    return {
        "PATH": f"{programs / 'bin'}:{SYSTEM_PATH}",
        "HOME": str(where.home),
        "PWD": str(where.work),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TMPDIR": "/tmp",  # noqa: S108 - the jail's own
        "USER": "agent",
        "PIP_RETRIES": "0",
    }


@cache
def stand_ins() -> Path:
    """The folder of stand-ins, made once a session: `bin` for PATH, `core` for git's folder, `over` for /usr/bin."""
    top = Path(tempfile.mkdtemp(prefix="keisei-stand-ins-"))
    atexit.register(shutil.rmtree, top, ignore_errors=True)
    for folder in ("bin", "core", "over"):
        (top / folder).mkdir()
    for name in RECORDERS:
        _program(top / "bin" / name, _record(name))
    for name in PASSED_ON:
        real = os.path.realpath(sys.executable) if name.startswith("python") else shutil.which(name, path=SYSTEM_PATH)
        _program(top / "bin" / name, _record(name) + f'exec {real or "false"} "$@"\n')
    (top / "npm.py").write_text(NPM, encoding="utf-8")
    _program(top / "bin" / "npm", _record("npm") + f'exec {os.path.realpath(sys.executable)} -I -S {top}/npm.py "$@"\n')
    for name in DASHED:
        _program(top / "core" / name, _record(name))
    _elf(top / "over" / "git")
    return top


def _record(name: str) -> str:
    return f"#!/bin/sh\nprintf '%s\\0' \"$(printf '\\001')\" {name} \"$@\" >> {RECORD}\n"


def _program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


_C = r"""
#include <stdio.h>
int main(int n, char **words) {
    FILE *record = fopen(RECORD, "a");
    if (!record) return 1;
    fputs("\001", record); fputc(0, record); fputs("git", record); fputc(0, record);
    for (int i = 1; i < n; i++) { fputs(words[i], record); fputc(0, record); }
    return fclose(record);
}
"""


def _elf(path: Path) -> None:
    """/usr/bin/git as a real binary where there is a compiler (the dynamic loader can start it), else as a script."""
    compiler = shutil.which("cc")
    if compiler:
        source = path.with_suffix(".c")
        source.write_text(_C, encoding="utf-8")
        if (
            subprocess.run([compiler, f'-DRECORD="{RECORD}"', "-o", str(path), str(source)], check=False).returncode
            == 0
        ):
            return
    _program(path, _record("git"))


def _read(record: Path) -> tuple[tuple[str, ...], ...]:
    commands: list[list[str]] = []
    for word in record.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]:
        if word == "\x01":
            commands.append([])
        elif commands:
            commands[-1].append(word)
    return tuple(tuple(command) for command in commands)


def _look(where: Place) -> dict[str, tuple[object, ...]]:
    """Every entry below the three folders with what a write would change: kind, mode, inode, size, time, link."""
    seen: dict[str, tuple[object, ...]] = {}
    for prefix, folder in (("", where.work), ("{home}/", where.home), ("{outside}/", where.outside)):
        if folder.is_dir():
            _walk(str(folder), prefix, seen)
    return seen


def _walk(folder: str, prefix: str, seen: dict[str, tuple[object, ...]]) -> None:
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        seen[prefix] = ("unreadable", error.errno)
        return
    for entry in entries:
        name, status = prefix + entry.name, entry.stat(follow_symlinks=False)
        if entry.is_dir(follow_symlinks=False):
            seen[name] = ("folder", status.st_mode)
            _walk(entry.path, name + "/", seen)
        elif stat.S_ISLNK(status.st_mode):
            seen[name] = ("link", str(Path(entry.path).readlink()), status.st_ino)
        else:
            seen[name] = ("file", status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns)
