"""Claude Code: what makes it ignore its settings."""

import json

import pytest

from keisei.adapters.hook_claude import attempt_settings
from keisei.hooks import claude

HOOK = ["/opt/a b/client", "/run/gate.sock", "token-0123456789", "claude"]


@pytest.mark.parametrize("settings", [attempt_settings(HOOK), attempt_settings(HOOK, shell=False), {}])
def test_what_we_write_has_no_defects_and_is_json(settings):
    assert claude.defects(json.loads(json.dumps(settings))) == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"permissions": {"allow": "x"}}, "`permissions.allow` is not a list"),
        ({"permissions": []}, "`permissions` is not a table"),
        ({"disableAllHooks": "no"}, "`disableAllHooks` is not true or false"),
        ({"hooks": []}, "`hooks` is not a table"),
        ({"hooks": None}, "`hooks` is not a table"),
        ({"hooks": {"Stop": {}}}, "`hooks.Stop`: is not a list"),
        ({"hooks": {"Stop": [3]}}, "`hooks.Stop`: a group has no list `hooks`"),
        ({"hooks": {"Stop": [{"hooks": ["x"]}]}}, "`hooks.Stop`: a hook is not a table"),
        ({"hooks": {"Stop": [{"hooks": [{"type": "x"}]}]}}, "`hooks.Stop`: the hook type `x` is not known"),
        ({"hooks": {"Stop": [{"hooks": [{"type": []}]}]}}, "`hooks.Stop`: the hook type `[]` is not known"),
        ({"hooks": {"Stop": [{"hooks": [{"type": "http"}]}]}}, "`hooks.Stop`: a hook of type `http` has no `url`"),
        ({"hooks": {"Stop": [{"hooks": [], "matcher": 3}]}}, "`hooks.Stop`: a matcher is not a string"),
    ],
)
def test_a_field_for_which_claude_ignores_the_file_is_named(settings, words):
    assert claude.defects(settings) == [words]


def test_a_key_and_an_event_that_nobody_knows_do_no_harm():
    assert claude.defects({"zzz": 1, "hooks": {"Zzz": []}, "env": {"A": "b"}}) == []
