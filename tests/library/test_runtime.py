"""runtime.json of the original: what it extends, where its paths point, and both of its dialects."""

import json

import msgspec
import pytest

from keisei.library.runtime import load_runtime
from keisei.records.error import AuthorError
from tests.cli.shell import Shell

PROFILE = {
    "profile_id": "worker",
    "style": "claude-like",
    "role": "edit-local",
    "default_adapter_id": "claude",
    "prompt_parts": ["Work."],
    "skill_ids": ["code-review"],
    "context_policy": {"max_prompt_chars": 9000, "include_recent_memory": True},
    "result_policy": {"allow_follow_up_tasks": True, "allow_external_messages": False},
    "integration_policy": {"aibtc": "none"},
}
OLD_PROFILE = {
    "profile_id": "worker",
    "style": "claude-like",
    "role": "edit-local",
    "default_adapter": "claude",
    "system_prompt_parts": ["Work."],
    "skills": ["code-review"],
    "tool_policy": {"allow": ["Read"]},
    "context_policy": {"max_prompt_chars": 9000, "include_recent_task_memory": True},
    "result_schema": {
        "primary_output": "report",
        "allow_follow_up_tasks": True,
        "allow_external_messages": False,
    },
    "integration_policies": {"aibtc": "none"},
}
OLD = {
    "claude": {
        "mode": "agent-cli",
        "driver": "claude-code",
        "command": "bin/claude",
        "timeoutMs": 60000,
        "workingDir": "work",
        "envFile": "secrets.env",
        "settingsFile": "settings.json",
        "extraArgs": ["--verbose"],
        "autonomy": "trusted-vm",
    },
    "codex": {
        "mode": "agent-cli",
        "driver": "codex",
        "command": "codex",
        "timeoutMs": 60000,
        "model": "gpt-5",
        "providerId": "relay",
        "providerName": "Relay",
        "providerBaseUrl": "http://127.0.0.1:1",
        "providerWireApi": "responses",
        "providerRequiresOpenAIAuth": False,
    },
    "model": {"mode": "ollama-generate", "endpoint": "http://127.0.0.1:11434", "model": "m", "timeoutMs": 1000},
    "shell": {"mode": "script", "command": "./run.sh", "timeoutMs": 1000, "env": {"A": "b"}},
}
NEW = {
    "claude": {
        "kind": "claude-code",
        "command": "bin/claude",
        "timeout_ms": 60000,
        "working_dir": "work",
        "env_file": "secrets.env",
        "extra_args": ["--verbose"],
        "autonomy": {"profile": "trusted-vm", "required_settings_files": ["settings.json"]},
    },
    "codex": {
        "kind": "codex",
        "command": "codex",
        "timeout_ms": 60000,
        "model": "gpt-5",
        "provider": {
            "id": "relay",
            "name": "Relay",
            "base_url": "http://127.0.0.1:1",
            "wire_api": "responses",
            "requires_openai_auth": False,
        },
    },
    "model": {"kind": "ollama-generate", "endpoint": "http://127.0.0.1:11434", "model": "m", "timeout_ms": 1000},
    "shell": {"kind": "script", "command": "./run.sh", "timeout_ms": 1000, "env": {"A": "b"}},
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(path, data):
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(data, indent=1))
        return target

    return write


def told(path):
    """The problems of a configuration that is refused: (code, path, message)."""
    with pytest.raises(AuthorError) as caught:
        load_runtime(path)
    return [(each.code, each.path, each.message) for each in caught.value.problems]


# Extends.


def test_a_later_value_replaces_an_earlier_one_and_the_rest_is_inherited(write):
    write("base.json", {"runtimeName": "base", "maxAttempts": 3, "retryBackoffSeconds": 60})

    config = load_runtime(write("child.json", {"extends": "base.json", "runtimeName": "child"}))

    assert (config.file.runtime_name, config.file.max_attempts, config.file.retry_backoff_seconds) == ("child", 3, 60)
    assert config.file.extends is None
    assert config.warnings == ()


