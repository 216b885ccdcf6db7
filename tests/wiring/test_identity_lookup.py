"""Registered names: asked for on a real server, kept, told where they differ, and never believed further than that."""

import json
import stat
import threading
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import msgspec
import pytest

from keisei.records.agent import AgentFile, AgentIdentity, AgentWallet, ExternalName
from keisei.records.error import OperatorError, WorldFault
from keisei.records.project import IdentityLookup
from keisei.rules.identity_lookup import url_fault
from keisei.wiring.identity_lookup import FOLDER, conflict, kept, resolve

ADDRESS = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
NOW = datetime(2026, 5, 1, tzinfo=UTC)
ENDLESS = b" " * 65_536
GOOD = {"agent": {"name": "Trustless Indra", "since": "2026-01-09T08:12:44+01:00"}}


def agent(name=None):
    external = None if name is None else ExternalName(name=name, source="aibtc-api", wallet_ref=ADDRESS)
    identity = AgentIdentity(agent_id="indra", internal_name="indra", display_name="Indra", external_name=external)
    return AgentFile(identity=identity, wallets=(AgentWallet(chain="bitcoin", address=ADDRESS),))


class Answering(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        status, headers, body = self.server.answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if body is not ENDLESS:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        with suppress(OSError):
            while body is ENDLESS:
                self.server.sent += self.wfile.write(body)

    def log_message(self, *_given):
        pass


@pytest.fixture
def server():
    with served() as found:
        yield found


@contextmanager
def served():
    server = HTTPServer(("127.0.0.1", 0), Answering)
    server.asked, server.sent, server.answer = [], 0, (200, {}, json.dumps(GOOD).encode())
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def lookup(server, **more):
    url = f"http://127.0.0.1:{server.server_port}/names/{{address}}"
    return IdentityLookup(url=url, name="/agent/name", registered_at="/agent/since", **more)


def test_a_name_is_asked_for_kept_for_its_owner_alone_and_not_asked_for_again(server, tmp_path):
    found = resolve(lookup(server), agent(), tmp_path, NOW)

    assert (found.name, found.address, found.source, found.asked_at) == ("Trustless Indra", ADDRESS, "local-cache", NOW)
    assert found.registered_at == datetime(2026, 1, 9, 7, 12, 44, tzinfo=UTC)
    assert server.asked == [f"/names/{ADDRESS}"]
    assert resolve(lookup(server), agent(), tmp_path, NOW + timedelta(hours=23)) == found
    assert kept(tmp_path, agent(), lookup(server)) == found
    assert kept(tmp_path, agent(), IdentityLookup(url="https://else.example/{address}")) is None  # another's answer
    assert kept(tmp_path, agent(), None) is None
    assert len(server.asked) == 1
    assert {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / FOLDER).iterdir()} == {0o600}


def test_an_old_answer_a_refresh_and_another_server_ask_again(server, tmp_path):
    resolve(lookup(server), agent(), tmp_path, NOW)
    resolve(lookup(server), agent(), tmp_path, NOW + timedelta(hours=25))
    resolve(lookup(server), agent(), tmp_path, NOW + timedelta(hours=25), refresh=True)
    resolve(lookup(server), agent(), tmp_path, NOW)  # a clock that went back
    other = msgspec.structs.replace(lookup(server), url=lookup(server).url + "?v=2")
    resolve(other, agent(), tmp_path, NOW)

    assert len(server.asked) == 5


def test_a_name_that_differs_is_a_conflict_and_overrides_nothing(server, tmp_path):
    file = agent("Rising Leviathan")

    found = resolve(lookup(server), file, tmp_path, NOW)

    assert "`Rising Leviathan`" in conflict(file, found)
    assert file.identity.external_name.name == "Rising Leviathan"
    assert conflict(agent("Trustless Indra"), found) is conflict(agent(), found) is conflict(file, None) is None


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((404, {}, b"{}"), "it answered 404"),
        ((302, {"Location": "http://127.0.0.1:1/"}, b""), "a redirect is not followed"),
        ((200, {}, b"<html>"), "not JSON"),
        ((200, {}, b"[" * 5000), "not JSON"),
        ((200, {}, b"[]"), "not an object"),
        ((200, {}, b'{"agent": {}}'), "no name"),
        ((200, {}, b'{"agent": {"name": 7}}'), "no name"),
        ((200, {}, b'{"agent": {"name": "a\\u001b[31m"}}'), "no name"),
        ((200, {}, b'{"agent": {"name": "' + b"a" * 300 + b'"}}'), "no name"),
        ((200, {}, b" " * 70_000), "more than 65536 bytes"),
    ],
)
def test_a_bad_answer_is_told_and_what_was_kept_stays(server, tmp_path, answer, says):
    good = resolve(lookup(server), agent(), tmp_path, NOW)
    server.answer = answer

    with pytest.raises(WorldFault, match=says):
        resolve(lookup(server), agent(), tmp_path, NOW, refresh=True)

    assert kept(tmp_path, agent(), lookup(server)) == good
    assert len(server.asked) == 2


def test_an_answer_that_never_ends_is_hung_up_on(server, tmp_path):
    server.answer = (200, {}, ENDLESS)

    with pytest.raises(WorldFault, match="more than 65536 bytes"):
        resolve(lookup(server), agent(), tmp_path, NOW)

    server.shutdown()
    assert server.sent < 64 * 1024 * 1024  # what sockets buffer, and not what comes until the time is up


def test_nobody_is_asked_without_an_address_or_a_lookup(server, tmp_path):
    bare = msgspec.structs.replace(agent(), wallets=())
    for asks, file in ((None, agent()), (lookup(server), bare)):
        with pytest.raises(OperatorError):
            resolve(asks, file, tmp_path, NOW)
    plain = IdentityLookup(url="http://names.example/{address}")
    with pytest.raises(OperatorError, match="plain http"):
        resolve(plain, agent(), tmp_path, NOW)
    assert server.asked == []


def test_a_server_that_is_not_there_is_told(tmp_path):
    with served() as gone:
        asks = lookup(gone)

    with pytest.raises(WorldFault, match="cannot be reached"):
        resolve(asks, agent(), tmp_path, NOW)


@pytest.mark.parametrize("text", ["", "{}", "nonsense", '{"address": "other", "name": "x"}'])
def test_a_kept_answer_that_somebody_spoilt_is_no_answer(server, tmp_path, text):
    resolve(lookup(server), agent(), tmp_path, NOW)
    next((tmp_path / FOLDER).iterdir()).write_text(text)

    assert kept(tmp_path, agent(), lookup(server)) is None
    assert resolve(lookup(server), agent(), tmp_path, NOW).name == "Trustless Indra"


@pytest.mark.parametrize(
    ("url", "fits"),
    [
        ("https://names.example/{address}", True),
        ("http://localhost:1/{address}", True),
        ("http://[::1]:1/{address}", True),
        ("https://names.example/", False),
        ("https://{address}.example/", False),
        ("https://me:secret@names.example/{address}", False),
        ("http://names.example/{address}", False),
        ("http://127.0.0.1.example/{address}", False),
        ("https://[/{address}", False),
        ("https://names.example:many/{address}", False),
    ],
)
def test_only_addresses_that_are_safe_are_asked(url, fits):
    assert (url_fault(url) is None) == fits
