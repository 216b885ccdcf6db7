"""Layers: kit, root, user, project. The highest that has a name wins; a broken file never makes way for a lower one."""

import json
import os

import pytest

from keisei.library.catalog import Catalog
from keisei.library.shelf import Layer, layer_of
from keisei.records.error import AuthorError, KeiseiError
from keisei.settings import read_settings
from keisei.wiring import KIT, layers
from tests.cli.shell import Shell

PLACES = {"root": "root", "user": "home/.config/keisei", "project": "project/.keisei"}
ORDER = ["kit", "root", "user", "project"]


@pytest.fixture
def shell(tmp_path, monkeypatch, capsysbinary):
    shell = Shell(tmp_path, monkeypatch, capsysbinary)
    (tmp_path / "project").mkdir()
    (tmp_path / "project/keisei.toml").write_text('[project]\nname = "shop"\n')
    (tmp_path / "root/_roles").mkdir(parents=True)
    shell.cd(tmp_path / "project")
    return shell


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def role(name, description="ours"):
    return f'[role]\nname = "{name}"\ndescription = "{description}"\n'


def capability(name, description="ours"):
    category = name.partition("::")[0]
    return (
        f'[capability]\nname = "{name}"\ncategory = "{category}"\nversion = "1"\ndescription = "{description}"\n'
        '[restricts]\ntools-denied = ["X"]\n[gate]\nkind = "tools"\n'
    )


WORKFLOW = """\
workflow_type = "goal-loop"
description = "ours"
initial_state = "only"
[[states]]
state_id = "only"
"""
TASK_TYPE = 'task_type = "script"\ndescription = "ours"\npayload_schema_id = "agent-runtime/task.intent/v1"\n'
SKILL = "---\nname: code-review\ndescription: ours\n---\nLook at it.\n"


def role_file(layer):
    return f"{'_roles' if layer == 'root' else 'roles'}/edit-local.toml"


def write_roles(shell, names):
    for layer in names:
        write(shell.folder / PLACES[layer] / role_file(layer), role("edit-local", f"of {layer}"))


def shown(shell, *words):
    return shell.run(*words, "--kit-root", shell.folder / "root")


@pytest.mark.parametrize(
    "present",
    [
        [],
        ["root"],
        ["user"],
        ["project"],
        ["root", "user"],
        ["root", "project"],
        ["user", "project"],
        ["root", "user", "project"],
    ],
    ids=lambda names: "+".join(names) or "kit-alone",
)
def test_the_highest_layer_that_has_a_name_wins(shell, present):
    write_roles(shell, present)

    told = json.loads(shown(shell, "role", "show", "edit-local", "--json").out)

    assert [each["layer"] for each in told["origin"]] == list(reversed(["kit", *present]))
    assert [each["wins"] for each in told["origin"]] == [True] + [False] * len(present)
    if present:
        assert told["record"]["role"]["description"] == f"of {present[-1]}"
    else:
        assert told["capabilities"][0] == "policy::no-git-ops"


def test_the_origin_names_the_winner_first_and_then_what_it_hides(shell):
    write_roles(shell, ["root", "user", "project"])

    done = shown(shell, "role", "show", "edit-local", "--origin")

    assert done.out == (
        "project: .keisei/roles/edit-local.toml\n"
        f"user: {shell.home}/.config/keisei/roles/edit-local.toml (hidden)\n"
        f"root: {shell.folder}/root/_roles/edit-local.toml (hidden)\n"
        f"kit: {KIT}/roles/edit-local.toml (hidden)\n"
    )


NOUNS = {
    "capability": (
        "policy::no-git-ops",
        "capabilities/policy/no-git-ops/capability.toml",
        capability("policy::no-git-ops"),
    ),
    "role": ("edit-local", "roles/edit-local.toml", role("edit-local")),
    "skill": ("code-review", "skills/code-review/SKILL.md", SKILL),
    "workflow": ("goal-loop", "workflows/goal-loop.toml", WORKFLOW),
    "task-type": ("script", "task-types/script.toml", TASK_TYPE),
    "profile": ("critic", "profiles/critic.toml", (KIT / "profiles/critic.toml").read_text(encoding="utf-8")),
}


@pytest.mark.parametrize("noun", NOUNS)
def test_every_noun_is_overridden_by_name_and_says_so(shell, noun):
    name, path, text = NOUNS[noun]
    written = write(shell.folder / "project/.keisei" / path, text)

    done = shell.run(noun, "show", name, "--origin")
    listed = {row["name"]: row["layer"] for row in json.loads(shell.run(noun, "list", "--json").out)}

    assert done.out.splitlines()[0] == f"project: .keisei/{path}"
    assert done.out.splitlines()[1].endswith(f"{path} (hidden)")
    assert listed[name] == "project"
    assert written.is_file()