@pytest.mark.parametrize("key", ["stateDir", "logDir", "artifactDir", "dbPath", "lockPath"])
def test_a_path_stays_anchored_to_the_file_that_declares_it(write, tmp_path, key):
    write("base/runtime.json", {key: "state/x"})
    child = write("deploy/agent/runtime.json", {"extends": "../../base/runtime.json"})
    own = write("deploy/other/runtime.json", {"extends": "../../base/runtime.json", key: "./mine/../state"})

    inherited = msgspec.to_builtins(load_runtime(child).file)[key]
    declared = msgspec.to_builtins(load_runtime(own).file)[key]

    assert inherited == str(tmp_path / "base/state/x")
    assert declared == str(tmp_path / "deploy/other/state")


def test_an_absolute_path_is_kept(write):
    config = load_runtime(write("runtime.json", {"stateDir": "/srv/state"}))

    assert config.file.state_dir == "/srv/state"


@pytest.mark.parametrize("dialect", [OLD, NEW], ids=["old", "new"])
def test_the_paths_of_an_adapter_stay_anchored_to_its_file(write, tmp_path, dialect):
    write("base/runtime.json", {"adapters": dialect})

    config = load_runtime(write("deploy/runtime.json", {"extends": "../base/runtime.json"}))

    claude, shell = config.adapters["claude"], config.adapters["shell"]
    assert claude.command == str(tmp_path / "base/bin/claude")
    assert claude.working_dir == str(tmp_path / "base/work")
    assert claude.env_file == str(tmp_path / "base/secrets.env")
    assert claude.autonomy.required_settings_files == (str(tmp_path / "base/settings.json"),)
    assert shell.command == str(tmp_path / "base/run.sh")


def test_a_command_without_a_slash_is_looked_up_on_path(write):
    config = load_runtime(write("runtime.json", {"adapters": NEW}))

    assert config.adapters["codex"].command == "codex"


def test_adapters_merge_by_id_and_an_entry_replaces_the_parents_whole(write, tmp_path):
    write("base/runtime.json", {"adapters": {"claude": NEW["claude"], "shell": NEW["shell"]}})
    child = {"claude": {"kind": "claude-code", "command": "claude", "timeout_ms": 2000}, "codex": NEW["codex"]}

    config = load_runtime(write("child.json", {"extends": "base/runtime.json", "adapters": child}))

    assert sorted(config.adapters) == ["claude", "codex", "shell"]
    claude = config.adapters["claude"]
    assert (claude.command, claude.timeout_ms) == ("claude", 2000)
    assert (claude.working_dir, claude.env_file, claude.autonomy, claude.extra_args) == (None, None, None, ())
    assert config.adapters["shell"].command == str(tmp_path / "base/run.sh")


def test_profiles_merge_by_id_and_stay_anchored(write, tmp_path):
    write("base/worker.json", PROFILE)
    write("base/runtime.json", {"profiles": {"worker": "worker.json"}, "adapters": NEW})
    write("deploy/critic.json", PROFILE | {"profile_id": "critic"})

    config = load_runtime(
        write("deploy/runtime.json", {"extends": "../base/runtime.json", "profiles": {"critic": "critic.json"}})
    )

    assert sorted(config.profiles) == ["critic", "worker"]
    assert config.file.profiles == {
        "worker": str(tmp_path / "base/worker.json"),
        "critic": str(tmp_path / "deploy/critic.json"),
    }


def test_a_profile_that_is_replaced_is_not_read(write):
    write("base.json", {"profiles": {"worker": "gone.json"}})
    write("worker.json", PROFILE)

    config = load_runtime(
        write("child.json", {"extends": "base.json", "profiles": {"worker": "worker.json"}, "adapters": NEW})
    )

    assert config.profiles["worker"].role == "edit-local"


def test_an_adapter_that_is_replaced_is_not_judged(write):
    write("base.json", {"adapters": {"shell": {"mode": "nonsense"}}})

    config = load_runtime(write("child.json", {"extends": "base.json", "adapters": {"shell": NEW["shell"]}}))

    assert config.adapters["shell"].timeout_ms == 1000


