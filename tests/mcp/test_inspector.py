"""The MCP inspector's own command line, as people try a server with it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mcp.world import make_root, surroundings

TOOLS = Path(__file__).parents[2] / ".tools"
NODE = TOOLS / "bin" / "node"
INSPECTOR = TOOLS / "inspector/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
KEISEI = Path(sys.executable).parent / "keisei"
TIMEOUT_S = 120
TOOL_FAILED = 5
"""The inspector's exit code where a tool says that it failed."""


pytestmark = pytest.mark.skipif(not TOOLS.exists(), reason="no tools are installed: `make setup-test` does it")


def inspected(folder, *words, profile="full"):
    """The exit code and the JSON that the inspector prints."""
    for path in (NODE, INSPECTOR):
        assert path.exists(), f"{path} is missing: run make setup-test"
    root = folder / "root" if (folder / "root").exists() else make_root(folder)
    server = [KEISEI, "mcp", "serve", "--profile", profile, "--root", root]
    env = {**surroundings(folder), "PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"}
    argv = [NODE, INSPECTOR, "--cli", *server, *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env, cwd=folder, timeout=TIMEOUT_S)
    return done.returncode, json.JSONDecoder().raw_decode(done.stdout)[0]


def test_the_inspector_lists_strictly_calls_and_is_refused(tmp_path):
    code, listed = inspected(tmp_path, "--method", "tools/list", "--strict")
    assert code == 0
    assert "pot__echo" in [tool["name"] for tool in listed["tools"]]

    code, done = inspected(tmp_path, "--method", "tools/call", "--tool-name", "pot__echo", "--tool-arg", "n=3")
    assert (code, done["structuredContent"]) == (0, {"n": 3})

    asked = ("--tool-name", "atoms_read", "--tool-arg", "atom=pot::note", "--tool-arg", 'input={"path": "x"}')
    code, refused = inspected(tmp_path, "--method", "tools/call", *asked, profile="lean")
    assert (code, refused["structuredContent"]["error"]["kind"]) == (TOOL_FAILED, "refused")