def test_a_name_of_its_own_stands_beside_the_kits(shell):
    write(shell.folder / "project/.keisei/roles/mine.toml", role("mine"))

    rows = {row["name"]: row["layer"] for row in json.loads(shell.run("role", "list", "--json").out)}

    assert rows["mine"] == "project"
    assert rows["edit-local"] == "kit"


def test_a_role_may_extend_one_of_a_lower_layer_and_require_rules_of_any(shell):
    write(
        shell.folder / "home/.config/keisei/capabilities/policy/mine/capability.toml", capability("policy::mine")
    ).with_name("text.md").write_text("## Mine\n")
    write(
        shell.folder / "project/.keisei/roles/mine.toml",
        role("mine") + '[capabilities]\nextends = "read-only"\nrequired = ["policy::mine"]\n',
    )

    told = json.loads(shell.run("role", "show", "mine", "--json").out)

    assert told["capabilities"] == [
        "tools::deny-tools",
        "output::report-format",
        "output::severity-grade",
        "policy::mine",
    ]


def test_the_project_is_found_upward(shell):
    write_roles(shell, ["project"])
    deep = shell.folder / "project/src/shop/deep"
    deep.mkdir(parents=True)
    shell.cd(deep)

    done = shell.run("role", "show", "edit-local", "--origin")

    assert done.out.splitlines()[0].startswith("project: ")


def test_the_nearest_project_is_the_project(shell):
    write_roles(shell, ["project"])
    write(shell.folder / "project/vendor/inner/.keisei/roles/edit-local.toml", role("edit-local", "inner"))
    shell.cd(shell.folder / "project/vendor/inner")

    told = json.loads(shell.run("role", "show", "edit-local", "--json").out)

    assert told["record"]["role"]["description"] == "inner"
    assert [each["layer"] for each in told["origin"]] == ["project", "kit"]


def test_a_layer_folder_may_be_a_symlink(shell):
    store = shell.folder / "store"
    write(store / "roles/edit-local.toml", role("edit-local", "linked"))
    write(store / "capabilities/policy/mine/capability.toml", capability("policy::mine"))
    write(store / "capabilities/policy/mine/text.md", "## Mine\n")
    (shell.folder / "project/.keisei").symlink_to(store)

    told = json.loads(shell.run("role", "show", "edit-local", "--json").out)
    linted = json.loads(shell.run("lint", "--json").out)

    assert told["record"]["role"]["description"] == "linked"
    assert linted["problems"] == []
    assert linted["files"] == {"capability": 1, "role": 1, "project": 1}


def test_a_symlinked_user_layer_and_a_symlinked_root_are_followed(shell):
    store = shell.folder / "store"
    write(store / "user/roles/edit-local.toml", role("edit-local", "of user"))
    write(store / "root/_roles/edit-local.toml", role("edit-local", "of root"))
    (shell.home / ".config").mkdir()
    (shell.home / ".config/keisei").symlink_to(store / "user")
    (shell.folder / "linked-root").symlink_to(store / "root")

    done = shell.run("role", "show", "edit-local", "--origin", "--kit-root", shell.folder / "linked-root")

    assert [line.partition(":")[0] for line in done.out.splitlines()] == ["user", "root", "kit"]


def test_what_is_found_by_name_is_listed_and_linted_too(shell):
    write(shell.folder / "store/capability.toml", capability("policy::mine"))
    write(shell.folder / "store/text.md", "## Mine\n")
    place = shell.folder / "project/.keisei/capabilities/policy"
    place.mkdir(parents=True)
    (place / "mine").symlink_to(shell.folder / "store")
    catalog = Catalog([Layer("kit", KIT), Layer("project", shell.folder / "project/.keisei")])

    found, listed = catalog.found("capability", "policy::mine"), catalog.names("capability")

    # Either the link counts or it does not: a rule that a role can use is a rule that lint looks at.
    assert (found is not None) == ("policy::mine" in listed)


# A broken file of a higher layer.


def broken_syntax(path):
    write(path, "[role\n")


def broken_key(path):
    write(path, role("edit-local") + "[capabilitys]\n")


def broken_bytes(path):
    write(path, "").write_bytes(b'[role]\nname = "\xff"\n')


def empty(path):
    write(path, "")


