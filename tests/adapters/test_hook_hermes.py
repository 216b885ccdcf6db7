"""Hermes Agent's hook: the plugin asks the client, and whatever goes wrong with it is a refusal."""

import json
import shlex
import sys

import pytest

from keisei.adapters.hook_hermes import CONFIG, MANIFEST, NAME, PLUGIN, attempt_files, is_gated

CALL = {"tool_name": "terminal", "args": {"command": "ls"}, "session_id": "s", "tool_call_id": "call_1", "task_id": ""}


class Context:
    """What Hermes gives a plugin to register with."""

    def __init__(self):
        self.hooks = {}

    def register_hook(self, name, hook):
        self.hooks[name] = hook


def judge(*hook):
    """The plugin's hook as Hermes has it after loading the file."""
    loaded, context = {}, Context()
    exec(compile(attempt_files(hook)[PLUGIN], PLUGIN, "exec"), loaded)  # noqa: S102 - as Hermes does
    loaded["register"](context)
    return context.hooks["pre_tool_call"]


def shell(body):
    return ("/bin/sh", "-c", body)


def test_a_silent_end_with_zero_lets_the_call_run():
    assert judge(*shell("cat >/dev/null"))(**CALL) is None


def test_the_client_is_told_the_call(tmp_path):
    judge(*shell(f"cat > {shlex.quote(str(tmp_path / 'told'))}"))(**CALL)

    told = json.loads((tmp_path / "told").read_text())
    assert (told["hook_event_name"], told["tool_name"], told["tool_input"]) == (
        "pre_tool_call",
        "terminal",
        {"command": "ls"},
    )
    assert told["extra"] == {"tool_call_id": "call_1"}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo 'policy::no: it says no' >&2; exit 2", "policy::no: it says no"),
        ('echo \'{"decision":"block"}\'', "the hook ended with 0"),
        ("exit 1", "the hook ended with 1"),
        ("kill -9 $$", "the hook ended with -9"),
    ],
)
def test_any_other_end_is_a_refusal_with_a_reason(body, words):
    assert judge(*shell(body))(**CALL) == {"action": "block", "message": words}


@pytest.mark.parametrize("hook", [("/nowhere/client",), ("/",)], ids=["missing", "a folder"])
def test_a_client_that_cannot_be_started_is_a_refusal(hook):
    assert "so the call is refused" in judge(*hook)(**CALL)["message"]


def test_a_call_that_cannot_be_told_is_a_refusal():
    assert "TypeError" in judge(*shell("true"))(**{**CALL, "args": {"x": object()}})["message"]


def test_half_a_surrogate_pair_is_told_and_not_passed_over(tmp_path):
    """A shell hook of Hermes would not even be started."""
    judge(*shell(f"cat > {shlex.quote(str(tmp_path / 'told'))}"))(**{**CALL, "args": {"x": "\ud800"}})

    assert b"\\ud800" in (tmp_path / "told").read_bytes()


@pytest.mark.parametrize("word", ["a b", 'quo"te', "back\\slash", "${HOME}", "new\nline", "größe", "'''"])
def test_a_word_of_the_client_is_what_it_was(word, tmp_path):
    path = tmp_path / "told"
    write = "import sys; open(sys.argv[1], 'w', encoding='utf-8').write(sys.argv[2])"

    assert judge(sys.executable, "-I", "-c", write, str(path), word)(**CALL) is None

    assert path.read_text(encoding="utf-8") == word


def test_the_configuration_loads_the_plugin_and_names_the_relay_without_its_token():
    files = attempt_files(["gate"], "some/model", "http://127.0.0.1:5")

    config = json.loads(files[CONFIG])
    assert config["plugins"] == {"enabled": [NAME]}
    assert config["model"]["base_url"] == "http://127.0.0.1:5/v1"
    assert config["model"]["default"] == "some/model"
    assert config["model"]["api_key"] == "${OPENAI_API_KEY}"
    assert config["sessions"] == {"write_json_snapshots": True}
    assert json.loads(files[MANIFEST])["name"] == NAME
    assert is_gated(files)


def test_without_a_relay_hermes_finds_its_own_way():
    assert "model" not in json.loads(attempt_files(["gate"])[CONFIG])
    assert json.loads(attempt_files(["gate"], "m")[CONFIG])["model"] == {"default": "m"}
