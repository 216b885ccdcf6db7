"""A tool call costs little more than the call of the atom behind it, and a server is there before anybody waits.

Bars, each beside its floor in the same run: from the start of `keisei mcp serve` to its first answer under 900 ms
(floor: a server of the SDK's own with one empty tool); a call of a warm atom at most 1 ms over the same call in
process (floor: that call, and a call of the empty tool); the lean list under 8 kB. Both protocol generations. A slow
machine fails nothing here, a wrong answer does.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path = [place for place in sys.path if Path(place).resolve() != HERE]  # queue.py and this file are there

from keisei.engine.invoke import InvokeOrder, invoke  # noqa: E402 - see above
from keisei.settings import read_settings  # noqa: E402 - see above
from keisei.wiring.atom_runtime import open_runtime  # noqa: E402 - see above

KEISEI = Path(sys.executable).parent / "keisei"
ROUNDS, STARTS = 1000, 7
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
DRAFT = "http://json-schema.org/draft-07/schema#"
PAGE = """---
atom: kei-bench::echo
kind: transform
version: "0.1.0"
input: { schema: schemas/echo.json }
output: { schema: schemas/echo.json }
side_effects: []
idempotent: true
stability: stable
---

# kei-bench::echo

Answers what it was asked.
"""
EMPTY = """
import asyncio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
import mcp_types as types
async def tools(ctx, params):
    return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema={"type": "object"})])
async def call(ctx, params):
    text = [types.TextContent(type="text", text="{}")]
    return types.CallToolResult(content=text, structured_content=params.arguments)
async def main():
    server = Server("empty", on_list_tools=tools, on_call_tool=call)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
asyncio.run(main())
"""


class Client:
    """A client that waits for each answer. `modern` speaks the newer generation, which begins without a handshake."""

    def __init__(self, command: list[str], folder: Path, *, modern: bool) -> None:
        """Start the server."""
        self._modern, self._number = modern, 0
        self.began = time.perf_counter()
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, bufsize=0)
        self._answers = open(self._server.stdout.fileno(), "rb", closefd=False)  # type: ignore[union-attr] # noqa: SIM115
        if not modern:
            self.ask("initialize", HELLO)
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request."""
        self._number += 1
        told = {**params, "_meta": ENVELOPE} if self._modern else params
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": told})
        answer = json.loads(self._answers.readline())
        assert answer["id"] == self._number, answer
        result: dict[str, Any] = answer["result"]
        return result

    def close(self) -> None:
        """Hang up."""
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(20)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(message).encode() + b"\n")


@contextmanager
def connected(command: list[str], folder: Path, *, modern: bool) -> Iterator[Client]:
    """A client and its server, ended afterwards."""
    client = Client(command, folder, modern=modern)
    try:
        yield client
    finally:
        client.close()


def package(folder: Path) -> None:
    """A package with one verb."""
    schemas = folder / "atoms" / "schemas"
    schemas.mkdir(parents=True)
    head = '[project]\nname = "kei-bench"\nversion = "0.1.0"\n[tool.keisei]\nbackend = "memory"\n'
    (folder / "pyproject.toml").write_text(head, encoding="utf-8")
    (folder / "atoms" / "echo.md").write_text(PAGE, encoding="utf-8")
    (folder / "atoms" / "echo.py").write_text("def run(input, context):\n    return input\n", encoding="utf-8")
    body = {"$schema": DRAFT, "type": "object", "properties": {"n": {"type": "integer"}}, "examples": [{"n": 1}]}
    (schemas / "echo.json").write_text(json.dumps(body), encoding="utf-8")


def median_ms(work: Callable[[], object], rounds: int) -> float:
    """The median time of one round, warm."""
    for _ in range(20):
        work()
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def start_ms(command: list[str], folder: Path, *, modern: bool) -> float:
    """From the start of the program to its first answer, as people meet it: nothing else is warm."""
    times = []
    for _ in range(STARTS):
        with connected(command, folder, modern=modern) as client:
            client.ask("tools/list", {})
            times.append(time.perf_counter() - client.began)
    return statistics.median(times) * 1000


def call_ms(command: list[str], folder: Path, tool: str, arguments: dict[str, Any], *, modern: bool) -> float:
    """One call, warm."""

    def one() -> None:
        done = client.ask("tools/call", {"name": tool, "arguments": arguments})
        assert done["structuredContent"] == {"n": 1}, done

    with connected(command, folder, modern=modern) as client:
        return median_ms(one, ROUNDS)


def in_process_ms(root: Path, folder: Path) -> float:
    """The same call without a server."""
    with open_runtime(read_settings(), actor="operator:bench", roots=(root,), start=folder) as runtime:

        def one() -> None:
            order = InvokeOrder(spec=runtime.shelf.atom("kei-bench::echo"), input={"n": 1}, actor="x")
            assert invoke(runtime.tools, runtime.store, order).output == {"n": 1}

        return median_ms(one, ROUNDS)


def list_bytes(command: list[str], folder: Path) -> int:
    """Bytes of the list of tools."""
    with connected(command, folder, modern=False) as client:
        return len(json.dumps(client.ask("tools/list", {}), separators=(",", ":")).encode())


def measured(folder: Path) -> dict[str, float]:
    """Everything."""
    root = folder / "packages"
    package(root / "kei-bench")
    empty = folder / "empty.py"
    empty.write_text(EMPTY, encoding="utf-8")
    floor = [sys.executable, str(empty)]
    ours = [str(KEISEI), "mcp", "serve", "--root", str(root)]
    full, lean = [*ours, "--profile", "full"], {"atom": "kei-bench::echo", "input": {"n": 1}}
    return {
        "start_ms": start_ms(ours, folder, modern=True),
        "start_floor_ms": start_ms(floor, folder, modern=True),
        "invoke_ms": in_process_ms(root, folder),
        "call_ms": call_ms(full, folder, "kei-bench__echo", {"n": 1}, modern=True),
        "call_handshake_ms": call_ms(full, folder, "kei-bench__echo", {"n": 1}, modern=False),
        "call_lean_ms": call_ms(ours, folder, "atoms_read", lean, modern=True),
        "call_floor_ms": call_ms(floor, folder, "echo", {"n": 1}, modern=True),
        "lean_list_bytes": list_bytes([*ours, "--write", "*"], folder),
    }


def _calls(told: dict[str, float]) -> str:
    names = {"call": "call_ms", "handshake era": "call_handshake_ms", "lean": "call_lean_ms", "empty": "call_floor_ms"}
    return ", ".join(f"{name} {told[key]:.2f} ms" for name, key in names.items())


def main() -> int:
    """Print a table and one line of JSON."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {"KEISEI_HOME": f"{place}/state"}
        os.environ.pop("KEISEI_DATABASE_URL", None)
        told = measured(Path(place))
    over = told["call_ms"] - told["invoke_ms"]
    rows = [
        ("start to first answer", f"{told['start_ms']:.0f} ms", "900 ms", f"SDK alone {told['start_floor_ms']:.0f} ms"),
        ("call, over invoke", f"{over:.2f} ms", "1 ms", f"invoke {told['invoke_ms']:.2f} ms, {_calls(told)}"),
        ("lean list", f"{told['lean_list_bytes']} B", "8192 B", ""),
    ]
    for row in (("what", "measured", "bar", "beside it"), *rows):
        print(f"{row[0]:24} {row[1]:>10} {row[2]:>8}   {row[3]}")
    print(json.dumps({"bench": "mcp", **told}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
