"""JSON: every command that reads can say it for machines, and says nothing else on stdout."""

import json

import pytest

NOUNS = {
    "capability": "policy::no-git-ops",
    "role": "edit-local",
    "profile": "critic",
    "skill": "code-review",
    "workflow": "goal-loop",
    "task-type": "script",
    "agent": "indra",
}
AGENT = """\
[identity]
agent_id = "indra"
internal_name = "indra"
display_name = "Indra"

[identity.external_name]
name = "Trustless Indra"
registered_at = 2026-04-22T15:30:00Z
source = "local-cache"
wallet_ref = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"

[[wallets]]
chain = "bitcoin"
address = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
"""
COMMANDS = [
    *(([noun, "list"], list) for noun in NOUNS),
    (["workflow", "instances"], list),
    (["workflow", "show", "goal-loop", "--graph"], dict),
    *(([noun, "show", name], dict) for noun, name in NOUNS.items()),
    *(([noun, "show", name, "--origin"], dict) for noun, name in NOUNS.items()),
    (["role", "matrix"], dict),
    (["sage", "search", "task"], dict),
    (["sage", "search"], dict),
    (["sage", "rank-atoms"], list),
    (["sage", "related", "kei-task::create"], list),
    (["sage", "graph", "kei-task::create"], dict),
    (["sage", "facet-query"], list),
    (["sage", "lineage", "kei-task::create"], list),
    (["sage", "author"], list),
    (["sage", "index"], dict),
    (["lint"], dict),
    (["lint", "roles", "--strict"], dict),
    (["schema", "list"], list),
    (["schema", "show", "task.intent"], dict),
    (["schema", "show", "agent-runtime/adapter.config/v1"], dict),
    (["schema", "diff", "task.intent", "task.record"], dict),
]


@pytest.fixture
def project(shell):
    folder = shell.folder_of("project/.keisei/agents/indra")
    (folder / "agent.toml").write_text(AGENT)
    (shell.folder / "project/keisei.toml").write_text('[project]\nname = "shop"\n')
    shell.cd(shell.folder / "project")
    return shell.folder / "project"


@pytest.mark.parametrize(("words", "kind"), COMMANDS, ids=[" ".join(words) for words, _ in COMMANDS])
def test_a_reading_command_says_one_json_value_and_nothing_else(shell, project, words, kind):
    done = shell.run(*words, "--json")

    assert isinstance(json.loads(done.out), kind)
    assert done.err == ""
    assert project.is_dir()


@pytest.mark.parametrize("noun", NOUNS)
def test_list_and_show_tell_the_same_record(shell, project, noun):
    rows = {row["name"]: row for row in json.loads(shell.run(noun, "list", "--json").out)}

    told = json.loads(shell.run(noun, "show", NOUNS[noun], "--json").out)

    assert rows[NOUNS[noun]]["record"] == told["record"]
    assert told["name"] == NOUNS[noun]
    assert told["origin"][0] == {
        "layer": rows[NOUNS[noun]]["layer"],
        "path": told["origin"][0]["path"],
        "wins": True,
    }
    assert project.is_dir()


def test_a_warning_never_stands_on_stdout(shell, project):
    roles = shell.folder_of("project/.keisei/roles")
    (roles / "mine.toml").write_text(
        '[role]\nname = "mine"\ndescription = "x"\n[capabilities]\nrequired = ["tools::read-only"]\n'
    )

    done = shell.run("role", "show", "mine", "--json")

    assert json.loads(done.out)["capabilities"] == ["tools::deny-tools"]
    assert "warning" in done.err
    assert project.is_dir()


def test_lint_tells_its_problems_as_data(shell, project):
    (shell.folder_of("project/.keisei/roles") / "mine.toml").write_text("[role]\nnam = 1\n")

    done = shell.run("lint", "--json")

    report = json.loads(done.out)
    assert (done.code, done.err, report["ok"]) == (1, "", False)
    assert {problem["path"] for problem in report["problems"]} == {".keisei/roles/mine.toml"}
    assert [(problem["code"], problem["line"], problem["column"]) for problem in report["problems"]] == [
        ("missing-key", 1, 1),
        ("unknown-key", 2, 1),
    ]
    assert project.is_dir()


def test_check_tells_its_problems_as_data(shell):
    (shell.folder / "bad.json").write_text('{"task_type": "t"}')

    done = shell.run("schema", "check", "bad.json", "--as", "task.intent", "--json")

    report = json.loads(done.out)
    assert (done.code, report["ok"]) == (1, False)


def test_text_beyond_ascii_is_written_as_it_is(shell, project):
    (shell.folder_of("project/.keisei/roles") / "mine.toml").write_text(
        '[role]\nname = "mine"\ndescription = "形成 \U0001f600"\n', encoding="utf-8"
    )

    assert '"形成 \U0001f600"' in shell.run("role", "show", "mine", "--json").out
    assert project.is_dir()


def test_json_is_the_same_on_a_machine_without_utf8(shell):
    done = shell.spawn(
        "role", "list", "--json", env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LANG": "C"}
    )

    assert done.code == 0
    assert {row["name"] for row in json.loads(done.raw.decode("utf-8"))} >= {"edit-local", "git-ops"}