@pytest.mark.parametrize(
    ("files", "path", "message"),
    [
        pytest.param({"a.json": "a.json"}, "a.json", "`extends` goes round in a circle: a.json -> a.json", id="itself"),
        pytest.param(
            {"a.json": "b.json", "b.json": "./a.json"},
            "b.json",
            "`extends` goes round in a circle: a.json -> b.json -> a.json",
            id="two",
        ),
        pytest.param(
            {"a.json": "sub/b.json", "sub/b.json": "c.json", "sub/c.json": "../sub/b.json"},
            "sub/c.json",
            "`extends` goes round in a circle: sub/b.json -> sub/c.json -> sub/b.json",
            id="a-circle-further-up",
        ),
    ],
)
def test_a_circle_is_refused_and_drawn(write, tmp_path, files, path, message):
    for name, extends in files.items():
        write(name, {"extends": extends})

    assert told(tmp_path / "a.json") == [("cycle", path, message)]


def test_a_circle_through_a_symlink_is_seen(write, tmp_path):
    write("a.json", {"extends": "link.json"})
    (tmp_path / "link.json").symlink_to("a.json")

    assert [code for code, _, _ in told(tmp_path / "a.json")] == ["cycle"]


def test_a_long_chain_is_not_called_a_circle(write, tmp_path):
    for number in range(40):
        write(f"{number}.json", {"extends": f"{number + 1}.json"} if number < 39 else {})

    try:
        load_runtime(tmp_path / "0.json")
    except AuthorError as error:
        assert [problem.code for problem in error.problems] == ["too-long-chain"]  # noqa: PT017 - it may be read, too


def test_a_parent_that_is_not_there_is_told_where_it_is_named(write):
    path = write("a.json", {"extends": "../gone.json"})

    assert told(path) == [("missing-file", "a.json", "`extends` names `../gone.json`, which cannot be read")]


def test_a_broken_parent_is_told_with_the_parents_own_place(write):
    write("base.json", {"maxAttempts": 0, "runtimNname": "x"})

    assert told(write("a.json", {"extends": "base.json"})) == [
        ("wrong-value", "base.json", "`maxAttempts` must be at least 1, not `0`"),
        ("unknown-key", "base.json", "unknown key `runtimNname`"),
    ]


# Dialects.


def test_both_dialects_give_the_same_adapters(write):
    old = load_runtime(write("old.json", {"adapters": OLD}))
    new = load_runtime(write("new.json", {"adapters": NEW}))

    assert old.adapters == new.adapters


def test_both_dialects_give_the_same_profile(write):
    write("worker.json", PROFILE)
    write("older.json", OLD_PROFILE)

    new = load_runtime(write("new.json", {"profiles": {"worker": "worker.json"}, "adapters": NEW}))
    old = load_runtime(write("old.json", {"profiles": {"worker": "older.json"}, "adapters": NEW}))

    assert old.profiles == new.profiles
    assert new.warnings == ()
    assert [(each.code, each.path, each.severity) for each in old.warnings] == [("dialect", "older.json", "warning")]


def test_our_dialect_is_read_without_a_word(write):
    assert load_runtime(write("new.json", {"adapters": NEW})).warnings == ()


def test_an_older_dialect_is_told_once_per_file(write):
    write("older.json", OLD_PROFILE)
    write(
        "base.json",
        {"adapters": {"claude": OLD["claude"], "codex": OLD["codex"]}, "profiles": {"worker": "older.json"}},
    )

    config = load_runtime(
        write("child.json", {"extends": "base.json", "adapters": {"model": OLD["model"], "shell": OLD["shell"]}})
    )

    paths = [warning.path for warning in config.warnings if warning.code == "dialect"]
    assert sorted(paths) == ["base.json", "child.json", "older.json"]


