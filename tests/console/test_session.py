"""Sessions, as values."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.console.session import (
    LENGTH_S,
    cookie_name,
    cookies_of,
    csrf_of,
    forged,
    has_left,
    leave,
    new_session,
    opened,
    right_csrf,
    set_cookie,
    signed,
)
from keisei.console.visitor import Visitor

KEY, NOW = b"a key", 1_800_000_000.0


@pytest.mark.parametrize("role", ["operator", "viewer"])
def test_a_session_lasts_its_time_and_no_longer(role):
    session = new_session(role, NOW)
    text = signed(session, KEY)

    assert opened(text, KEY, NOW) == session
    assert opened(text, KEY, NOW + LENGTH_S - 1) == session
    assert opened(text, KEY, NOW + LENGTH_S) is None
    assert not forged(text, KEY)  # over, and once ours


@given(st.data())
def test_no_changed_cookie_is_a_session(data):
    text = signed(new_session("viewer", NOW), KEY)
    place = data.draw(st.integers(0, len(text) - 1))
    char = data.draw(st.sampled_from(string.printable).filter(lambda each: each != text[place]))

    for changed in (text[:place] + char + text[place + 1 :], text[:place] + char + text[place:], text[:place]):
        assert opened(changed, KEY, NOW) is None
        assert forged(changed, KEY)


@given(st.text())
def test_no_text_is_a_session(text):
    assert opened(text, KEY, NOW) is None
    assert forged(text, KEY)


def test_another_key_knows_nobody():
    session = new_session("operator", NOW)

    assert opened(signed(session, b"another"), KEY, NOW) is None
    assert csrf_of(session, KEY) != csrf_of(session, b"another")
    assert csrf_of(session, KEY) not in signed(session, KEY)
    assert csrf_of(session, KEY) != csrf_of(new_session("operator", NOW), KEY)


@pytest.mark.parametrize(
    ("told", "holds"), [("right", True), ("righ", False), ("", False), ("ü", False), ("\ud800", False)]
)
def test_a_form_s_token_is_the_visitor_s(told, holds):
    visitor = Visitor(role="operator", actor="x", csrf="right", session="s")

    assert right_csrf(visitor, told) is holds


def test_a_visitor_without_a_token_has_no_form_but_a_program_needs_none():
    assert not right_csrf(Visitor(role="operator", actor="x", csrf="", session="s"), "")
    assert right_csrf(Visitor(role="operator", actor="x", csrf="", session=None), "")


def test_a_cookie_is_one_project_s(tmp_path):
    name = cookie_name(tmp_path / "a", is_tls=False)

    assert name != cookie_name(tmp_path / "b", is_tls=False)
    assert cookie_name(tmp_path / "a", is_tls=True) == f"__Host-{name}"
    assert set_cookie(name, "x", is_tls=True) == f"{name}=x; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure"
    assert set_cookie(name, "", is_tls=False, seconds=0) == f"{name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"
    assert cookies_of(f"a=1; {name}=x;{name}=y; x{name}=z; {name}", name) == ["x", "y", ""]


def test_who_has_left_stays_away_and_is_forgotten_when_it_cannot_matter(tmp_path):
    first, second = new_session("viewer", NOW), new_session("viewer", NOW)

    leave(tmp_path, first.id, NOW)
    leave(tmp_path, first.id, NOW)
    assert (has_left(tmp_path, first.id), has_left(tmp_path, second.id)) == (True, False)
    leave(tmp_path, second.id, NOW + LENGTH_S)
    assert has_left(tmp_path, first.id)
    leave(tmp_path, second.id, NOW + 3 * LENGTH_S)
    assert not has_left(tmp_path, first.id)
