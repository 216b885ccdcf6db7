"""The server: the official client in both protocol generations, and clients that mean no good."""

import asyncio
import json
import os
import select
import threading

import anyio
import pytest
from mcp.client._memory import InMemoryTransport
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from keisei.mcp import line as lines
from keisei.mcp import server as servers
from keisei.mcp.load import Heap, Load
from keisei.mcp.server import AtomServer
from tests.mcp.world import ENVELOPE, HELLO, wait_for, wait_until
from tests.workers.atom import is_alive

ERAS = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])


def run(world, work, *, mode="auto", threads=servers.THREADS, **grant):
    """Have a client do something with a server of its own."""

    async def main():
        server = AtomServer(world.desk(**grant), threads=threads)
        try:
            async with Client(InMemoryTransport(server.sdk), mode=mode) as client:
                return await work(client)
        finally:
            await asyncio.to_thread(server.close)

    return asyncio.run(main())


@ERAS
def test_the_official_client_lists_calls_and_is_told_errors(world, mode):
    async def work(client):
        tools = (await client.list_tools()).tools
        done = await client.call_tool("pot__echo", {"n": 1})
        number = await client.call_tool("pot__number", {"n": 2})
        full = await client.call_tool("pot__full", {})
        wrong = await client.call_tool("pot__echo", {"n": "x"})
        refused = await client.call_tool("pot__note", {"path": "x"})
        return tools, done, number, full, wrong, refused

    before = world.rows()
    tools, done, number, full, wrong, refused = run(world, work, mode=mode, profile="full")

    echo = next(tool for tool in tools if tool.name == "pot__echo")
    assert echo.annotations.read_only_hint
    assert (done.structured_content, done.is_error) == ({"n": 1}, False)
    assert json.loads(done.content[0].text) == {"n": 1}
    assert done.meta["dev.keisei/invocation"]["atom"] == "pot::echo"
    assert number.structured_content == {"result": 2}
    errors = [json.loads(each.content[0].text)["error"] for each in (full, wrong, refused)]
    assert [each.structured_content for each in (full, wrong, refused)] == [
        None
    ] * 3  # it would not fit what is promised
    kinds = [each["kind"] for each in errors]
    assert kinds == ["atom", "schema-in", "refused"]
    assert errors[0]["http_analog"] == 409
    assert world.rows()[len(before) :] == [
        ("atom_invoked", "pot::echo", None),
        ("atom_invoked", "pot::number", None),
        ("atom_invoked", "pot::full", "atom"),
        ("atom_invoked", "pot::echo", "schema-in"),
        ("atom_invoked", "pot::note", "refused"),
    ]


@ERAS
def test_items_of_a_stream_are_progress_and_then_the_result(world, mode):
    heard = []

    async def work(client):
        async def progress(count, _total, message):
            heard.append((count, json.loads(message)))

        given = {"atom": "pot::few", "input": {"n": 3}}
        return await client.call_tool("atoms_read", given, progress_callback=progress)

    result = run(world, work, mode=mode)

    assert heard == [(n + 1, {"n": n}) for n in range(3)]
    assert result.structured_content == {"items": [{"n": n} for n in range(3)], "count": 3}


@ERAS
@pytest.mark.parametrize("verb", ["hold", "endless"])
def test_a_call_that_is_canceled_leaves_no_process_and_its_row(world, tmp_path, mode, verb):
    begun = threading.Event()

    async def work(client):
        async def progress(*_):
            begun.set()

        async def call():
            given = {"atom": f"pot::{verb}", "input": {"path": str(tmp_path / "pid")}}
            await client.call_tool("atoms_read", given, progress_callback=progress)

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await asyncio.to_thread(begun.wait if verb == "endless" else lambda: wait_for(tmp_path / "pid"))
            group.cancel_scope.cancel()
        await asyncio.to_thread(world.more_than, before)
        return await client.call_tool("atoms_read", {"atom": "pot::echo"})

    before = world.rows()
    after = run(world, work, mode=mode)

    assert not after.is_error
    assert world.rows()[len(before)] == ("atom_invoked", f"pot::{verb}", "killed")
    if verb == "hold":
        assert not is_alive(int((tmp_path / "pid").read_text()))


