"""Effects of shipped atoms: each example does what it should with what its page declares, and the kernel looks on."""

import os
import shutil
import socket
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from msgspec.structs import replace

from keisei.records.atom import SideEffect
from keisei.sandbox.confine import level_of
from keisei.sandbox.machine import probe
from keisei.settings import read_settings
from keisei.wiring.atom_runtime import open_runtime
from keisei.wiring.atom_test import try_atoms
from tests.kit.desk import PACKAGES
from tests.library.primitives import package, write

MACHINE = probe()
FOUND_NOTHING = {
    "kei-agent": {"NoAgent", "UnknownTask"},
    "kei-forge": {"UnknownReceipt"},
    "kei-http": {"PrivateAddress", "Unreachable"},
    "kei-ledger": {"UnknownAgent", "UnknownRow"},
    "kei-milestone": {"MilestoneNotFound", "TaskNotFound"},
    "kei-task": {"TaskNotFound"},
}
"""Errors with which examples may end, for there is no such row and no such server. All others do what they say."""

pytestmark = pytest.mark.skipif(level_of(MACHINE) == "none", reason="this machine cannot confine a process")


@pytest.fixture
def open_shop(tmp_path):
    """What calls atoms: those that ship, or those of a folder."""

    def opened(*roots):
        return open_runtime(
            read_settings({"HOME": str(tmp_path), "KEISEI_HOME": str(tmp_path / "state")}),
            actor="operator:somebody",
            roots=roots,
            start=tmp_path,
        )

    return opened


@pytest.fixture(scope="module")
def furnish(tmp_path_factory):
    """Puts a project into a folder, with everything the examples speak of."""
    model = tmp_path_factory.mktemp("project")
    write(model / "keisei.toml", '[project]\nname = "shop"\n')
    write(model / "README.md", "TODO: say something\n")
    write(model / "src/app.py", "def call_retry():\n    return 1\n" * 40)
    write(model / "build/app", "built\n")
    write(model / "logo.png", "dots")
    git(model, "init", "-q", "-b", "main", "--template=")
    git(model, "add", ".")
    git(model, "commit", "-q", "-m", "one")
    git(model, "tag", "v1.0.0")
    write(model / "notes.txt", "word " * 100)

    def furnish(spec, folder):
        shutil.copytree(model, folder, dirs_exist_ok=True)
        if spec.id == "kei-fs::write":
            (folder / "notes.txt").unlink()  # it writes what is not there yet

    return furnish


def git(folder, *words):
    who = {f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **who}
    subprocess.run(["git", *words], cwd=folder, env=env, check=True)


def told(tried):
    return f"{tried.atom}, {tried.example}: {tried.outcome}: {tried.error} {tried.said}"


@pytest.mark.parametrize("name", PACKAGES)
def test_every_example_needs_no_more_than_its_page_declares(open_shop, furnish, name):
    with open_shop() as runtime:
        rows, problems = runtime.shelf.rows(package=name)
        specs = [runtime.shelf.atom(row.atom) for row in rows]
        # One sandbox for each atom: here it is asked what the kernel refuses, not what one example leaves for the next.
        tried = list(try_atoms(runtime, specs, MACHINE, furnish, shared=True))

    assert problems == []
    assert {each.atom for each in tried} == {spec.id for spec in specs} != set()
    allowed = FOUND_NOTHING.get(name, ())
    assert [
        told(each)
        for each in tried
        if each.outcome != "ok" and not (each.outcome == "declared" and each.error.code in allowed)
    ] == []


# --- without an effect ------------------------------------------------------------------------------------------------

TAKEN = [
    *[(f"kei-fs::{verb}", "write") for verb in ("copy", "make-folder", "move", "remove", "write")],
    *[("kei-fs::read", "read"), ("kei-hash::file", "read")],
    *[("kei-git-read::status", op) for op in ("read", "subprocess")],
    *[(f"kei-http::{verb}", "network") for verb in ("get", "send", "download")],
    ("kei-http::download", "write"),
]
"""Atoms, and what is taken out of their pages. What is written is declared as read instead."""


def test_what_is_taken_out_of_a_page_is_missed(open_shop, furnish):
    with served() as address, open_shop() as runtime:
        specs = {atom: _once(runtime.shelf.atom(atom), address) for atom, _ in TAKEN}
        whole = [specs["kei-http::download"]]  # the server answers, and the file can be written
        taken = [_without(specs[atom], op) for atom, op in TAKEN]
        tried = list(try_atoms(runtime, [*whole, *taken], MACHINE, furnish))

    assert [told(each) for each in tried[: len(whole)] if each.outcome != "ok"] == []
    assert [told(each) for each in tried[len(whole) :] if each.outcome == "ok"] == []
    assert len(tried) == len(whole) + len(taken)


def _once(spec, address):
    """The atom with its first example alone; one that calls a server calls ours."""
    first = spec.input_schema["examples"][0]
    own = {**first, "url": address, "allow_private": True} if "url" in first else first
    page = replace(spec.manifest, input=replace(spec.manifest.input, example=None))
    return replace(spec, manifest=page, input_schema={**spec.input_schema, "examples": [own]})


def _without(spec, op):
    kept = [replace(each, op="read") if each.op == op == "write" else each for each in spec.manifest.side_effects]
    effects = tuple(each for each in kept if op == "write" or each.op != op)
    assert effects != spec.manifest.side_effects
    return replace(spec, manifest=replace(spec.manifest, side_effects=effects))


class Answering(BaseHTTPRequestHandler):
    """Says `{}` to everybody."""

    def do_GET(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_POST = do_GET  # noqa: N815 - as the server wants it named

    def log_message(self, *_):
        """Nothing."""


@contextmanager
def served():
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


# --- one effect, and all the others -----------------------------------------------------------------------------------

EFFECTS = {
    "read": ("fs:{path}", "os.listdir(os.environ['TMPDIR'] + '/../../work')"),
    "write": ("fs:{path}", "open('made', 'w').close()"),
    "network": ("http:{url}", "socket.create_connection(('127.0.0.1', PORT), 20).close()"),
    "subprocess": ("true", "subprocess.run(['true'], check=True)"),
}


def test_what_a_page_does_not_declare_the_kernel_refuses(open_shop, tmp_path):
    folder = package(tmp_path / "shop", "shop-try", "all", *EFFECTS)
    with socket.create_server(("127.0.0.1", 0)) as server, open_shop(tmp_path / "shop") as runtime:
        lines = {op: line.replace("PORT", str(server.getsockname()[1])) for op, (_, line) in EFFECTS.items()}
        for op, body in {**lines, "all": "; ".join(lines.values())}.items():
            text = f"import os, socket, subprocess\n\n\ndef run(input, context):\n    {body}\n    return {{}}\n"
            write(folder / f"atoms/{op}.py", text)
        specs = {op: runtime.shelf.atom(f"shop-try::{op}") for op in EFFECTS}
        whole = _with(runtime.shelf.atom("shop-try::all"), *EFFECTS)
        others = [_with(spec, *_others(op)) for op, spec in specs.items()]
        outcomes = [each.outcome for each in try_atoms(runtime, [whole, *others], MACHINE)]

    assert outcomes == ["ok"] + ["failed"] * len(others)


def _others(op):
    """Every other effect; what is written may be read as well."""
    return [each for each in EFFECTS if each != op and (op, each) != ("read", "write")]


def _with(spec, *ops):
    effects = tuple(SideEffect(op=op, domain=EFFECTS[op][0]) for op in ops)
    return replace(spec, manifest=replace(spec.manifest, side_effects=effects))
