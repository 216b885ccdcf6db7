"""`keisei mcp`: the server on standard input from its first byte to its last process, and what clients are told."""

import json
import subprocess
import sys
import tomllib

import pytest

from tests.cli.shell import BIN
from tests.mcp.world import ENVELOPE, make_root, surroundings, wait_for, wait_until
from tests.workers.atom import is_alive


def call(number, verb, **given):
    params = {"name": "atoms_read", "arguments": {"atom": f"pot::{verb}", "input": given}, "_meta": ENVELOPE}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}) + "\n"


def test_standard_output_is_the_protocol_s_alone_and_the_end_leaves_no_process(tmp_path, shell):
    root, env = make_root(tmp_path), surroundings(tmp_path)
    words = [BIN / "keisei", "mcp", "serve", "--root", root]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}

    with subprocess.Popen(words, **pipes, text=True, env=env, cwd=tmp_path) as server:
        server.stdin.write(call(1, "loud") + call(2, "hold", path=str(tmp_path / "one")))
        server.stdin.write(call(3, "stubborn", path=str(tmp_path / "two")))
        server.stdin.flush()
        first = json.loads(server.stdout.readline())
        pids = [int(wait_for(tmp_path / name)) for name in ("one", "two")]
        server.stdin.close()
        rest, said = server.stdout.read(), server.stderr.read()
        assert server.wait(20) == 0

    assert first["id"] == 1
    assert {json.loads(line)["id"] for line in rest.splitlines()} <= {2, 3}
    assert "Traceback" not in said
    wait_until(lambda: not any(map(is_alive, pids)))
    shell.setenv("KEISEI_HOME", env["KEISEI_HOME"])
    rows = json.loads(shell.run("ledger", "list", "--json").out)
    ended = {row["subject"]: row["body"]["exit_code"] for row in rows}
    assert ended.pop("pot::loud") == 0
    assert ended.items() <= {("pot::hold", 130), ("pot::stubborn", 130)}  # a slow machine has no time for these


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--write", "everything"), "names no atoms"),
        (("--write", "kei-fs::wrte"), "names no atom that is offered"),
        (("--packages", "kei-hash", "--write", "kei-fs::*"), "names no atom that is offered"),
        (("--packages", "kei-nothing"), "error: there is no package `kei-nothing`"),
        (("--packages", ","), "names no package"),
        (("--port", "1"), "--port goes with --http"),
        (("--stdio", "--token-file", "none"), "--token-file goes with --http"),
        (("--stdio", "--http"), "do not go together"),
        (("--http", "--token-file", "none"), "cannot be read"),
    ],
)
def test_what_cannot_be_served_is_told_before_anything_is(shell, words, said):
    done = shell.run("mcp", "serve", *words)

    assert done.code != 0
    assert said in done.err
    assert done.out == ""


@pytest.mark.parametrize("client", ["claude", "codex", "json"])
def test_a_client_s_settings_name_the_program_and_its_options(shell, tmp_path, client):
    program = tmp_path / "bin" / "keisei"
    program.parent.mkdir()
    program.touch(mode=0o755)
    shell.setenv("PATH", str(program.parent))
    shell.setenv("KEISEI_HOME", "/state")
    shell.setenv("KEISEI_DATABASE_URL", "postgresql://ann:secret@db/k")
    shell.setenv("XDG_CONFIG_HOME", "")
    words = ("--profile", "full", "--write", "kei-fs::*", "--packages", "kei-fs")
    done = shell.run("mcp", "config", client, *words)

    read = tomllib.loads if client == "codex" else json.loads
    told = read(done.out)["mcp_servers" if client == "codex" else "mcpServers"]["keisei"]
    assert told["command"] == str(program)
    assert told["args"] == ["mcp", "serve", "--profile", "full", "--packages", "kei-fs", "--write", "kei-fs::*"]
    assert ("type" in told) == (client == "claude")
    assert told.get("required", False) == (client == "codex")
    assert told.get("env_vars") == (["KEISEI_HOME", "KEISEI_DATABASE_URL"] if client == "codex" else None)
    assert told.get("env") == ({"KEISEI_HOME": "/state"} if client == "json" else None)
    assert "secret@" not in done.out + done.err
    assert ("KEISEI_DATABASE_URL" in done.err) == (client == "json")


def test_claude_waits_for_the_few_tools(shell):
    assert json.loads(shell.run("mcp", "config", "claude").out)["mcpServers"]["keisei"]["alwaysLoad"] is True


def test_settings_that_would_fail_later_are_refused_at_once(shell):
    done = shell.run("mcp", "config", "json", "--write", "kei-fs::wrte")

    assert (done.code, done.out) == (1, "")
    assert "names no atom" in done.err


def test_the_sdk_is_imported_only_when_a_server_starts():
    rooms = "keisei.cli.app, keisei.cli.mcp, keisei.mcp.desk, keisei.mcp.piping"
    code = f"import sys, {rooms}; print('mcp' in sys.modules)"

    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
