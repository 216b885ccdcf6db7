"""The server on a port: who may speak to it, and what it answers whom."""

import asyncio
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from keisei.mcp.http import listen
from keisei.mcp.rows import MOST
from keisei.mcp.token import Refusals, is_bearer, made_token, read_token
from keisei.records.error import OperatorError
from tests.mcp.world import ENVELOPE, opened, surroundings

KEISEI = Path(sys.executable).parent / "keisei"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": ENVELOPE}}


class Served:
    """The real program on a port, and what its ledger says."""

    def __init__(self, world):
        self.world, root = world, world.folder / "root"
        words = [KEISEI, "mcp", "serve", "--http", "--port", "0", "--root", root]
        env = surroundings(world.folder)
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=world.folder, env=env)
        self.url, _, path = self.process.stdout.readline().rstrip().split(maxsplit=2)
        self.token = Path(path).read_text().strip()
        self.token_file = Path(path)

    def post(self, token=None, **headers):
        told = {"Authorization": f"Bearer {self.token if token is None else token}", **headers}
        base = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28"}
        return httpx2.post(self.url, json=LIST, headers={**base, "Mcp-Method": "tools/list", **told})


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, opened(tmp_path_factory.mktemp("a world"), patch) as world:
        made = Served(world)
        with made.process:
            assert made.post().status_code == 200  # before that it hears no signal
            yield made
            made.process.send_signal(signal.SIGTERM)
            assert made.process.wait(20) == 0


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_official_client_calls_with_the_token(served, mode):
    async def main():
        headers = {"Authorization": f"Bearer {served.token}"}
        async with httpx2.AsyncClient(headers=headers) as http:
            transport = streamable_http_client(served.url, http_client=http)
            async with Client(transport, mode=mode) as client:
                tools = (await client.list_tools()).tools
                done = await client.call_tool("atoms_read", {"atom": "pot::echo", "input": {"n": 4}})
                refused = await client.call_tool("atoms_read", {"atom": "pot::note", "input": {"path": "x"}})
                return [tool.name for tool in tools], done, refused

    names, done, refused = asyncio.run(main())

    assert "atoms_read" in names
    assert done.structured_content == {"n": 4}
    assert refused.structured_content["error"]["kind"] == "refused"


def test_a_wrong_token_is_401_and_written_down(served):
    before = len(served.world.rows())

    for token in ("y", "x", served.token[:-1], f"{served.token}x"):
        answer = served.post(token)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")

    assert served.world.rows()[before:] == [("mcp_refused", "token", None)] * 4
    assert served.post().status_code == 200


@pytest.mark.parametrize(
    ("headers", "code"), [({"Host": "evil.example"}, 421), ({"Origin": "https://evil.example"}, 403)]
)
def test_another_host_and_another_origin_are_refused(served, headers, code):
    assert served.post(**headers).status_code == code


def test_who_is_refused_while_it_sends_sees_the_answer(served):
    with socket.create_connection(("127.0.0.1", httpx2.URL(served.url).port)) as line:
        line.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 40000\r\n\r\n" + b"x" * 20_000)
        time.sleep(0.1)
        line.sendall(b"x" * 20_000)
        heard = b""
        while piece := line.recv(65_536):
            heard += piece

    assert heard.startswith(b"HTTP/1.1 401 ")
    assert heard.endswith(b"}")


def test_a_body_without_end_is_refused(served):
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {served.token}\r\n"
    with socket.create_connection(("127.0.0.1", httpx2.URL(served.url).port)) as line:
        line.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 100000000\r\n\r\n".encode())
        assert b" 413 " in line.recv(100)


def test_the_token_is_this_user_s_alone_and_stays(served, tmp_path):
    assert served.token_file.stat().st_mode & 0o777 == 0o600
    assert made_token(served.token_file.parent) == served.token_file
    assert served.token_file.read_text().strip() == served.token
    assert made_token(tmp_path).read_text() != served.token_file.read_text()


@pytest.mark.parametrize("text", ["", "short", "has a blank in it and is long", "ü" * 32, "x" * 600])
def test_a_token_that_is_none_is_told(tmp_path, text):
    path = tmp_path / "token"
    path.write_text(text)
    path.chmod(0o600)

    with pytest.raises(OperatorError, match=r"token in|cannot be read"):
        read_token(path)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
def test_a_token_file_that_others_may_use_is_refused(tmp_path, mode):
    path = tmp_path / "token"
    path.write_text("x" * 32)
    path.chmod(mode)

    with pytest.raises(OperatorError, match="owner alone") as told:
        read_token(path)

    assert "chmod 600" in told.value.hint


def test_a_token_is_read_no_further_than_it_may_be_long():
    with pytest.raises(OperatorError, match="printable"):
        read_token(Path("/dev/zero"))


def test_a_made_token_is_mended_but_nobody_is_led_elsewhere(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("x" * 32)
    elsewhere.chmod(0o644)
    state = tmp_path / "state"
    path = made_token(state)
    path.chmod(0o644)

    assert made_token(state).stat().st_mode & 0o777 == 0o600
    assert [each.name for each in state.iterdir()] == [path.name]
    path.unlink()
    path.symlink_to(elsewhere)
    with pytest.raises(OperatorError, match="cannot be made"):
        made_token(state)
    assert elsewhere.stat().st_mode & 0o777 == 0o644


def test_a_token_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(OperatorError, match="cannot be read"):
        read_token(tmp_path / "none")


@pytest.mark.parametrize(
    ("header", "holds"),
    [
        (b"Bearer abc", True),
        (b"bearer  abc ", True),
        (b"Bearer abd", False),
        (b"abc", False),
        (b"Basic abc", False),
        (None, False),
    ],
)
def test_who_says_the_token(header, holds):
    assert is_bearer(header, "abc") is holds


def test_refusals_are_written_some_times_a_minute_and_then_counted():
    now, written = [0.0], []
    refusals = Refusals(lambda reason, counted: written.append((reason, counted)), lambda: now[0])

    for _ in range(MOST + 5):
        refusals.add("no")
    now[0] = 61.0
    refusals.add("again")

    assert written == [("no", 0)] * MOST + [("again", 5)]


def test_a_port_in_use_is_one_sentence(served):
    with pytest.raises(OperatorError, match="cannot be used: address already in use") as told:
        listen(httpx2.URL(served.url).port)

    assert "--port" in told.value.hint