def test_the_warning_names_every_old_spelling_and_its_new_one(write):
    (warning,) = load_runtime(write("old.json", {"adapters": {"shell": OLD["shell"]}})).warnings

    assert warning.message == (
        "written in an older dialect: `timeoutMs` is now `timeout_ms`, `mode` and `driver` are now `kind`"
    )


def test_a_substrate_is_read_and_said_to_be_without_effect(write):
    (warning,) = load_runtime(write("a.json", {"substrate": {"enabled": True, "host": "db"}})).warnings

    assert (warning.code, warning.message) == (
        "unused",
        "`substrate` has no effect: many runners share one PostgreSQL instead",
    )


# What is refused.


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(
            {"defaultAdapter": "nobody"},
            [("dangling", "a.json", "defaultAdapter `nobody` is not in `adapters`")],
            id="default-adapter",
        ),
        pytest.param(
            {"defaultProfile": "nobody"},
            [("dangling", "a.json", "defaultProfile `nobody` is not in `profiles`")],
            id="default-profile",
        ),
        pytest.param(
            {"profiles": {"worker": "gone.json"}},
            [("missing-file", "a.json", "profile file `gone.json` is missing")],
            id="profile-file",
        ),
        pytest.param(
            {"adapters": {"shell": NEW["shell"] | {"timeout_ms": 10}}},
            [("wrong-value", "a.json", "`timeout_ms` must be at least 1000, not `10`")],
            id="short-timeout",
        ),
        pytest.param(
            {"adapters": {"shell": {"mode": "script", "kind": "script", "command": "x", "timeout_ms": 1000}}},
            [("unknown-key", "a.json", "unknown key `mode`")],
            id="both-dialects-at-once",
        ),
        pytest.param(
            {"adapters": {"claude": NEW["claude"] | {"extra_args": ["--dangerously-skip-permissions"]}}},
            [
                (
                    "bypass-flag",
                    "a.json",
                    "`--dangerously-skip-permissions` gives up a guard and may not stand in extra_args",
                )
            ],
            id="bypass-flag",
        ),
        pytest.param(
            {"adapters": {"codex": {key: value for key, value in OLD["codex"].items() if key != "model"}}},
            [("missing-key", "a.json", "a provider with a base_url needs a `model`")],
            id="provider-without-model",
        ),
        pytest.param(
            {"adapters": {"shell": NEW["shell"] | {"adapter_id": "other"}}},
            [("bad-name", "a.json", "adapter_id `other` stands under the name `shell`")],
            id="another-id",
        ),
    ],
)
def test_what_cannot_be_run_is_refused(write, data, expected):
    assert told(write("a.json", data)) == expected


def test_all_mistakes_of_all_files_are_told_at_once(write):
    write("worker.json", PROFILE | {"profile_id": "other", "stile": "x"})
    data = {
        "defaultAdapter": "nobody",
        "profiles": {"worker": "worker.json", "gone": "gone.json"},
        "adapters": {"shell": {"kind": "script"}, "model": {"kind": "ollama"}},
    }

    assert sorted({code for code, _, _ in told(write("a.json", data))}) == [
        "dangling",
        "missing-file",
        "missing-key",
        "unknown-key",
        "wrong-value",
    ]


def test_an_old_key_is_pointed_at_where_it_stands(write):
    path = write("a.json", {"adapters": {"shell": OLD["shell"] | {"timeoutMs": "soon"}}})

    with pytest.raises(AuthorError) as caught:
        load_runtime(path)

    (problem,) = caught.value.problems
    assert problem.message == "`timeout_ms` must be an integer, not a string"
    assert '"timeoutMs": "soon"' in path.read_text().splitlines()[problem.line - 1]


def test_lint_reads_a_runtime_file_that_is_named(tmp_path, monkeypatch, capsysbinary, write):
    shell = Shell(tmp_path, monkeypatch, capsysbinary)
    good, bad = write("good.json", {"adapters": NEW}), write("bad.json", {"adapters": {"a": {}}})

    assert shell.run("lint", "all", good).code == 0
    done = shell.run("lint", "all", bad)
    assert done.code == 1
    assert "error[missing-key]: missing key `kind`" in done.out
