"""Deliveries at the console. What a signature is worth is tested with `keisei sensor serve`, which asks the same."""

import hashlib
import hmac
import json

import pytest

from keisei.records.observation import SeenQuery
from tests.console.house import PROJECT, open_house

HOOKS = """
[webhooks.repository]
kind = "github"
secret-env = "HOUSE_SECRET"
"""


@pytest.fixture
def house(tmp_path, monkeypatch):
    monkeypatch.setenv("HOUSE_SECRET", "a very long secret of ours")
    with open_house(tmp_path, project=PROJECT + HOOKS, visitor=None) as opened:
        yield opened


def _delivery(body, delivery="d-1", key="a very long secret of ours"):
    sign = hmac.new(key.encode(), body, hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/json",
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": delivery,
        "X-Hub-Signature-256": f"sha256={sign}",
    }


def _sent(house, headers, body, name="repository"):
    return house.client.post(f"/hooks/{name}", content=body, headers=headers)


def test_a_signed_delivery_becomes_one_event_however_often_it_comes(house):
    body = json.dumps({"ref": "main"}).encode()
    first, again = (_sent(house, _delivery(body), body) for _ in range(2))
    assert (first.status_code, first.json()["status"]) == (201, "recorded"), first.text
    assert (again.status_code, again.json()["status"]) == (200, "deduped")
    assert len(house.store.seen(SeenQuery())) == 1


def test_a_wrong_signature_changes_nothing(house):
    body = b"{}"
    answer = _sent(house, _delivery(body, key="another secret altogether"), body)
    assert answer.status_code == 401
    assert house.store.seen(SeenQuery()) == []


def test_an_unknown_name_is_not_there(house):
    assert _sent(house, _delivery(b"{}"), b"{}", name="nobody").status_code == 404


def test_a_console_starts_without_a_secret_and_takes_it_when_it_is_there(tmp_path, monkeypatch):
    monkeypatch.delenv("HOUSE_SECRET", raising=False)
    with open_house(tmp_path, project=PROJECT + HOOKS, visitor=None) as house:
        body = b"{}"
        answer = _sent(house, _delivery(body), body)
        assert (answer.status_code, answer.json()) == (503, {"error": "this webhook is not set up"})
        monkeypatch.setenv("HOUSE_SECRET", "a very long secret of ours")
        assert _sent(house, _delivery(body), body).status_code == 201


def test_a_read_only_console_takes_no_deliveries(tmp_path, monkeypatch):
    monkeypatch.setenv("HOUSE_SECRET", "a very long secret of ours")
    with open_house(tmp_path, project=PROJECT + HOOKS, visitor=None, read_only=True) as house:
        assert _sent(house, _delivery(b"{}"), b"{}").status_code == 503
        assert house.store.seen(SeenQuery()) == []