def test_pages_of_packages_are_resources(world):
    async def work(client):
        listed = (await client.list_resources()).resources
        page = (await client.read_resource(listed[0].uri)).contents[0]
        with pytest.raises(MCPError):
            await client.read_resource("skill://../SKILL.md")
        return listed, page

    listed, page = run(world, work)

    assert [str(each.uri) for each in listed] == ["skill://pot/SKILL.md"]
    assert page.mime_type == "text/markdown"
    assert "pot::echo" in page.text
    assert "pot::note" not in page.text


def test_more_calls_than_there_may_be_are_refused(world, monkeypatch):
    monkeypatch.setattr(servers, "WAITING", 0)

    async def work(client):
        with pytest.raises(MCPError, match="calls at once"):
            await client.call_tool("atoms_read", {"atom": "pot::echo"})

    run(world, work)


def test_lists_wait_behind_no_call_and_a_call_that_waits_in_turn_is_canceled_with_its_row(world, tmp_path):
    before = world.rows()

    async def work(client):
        async def call(verb):
            await client.call_tool("atoms_read", {"atom": f"pot::{verb}", "input": {"path": str(tmp_path / "pid")}})

        async with anyio.create_task_group() as group:
            group.start_soon(call, "hold")
            await asyncio.to_thread(wait_for, tmp_path / "pid")
            group.start_soon(call, "echo")
            tools = await client.list_tools()
            group.cancel_scope.cancel()
        return tools

    assert run(world, work, threads=1).tools
    assert sorted(world.rows()[len(before) :]) == [
        ("atom_invoked", "pot::echo", "killed"),
        ("atom_invoked", "pot::hold", "killed"),
    ]


@pytest.mark.parametrize(("write", "said"), [((), "with atoms_read. A"), (("*",), "with atoms_read or atoms_run. A")])
def test_a_client_is_told_only_of_tools_there_are(world, write, said):
    server = AtomServer(world.desk(write=write))
    server.close()

    assert said in server.sdk.instructions


class Raw:
    """A server over two pipes, spoken to in bytes."""

    def __init__(self, world, threads=servers.THREADS, **grant):
        (self._theirs_in, self.write_fd), (self.read_fd, self._theirs_out) = os.pipe(), os.pipe()
        self._server = AtomServer(world.desk(**grant), threads=threads)
        self.thread = threading.Thread(target=self._serve)
        self.ended = threading.Event()

    def _serve(self):
        asyncio.run(self._server.serve(self._theirs_in, self._theirs_out, on_end=self.ended.set))
        self._server.close()
        os.close(self._theirs_out)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.hang_up()
        self.thread.join()
        for fd in (self._theirs_in, self.read_fd):
            os.close(fd)

    def hang_up(self):
        if self.write_fd >= 0:
            os.close(self.write_fd)
        self.write_fd = -1

    def send(self, *messages):
        """Messages, or bytes as they are."""
        for each in messages:
            data = each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n"
            while data:
                data = data[os.write(self.write_fd, data) :]

    def piece(self):
        """What comes next; never waits without end."""
        assert select.select([self.read_fd], [], [], 20)[0]
        piece = os.read(self.read_fd, 1 << 20)
        assert piece
        return piece

    def heard(self, count):
        """So many answers, by id."""
        data = b""
        while data.count(b"\n") < count:
            data += self.piece()
        return {answer.get("id"): answer for answer in map(json.loads, data.splitlines())}