def dangling_link(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("nowhere.toml")


def link_loop(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(path.name)


def pipe(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


def folder(path):
    path.mkdir(parents=True)


BREAKS = [broken_syntax, broken_key, broken_bytes, empty, dangling_link, link_loop, pipe, folder]


@pytest.mark.parametrize("layer", ["user", "project"])
@pytest.mark.parametrize("break_", BREAKS, ids=lambda each: each.__name__)
def test_a_broken_role_of_a_higher_layer_is_an_error_and_the_lower_one_is_not_used(shell, layer, break_):
    break_(shell.folder / PLACES[layer] / "roles/edit-local.toml")
    task = write(
        shell.folder / "project/task.toml", '[task]\nrole = "edit-local"\n[scope]\nfiles-whitelist = ["src/**"]\n'
    )

    done = shell.run("agent", "compose", task)

    assert done.code == 1
    assert "roles/edit-local.toml" in done.err
    assert done.raw == b""


@pytest.mark.parametrize("break_", BREAKS, ids=lambda each: each.__name__)
def test_a_broken_capability_of_a_higher_layer_is_an_error_and_the_lower_one_is_not_used(shell, break_):
    break_(shell.folder / "project/.keisei/capabilities/policy/no-git-ops/capability.toml")
    catalog = Catalog(layers(read_settings({}), kit_root=None, start=shell.folder / "project"))

    with pytest.raises(AuthorError, match=r"no-git-ops/capability\.toml"):
        catalog.resolved_role("edit-local")


def test_a_capability_whose_text_is_missing_does_not_borrow_the_kits(shell):
    path = "project/.keisei/capabilities/policy/no-git-ops/capability.toml"
    write(shell.folder / path, capability("policy::no-git-ops"))
    catalog = Catalog(layers(read_settings({}), kit_root=None, start=shell.folder / "project"))

    with pytest.raises(AuthorError, match="capability `policy::no-git-ops` has no text"):
        catalog.fragment("policy::no-git-ops")


@pytest.mark.parametrize("break_", [broken_syntax, broken_key, dangling_link], ids=lambda each: each.__name__)
def test_a_broken_project_file_is_an_error_and_its_adapters_are_not_the_kits(shell, break_):
    file = shell.folder / "project/keisei.toml"
    file.unlink()
    (shell.folder / "project/.keisei").mkdir()
    break_(file)
    catalog = Catalog(layers(read_settings({}), kit_root=None, start=shell.folder / "project"))

    with pytest.raises(AuthorError, match=r"keisei\.toml"):
        _ = catalog.adapters


def test_the_rest_of_a_list_is_shown_when_one_file_is_broken(shell):
    broken_syntax(shell.folder / "project/.keisei/roles/edit-local.toml")

    done = shell.run("role", "list", "--json")

    names = [row["name"] for row in json.loads(done.out)]
    assert "read-only" in names
    assert "edit-local" not in names
    assert ".keisei/roles/edit-local.toml:1:6: error[syntax]" in done.err
    assert done.code == 1


# Adapters.

SCRIPT = '[adapters.script]\nkind = "script"\ncommand = "{command}"\ntimeout_ms = 5000\n'


def test_an_adapter_of_a_higher_layer_replaces_the_lower_one_whole(shell):
    write(shell.home / ".config/keisei/keisei.toml", SCRIPT.format(command="zsh"))
    write(shell.folder / "project/keisei.toml", '[project]\nname = "shop"\n' + SCRIPT.format(command="bash"))
    settings = read_settings({"XDG_CONFIG_HOME": str(shell.home / ".config")})
    catalog = Catalog(layers(settings, kit_root=None, start=shell.folder / "project"))

    adapter = catalog.adapters["script"].record

    assert (adapter.command, adapter.timeout_ms, adapter.autonomy) == ("bash", 5000, None)
    assert "claude-code" in catalog.adapters


# The layers themselves.


def test_the_layers_stand_in_this_order(shell):
    (shell.home / ".config/keisei").mkdir(parents=True)
    settings = read_settings({"XDG_CONFIG_HOME": str(shell.home / ".config")})

    found = layers(settings, kit_root=shell.folder / "root", start=shell.folder / "project")

    assert [layer.name for layer in found] == ORDER
    assert [layer.seed for layer in found] == [False, True, False, False]


@pytest.mark.parametrize(
    ("made", "folder_name", "seed"),
    [
        pytest.param("_capabilities", ".", True, id="capabilities-of-the-originals"),
        pytest.param("_primitives", ".", True, id="primitives-of-the-originals"),
        pytest.param(".keisei", ".keisei", False, id="a-project"),
        pytest.param("capabilities", ".", False, id="a-plain-folder"),
    ],
)
def test_a_root_is_told_by_its_folders(tmp_path, made, folder_name, seed):
    (tmp_path / made).mkdir()

    layer = layer_of("root", tmp_path)

    assert (layer.folder, layer.seed) == (tmp_path / folder_name, seed)


def test_a_relative_config_home_counts_as_not_set(shell):
    assert read_settings({"XDG_CONFIG_HOME": "relative/path"}).config_home is None
    assert [
        layer.name for layer in layers(read_settings({"XDG_CONFIG_HOME": "."}), kit_root=None, start=shell.home)
    ] == ["kit"]


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a/b", "", ".hidden", "x" * 200, "nul\0", "UPPER::case", "a::b::c"]
)
@pytest.mark.parametrize("kind", ["role", "capability", "skill", "agent"])
def test_a_name_that_cannot_be_a_files_is_simply_unknown(kind, name):
    catalog = Catalog([Layer("kit", KIT)])

    with pytest.raises(KeiseiError, match=f"no {kind} is called"):
        catalog.loaded(kind, name)
