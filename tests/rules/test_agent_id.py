"""Agent ids: the originals' checks, in their order and with their words."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.rules.agent_id import automatic, fault

QUICK = settings(max_examples=150, deadline=None, database=None)
ROLES = st.text("abz09-", max_size=63).map(lambda rest: f"r{rest}")
DEVICES = ["CON", "PRN", "AUX", "NUL", *(f"{port}{number}" for port in ("COM", "LPT") for number in range(1, 10))]


@pytest.mark.parametrize(
    "agent_id",
    ["a", "7", "ag-edit-local-19a0-beef", "A.b_c-d", "x" * 64, "com0", "com10", "lpt0", "console", "nul-1", "a.con"],
)
def test_an_ordinary_id_has_no_fault(agent_id):
    assert fault(agent_id) is None


@pytest.mark.parametrize(
    ("agent_id", "reason"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param("x" * 65, "is longer than 64 bytes", id="65-letters"),
        pytest.param("é" * 33, "is longer than 64 bytes", id="66-bytes-in-33-letters"),
        pytest.param("café", "is not ASCII", id="accent"),
        pytest.param("a..b", "contains '..'", id="dots"),
        pytest.param("a/b", "contains '/'", id="slash"),
        pytest.param("a\\b", "contains '\\'", id="backslash"),
        pytest.param("a\0b", "contains NUL", id="nul"),
        pytest.param("a:b", "contains ':'", id="colon"),
        pytest.param("a b", "contains white space", id="space"),
        pytest.param("a\n", "contains white space", id="newline-at-the-end"),
        pytest.param("-a", "must start with a letter or digit", id="leading-dash"),
        pytest.param(".a", "must start with a letter or digit", id="leading-dot"),
        pytest.param("_a", "must start with a letter or digit", id="leading-underscore"),
        pytest.param("a+b", "may contain only letters, digits, '_', '.' and '-'", id="plus"),
        pytest.param("a$(x)", "may contain only letters, digits, '_', '.' and '-'", id="shell"),
    ],
)
def test_an_id_that_cannot_be_used_is_told_why(agent_id, reason):
    assert fault(agent_id) == reason


@pytest.mark.parametrize("device", DEVICES)
def test_a_windows_device_is_refused_in_any_case_and_with_any_ending(device):
    reasons = {fault(name) for name in (device, device.lower(), device.title(), f"{device}.txt", f"{device}.a.b")}

    assert reasons == {"is a Windows-reserved name"}


@pytest.mark.parametrize(
    ("agent_id", "reason"),
    [
        pytest.param("é/" * 40, "is longer than 64 bytes", id="length-before-ascii"),
        pytest.param("é/..", "is not ASCII", id="ascii-before-dots"),
        pytest.param("../a", "contains '..'", id="dots-before-slash"),
        pytest.param("a/\\", "contains '/'", id="slash-before-backslash"),
        pytest.param("\\\0", "contains '\\'", id="backslash-before-nul"),
        pytest.param("\0:", "contains NUL", id="nul-before-colon"),
        pytest.param(": ", "contains ':'", id="colon-before-space"),
        pytest.param("- a", "contains white space", id="space-before-first-letter"),
        pytest.param("-+", "must start with a letter or digit", id="first-letter-before-alphabet"),
        pytest.param("con.+", "may contain only letters, digits, '_', '.' and '-'", id="alphabet-before-device"),
    ],
)
def test_the_first_check_that_fails_is_the_one_that_is_told(agent_id, reason):
    assert fault(agent_id) == reason


def test_an_automatic_id_has_the_originals_form():
    assert automatic("edit-local", 0x19A8B7C6D5E, 0xBEEF) == "ag-edit-local-19a8b7c6d5e-beef"


def test_an_automatic_id_pads_its_suffix_and_takes_only_its_low_bits():
    assert automatic("x", 1, 0x7) == "ag-x-1-0007"
    assert automatic("x", 1, 0x12345_BEEF) == "ag-x-1-beef"


def test_a_long_role_is_cut_and_the_suffix_is_kept():
    made = automatic("r" * 64, 0x19A8B7C6D5E, 0xBEEF)

    assert len(made) == 64
    assert made.endswith("-19a8b7c6d5e-beef")


@QUICK
@given(ROLES, st.integers(0, 2**63), st.integers(0, 2**48))
def test_an_automatic_id_is_always_usable(role, unix_ms, entropy):
    made = automatic(role, unix_ms, entropy)

    assert fault(made) is None
    assert len(made) <= 64