def ask(number, method, **params):
    """One request of the newer generation."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": ENVELOPE}}


def call(number, verb, **given):
    return ask(number, "tools/call", name="atoms_read", arguments={"atom": f"pot::{verb}", "input": given})


@pytest.mark.parametrize(
    ("sent", "known", "code"),
    [
        (b"not json\n", None, -32700),
        (b"\xff\xfe\n", None, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud800"}}\n', None, -32700),
        (b"[" * 100_000 + b"\n", None, -32700),
        (b"[]\n", None, -32600),
        (b'{"id": 7}\n', 7, -32600),
        (b'{"jsonrpc":"2.0","id":8,"method":"ping","params":[1]}\n', 8, -32600),
    ],
)
def test_what_is_no_message_is_one_error_and_the_next_is_served(world, sent, known, code):
    with Raw(world) as raw:
        raw.send(sent)
        assert raw.heard(1)[known]["error"]["code"] == code
        raw.send(b"\n\n", ask(2, "tools/list"))
        assert "tools" in raw.heard(1)[2]["result"]


def test_a_message_that_is_too_long_is_one_error_and_is_not_kept(world, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", 1000)

    with Raw(world) as raw:
        for _ in range(40):
            raw.send(b"x" * 65_536)
        raw.send(b"\n" + b"y" * 1001 + b"\n", ask(2, "tools/list"))
        data = b""
        while data.count(b"\n") < 3:
            data += raw.piece()

    first, second, third = map(json.loads, data.splitlines())
    assert first == second
    assert (first["id"], first["error"]["code"]) == (None, -32600)
    assert third["id"] == 2


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (ask(1, "no/such"), -32601),
        (ask(1, "tools/call", name=7), -32602),
        (ask(1, "tools/call", name="atoms_read", arguments=[]), -32602),
        (ask(1, "resources/read", uri={}), -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "atoms_read"}}, -32602),
    ],
)
def test_what_cannot_be_asked_is_an_error_of_the_protocol(world, message, code):
    with Raw(world) as raw:
        raw.send(message)
        assert raw.heard(1)[1]["error"]["code"] == code


def test_the_older_generation_shakes_hands(world):
    with Raw(world) as raw:
        raw.send(
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        )
        answers = raw.heard(2)

    assert answers[1]["result"]["protocolVersion"] == "2025-06-18"
    assert answers[1]["result"]["serverInfo"]["name"] == "keisei"
    assert "resultType" not in answers[2]["result"]


def test_many_calls_at_once_are_all_answered_by_few_threads(world):
    with Raw(world) as raw:
        sender = threading.Thread(target=raw.send, args=[call(n, "number", n=n) for n in range(120)])
        before = threading.active_count()
        sender.start()
        answers = raw.heard(120)
        sender.join()
        assert threading.active_count() <= before + servers.THREADS + 2

    assert {number: answer["result"]["structuredContent"]["result"] for number, answer in answers.items()} == {
        n: n for n in range(120)
    }


def test_a_client_that_reads_nothing_holds_up_only_itself_until_it_is_gone(world):
    before = world.rows()

    with Raw(world) as raw:
        endless = call(1, "endless")
        endless["params"]["_meta"] = {**ENVELOPE, "progressToken": 1}
        raw.send(endless)
        assert json.loads(raw.piece().splitlines()[0])["method"] == "notifications/progress"
        raw.hang_up()
        assert raw.ended.wait(20)
        raw.thread.join(20)
        assert not raw.thread.is_alive()

    assert world.rows()[len(before) :] == [("atom_invoked", "pot::endless", "killed")]


@pytest.mark.parametrize("then", ["reads", "hangs up"])
def test_of_a_client_that_reads_nothing_no_more_is_taken_than_there_is_room_for(world, monkeypatch, then):
    made, most = [], [0]

    class Weighed(Load):
        def __init__(self, *given):
            super().__init__(*given)
            made.append(self)

    def add(heap, size, count=1):
        plain(heap, size, count)
        most[0] = max(most[0], heap._bytes)

    plain = Heap.add
    monkeypatch.setattr(Heap, "add", add)
    monkeypatch.setattr(servers, "Load", Weighed)
    monkeypatch.setattr(servers, "HELD", 100_000)
    with Raw(world, threads=2) as raw:
        calls = [call(n, "long") for n in range(40)]
        sender = threading.Thread(target=raw.send, args=calls)
        sender.start()
        wait_until(lambda: len(made) > 1 and made[1].going.is_full)
        if then == "reads":
            assert set(raw.heard(40)) == set(range(40))
            sender.join()
        else:
            sender.join()
            raw.hang_up()
            assert raw.ended.wait(20)

    assert most[0] < 100_000 + 2 * 2 * 31_000
    assert made[0].going._count == made[0].going._bytes == 0


def test_a_call_that_waits_for_its_client_to_read_is_canceled_with_its_row(world, monkeypatch):
    monkeypatch.setattr(Load, "room_to_answer", lambda _: asyncio.Event().wait())
    before = world.rows()

    with Raw(world) as raw:
        raw.send(call(1, "echo"), {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        world.more_than(before)

    assert world.rows()[len(before) :] == [("atom_invoked", "pot::echo", "killed")]


def test_a_client_that_vanishes_mid_call_leaves_no_process(world, tmp_path):
    with Raw(world) as raw:
        raw.send(call(1, "hold", path=str(tmp_path / "pid")))
        pid = int(wait_for(tmp_path / "pid"))
        raw.hang_up()
        raw.thread.join(20)
        assert not is_alive(pid)
