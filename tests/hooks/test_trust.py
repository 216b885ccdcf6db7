"""Trust: config.toml with other digests in it, and every comment in its place."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.hooks.trust import config_of, retold, state_of
from keisei.records.error import AuthorError

KEYS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
CONFIGS = [
    "",
    'model = "x" # mine\n',
    'model = "x"',
    '# top\n[projects."/a"]\ntrust_level = "trusted"\n\n\n[tui] # end\n',
    "[hooks]\n# none\n",
    '[[hooks.Stop]]\nhooks = [{ type = "command", command = "x" }]\n',
    '[hooks.state."k:stop:0:0"] # keep\ntrusted_hash = "sha256:1"\n\n[tui]\na = 1\n',
    '[hooks.state]\n"k:stop:0:0" = { trusted_hash = "sha256:1" } # keep\n',
    'hooks.state."k:stop:0:0".trusted_hash = "sha256:1"\nmodel = "x"\n',
    'model = "x"\r\n[tui]\r\na = 1\r\n',
    'hooks = { state = { "k:stop:0:0" = { trusted_hash = "sha256:1" } } } # all on one line\n',
]


def changed(text, drop=(), add=None, moves=None):
    return retold(text, "config.toml", drop=drop, add=add or {}, moves=moves or {})


@pytest.mark.parametrize("text", CONFIGS)
@given(add=st.dictionaries(KEYS, KEYS, min_size=1, max_size=3))
def test_trust_is_added_and_nothing_else_changes(text, add):
    new = changed(text, add=add)

    before, after = tomllib.loads(text), tomllib.loads(new)
    state = after["hooks"]["state"]
    assert {key: state[key]["trusted_hash"] for key in add} == add
    assert {key: each for key, each in state.items() if key not in add} == state_of(before)
    assert {key: after[key] for key in after if key != "hooks"} == {k: v for k, v in before.items() if k != "hooks"}
    assert [line for line in text.splitlines() if "#" in line and "{" not in line and line not in new] == []


@pytest.mark.parametrize("text", CONFIGS)
@given(add=st.dictionaries(KEYS, KEYS, min_size=1, max_size=3))
def test_trust_that_is_dropped_again_leaves_the_same_settings(text, add):
    new = changed(changed(text, add=add), drop=list(add))

    assert state_of(config_of(new, "")) == state_of(config_of(text, ""))
    assert config_of(new, "") | {"hooks": {}} == config_of(text, "") | {"hooks": {}}


@pytest.mark.parametrize("text", CONFIGS)
def test_adding_what_is_there_changes_nothing(text):
    new = changed(text, add={"a": "1"})

    assert changed(new, add={"a": "1"}) == new


def test_a_digest_is_replaced_where_it_stands_and_its_neighbours_stay():
    text = '[hooks.state."a"]\nenabled = false # by hand\ntrusted_hash = "old"\n'

    assert changed(text, add={"a": "new"}) == text.replace("old", "new")


def test_the_trust_of_a_hook_that_moves_goes_with_it():
    text = '[hooks.state."f:stop:1:0"]\ntrusted_hash = "theirs"\n\n[hooks.state."f:stop:0:0"]\ntrusted_hash = "ours"\n'

    new = changed(text, drop=["f:stop:0:0"], moves={"f:stop:1:0": "f:stop:0:0"})

    assert state_of(tomllib.loads(new)) == {"f:stop:0:0": {"trusted_hash": "theirs"}}


@pytest.mark.parametrize("text", ["hooks = 3\n", "hooks.state = []\n", "[hooks.state]\na = 1\n", "= 1", "a = 1\na = 2"])
def test_a_configuration_that_codex_would_not_take_is_not_touched(text):
    with pytest.raises(AuthorError):
        changed(text, add={"a": "1"})
