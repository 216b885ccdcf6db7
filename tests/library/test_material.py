"""Material: what a bundle takes from authored files, with hashes of exactly the text that is shown."""

import hashlib
import json
import os
import tomllib
from datetime import UTC, datetime

import pytest

from keisei.engine.bundle import compile_bundle
from keisei.engine.gather import BundleOrder
from keisei.library import folder as folder_module
from keisei.library import material as material_module
from keisei.library.catalog import Catalog
from keisei.library.folder import folder_files
from keisei.library.material import AuthoredMaterial, check_payload
from keisei.library.shelf import Layer
from keisei.records.adapter import ClaudeAutonomy, ClaudeCodeAdapter, ScriptAdapter
from keisei.records.error import AuthorError, Refused, WorldFault
from keisei.records.task import TaskRecord
from keisei.records.task_type import TaskTypeSpec
from keisei.rules.bundle_hash import bundle_hash, files_hash
from keisei.rules.evidence import keys_of
from keisei.rules.section import Files
from keisei.wiring import KIT

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
SKILL = "---\nname: careful\ndescription: Look twice.\n---\n\n# Careful\n\nLook twice.\n"
SKILL_TOML = """\
subagent_path = "AGENT.md"
input_schema_id = "input.json"

[[cli_commands]]
name = "spell"
command = "codespell docs"
"""
SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"args": {"type": "array", "maxItems": 3}},
    "examples": [{"args": []}],
}
AGENT = """\
[identity]
agent_id = "indra"
internal_name = "indra"
display_name = "Indra"

[constitution]
version = "1.0.0"
revised_at = 2026-11-01T09:00:00Z
"""
KEISEI = """\
[project]
name = "shop"

[adapters.claude-code]
kind = "claude-code"
command = "claude"
timeout_ms = 60000

[adapters.claude-code.autonomy]
profile = "restricted"
required_settings_files = ["harness/settings.json"]
"""
PROFILE = """\
profile_id = "worker"
style = "claude-like"
role = "calm"
default_adapter_id = "claude-code"
prompt_parts = ["You decide by evidence."]
skill_ids = ["careful"]

[context_policy]
max_prompt_chars = 200000
include_recent_memory = false

[result_policy]
allow_follow_up_tasks = false
allow_external_messages = false
"""
ROLE = '[role]\nname = "calm"\ndescription = "Stays calm."\n\n[capabilities]\nrequired = ["policy::calm"]\n'
CAPABILITY = """\
[capability]
name = "policy::calm"
category = "policy"
version = "1.0"
description = "Calm."

[gate]
kind = "script"
path = "gate.sh"
"""
FILES = {
    "keisei.toml": KEISEI,
    "harness/settings.json": "{}\n",
    ".keisei/skills/careful/SKILL.md": SKILL,
    ".keisei/skills/careful/AGENT.md": "Only look.\n",
    ".keisei/skills/careful/skill.toml": SKILL_TOML,
    ".keisei/skills/careful/input.json": json.dumps(SCHEMA),
    ".keisei/skills/careful/scripts/look.py": "print(1)\n",
    ".keisei/agents/indra/agent.toml": AGENT,
    ".keisei/agents/indra/SOUL.md": "I say what I saw.\n",
    ".keisei/agents/indra/PURPOSE.md": "Keep the shop correct.\n",
    ".keisei/profiles/worker.toml": PROFILE,
    ".keisei/roles/calm.toml": ROLE,
    ".keisei/capabilities/policy/calm/capability.toml": CAPABILITY,
    ".keisei/capabilities/policy/calm/text.md": "You MUST stay calm.\r\n",
    ".keisei/capabilities/policy/calm/gate.sh": "#!/bin/sh\nexit 0\n",
}


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Project:
    """A project of its own over the shipped kit."""

    def __init__(self, root):
        self.root = root
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    @property
    def catalog(self):
        return Catalog([Layer("kit", KIT), Layer("project", self.root / ".keisei")])

    @property
    def material(self):
        return AuthoredMaterial(self.catalog)

    @property
    def skill_folder(self):
        return self.root / ".keisei/skills/careful"

    def compile(self, material=None):
        catalog = self.catalog
        profile = catalog.loaded("profile", "worker").record
        return compile_bundle(
            material or AuthoredMaterial(catalog),
            order(catalog, "script", profile, {"args": ["x"]}, adapter="claude-code", agent="indra"),
        )


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "a shop")


def order(catalog, task_type, profile, payload, *, adapter, agent=None):
    return BundleOrder(
        bundle_id="bundle-1",
        attempt_id="attempt-1",
        now=NOW,
        task=TaskRecord(
            task_id="task-1",
            task_type=task_type,
            source="operator",
            subject="Do it",
            description=None,
            priority=5,
            payload=payload,
            requested_profile_id=profile.profile_id,
            requested_adapter_id=None,
            requested_model=None,
            status="running",
            max_attempts=3,
            attempt_count=1,
            available_at=NOW,
            created_at=NOW,
            updated_at=NOW,
            started_at=NOW,
            finished_at=None,
            outcome=None,
            last_error=None,
            agent=agent,
        ),
        task_type=catalog.loaded("task-type", task_type).record,
        profile=profile,
        adapter=catalog.adapters[adapter].record,
        keys=keys_of("attempt-1", NOW),
        files=Files(artifact_folder="/state/artifacts/task-1", payload_file="/state/run/payload.json"),
    )


def payloads():
    """An example payload of every shipped task type, each under its default profile."""
    examples = {
        path.name.removesuffix("-payload.json"): json.loads(path.read_text(encoding="utf-8"))["examples"][0]
        for path in (KIT / "task-types/schemas").glob("*.json")
    }
    text = (KIT / "examples/tasks/code-implementer.toml").read_text(encoding="utf-8")
    return examples | {"agent-task": tomllib.loads(text)}


@pytest.mark.parametrize("task_type", sorted(Catalog([Layer("kit", KIT)]).names("task-type")))
def test_every_shipped_task_type_compiles_under_its_default_profile(task_type):
    catalog = Catalog([Layer("kit", KIT)])
    spec: TaskTypeSpec = catalog.loaded("task-type", task_type).record
    profile = catalog.loaded("profile", spec.default_profile_id).record
    adapter = spec.default_adapter_id or profile.default_adapter_id

    wanted = order(catalog, task_type, profile, payloads()[task_type], adapter=adapter)
    compiled = compile_bundle(AuthoredMaterial(catalog), wanted)

    assert compiled.record.bundle_hash == bundle_hash(json.loads(compiled.document))
    assert str(KIT).encode() not in compiled.document + compiled.prompt
    for skill in compiled.record.skills:
        assert (KIT / "skills" / skill.skill_id / "SKILL.md").read_bytes().rstrip() in compiled.prompt


def test_the_script_profile_runs_scripts_and_asks_for_nothing():
    catalog = Catalog([Layer("kit", KIT)])
    profile = catalog.loaded("profile", "script").record

    assert catalog.loaded("task-type", "script").record.default_profile_id == "script"
    assert isinstance(catalog.adapters[profile.default_adapter_id].record, ScriptAdapter)
    assert (profile.role, profile.skill_ids, profile.prompt_parts) == ("program", (), ())
    assert not profile.context_policy.include_recent_memory
    assert not profile.result_policy.allow_follow_up_tasks
    assert not profile.result_policy.allow_external_messages


def test_a_skill_comes_with_every_file_of_its_folder(project):
    project.write(".keisei/skills/careful/.hidden", "x")

    skill = project.material.skill("careful")

    assert [each.path for each in skill.files] == [
        *(".hidden", "AGENT.md", "SKILL.md", "input.json", "scripts/look.py", "skill.toml"),
    ]
    assert skill.files[2].sha256 == sha(SKILL)
    assert (skill.hash, skill.version) == (files_hash(skill.files), files_hash(skill.files)[:12])
    assert (skill.instructions, skill.subagent) == (SKILL, "Only look.\n")
    assert [each.command for each in skill.commands] == ["codespell docs"]


def test_a_skill_says_its_version_itself(project):
    project.write(
        ".keisei/skills/careful/SKILL.md",
        SKILL.replace("\n---\n\n", "\nmetadata:\n  version: '2.1'\n---\n\n"),
    )

    assert project.material.skill("careful").version == "2.1"


def test_a_skill_is_read_anew_every_time(project):
    material = project.material
    before = material.skill("careful")

    project.write(".keisei/skills/careful/SKILL.md", SKILL + "Twice!\n")

    after = material.skill("careful")
    assert after.instructions.endswith("Twice!\n")
    assert after.hash != before.hash


def test_an_unknown_skill_is_refused_with_the_nearest_name(project):
    with pytest.raises(Refused, match="no skill is called `carefull`") as caught:
        project.material.skill("carefull")

    assert "careful" in caught.value.hint


def test_a_skill_that_names_a_missing_file_is_an_error(project):
    (project.skill_folder / "AGENT.md").unlink()

    with pytest.raises(AuthorError, match=r"`AGENT\.md` is missing"):
        project.material.skill("careful")


def test_a_skill_under_another_name_is_an_error(project):
    project.write(".keisei/skills/careful/SKILL.md", SKILL.replace("name: careful", "name: brave"))

    with pytest.raises(AuthorError, match="differs from the folder `careful`"):
        project.material.skill("careful")


def test_a_skill_that_changes_while_it_is_read_is_tried_again(project, monkeypatch):
    readings = iter([folder_files(project.skill_folder), ()])
    monkeypatch.setattr(material_module, "folder_files", lambda _folder: next(readings))

    with pytest.raises(WorldFault, match="careful` changed while it was read") as caught:
        project.material.skill("careful")

    assert caught.value.retryable


def test_a_link_inside_a_folder_counts_by_where_it_leads(tmp_path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("a")
    (tmp_path / "link").symlink_to("a")
    before = folder_files(tmp_path)

    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("b")

    assert [each.path for each in before] == ["a", "b", "link"]
    assert folder_files(tmp_path) != before


def a_link_out(folder):
    (folder / "link").symlink_to("../secret")


def a_link_to_itself(folder):
    (folder / "link").symlink_to("link")


def a_linked_folder(folder):
    (folder / "link").symlink_to("/")


def a_pipe(folder):
    os.mkfifo(folder / "pipe")


def a_name_in_another_encoding(folder):
    with open(os.fsencode(folder) + b"/\xff", "wb"):  # noqa: PTH123 - a name that is no text
        pass


def a_name_that_turns_around(folder):
    (folder / "a\u202eb").write_text("")


def a_deep_folder(folder):
    (folder / "/".join("d" * 20)).mkdir(parents=True)


def many_files(folder):
    for number in range(21):
        (folder / f"{number}").touch()


def many_bytes(folder):
    with (folder / "large").open("wb") as file:
        file.truncate(64 * 1024 * 1024 + 1)


@pytest.mark.parametrize(
    ("hostile", "code"),
    [
        (a_link_out, "outside"),
        (a_link_to_itself, "outside"),
        (a_linked_folder, "outside"),
        (a_pipe, "unreadable"),
        (a_name_in_another_encoding, "not-text"),
        (a_name_that_turns_around, "not-text"),
        (a_deep_folder, "too-deep"),
        (many_files, "too-large"),
        (many_bytes, "too-large"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_folder_that_cannot_be_hashed_is_an_error(tmp_path, hostile, code, monkeypatch):
    monkeypatch.setattr(folder_module, "MOST_FILES", 20)
    folder = tmp_path / "folder"
    folder.mkdir()
    hostile(folder)

    with pytest.raises(AuthorError) as caught:
        folder_files(folder)

    assert [problem.code for problem in caught.value.problems] == [code]


def test_a_folder_that_goes_away_is_tried_again(tmp_path):
    with pytest.raises(WorldFault) as caught:
        folder_files(tmp_path / "gone")

    assert caught.value.retryable


def test_a_constitution_is_pinned_by_the_text_that_is_shown(project):
    papers = project.material.constitution("indra")

    assert (papers.soul, papers.record.soul_hash) == ("I say what I saw.\n", sha("I say what I saw.\n"))
    assert (papers.purpose, papers.record.purpose_hash) == (
        "Keep the shop correct.\n",
        sha("Keep the shop correct.\n"),
    )
    assert papers.record.version == "1.0.0"


def test_an_agent_may_have_no_constitution(project):
    project.write(".keisei/agents/indra/agent.toml", AGENT.partition("\n[constitution]")[0])
    (project.root / ".keisei/agents/indra/SOUL.md").unlink()
    (project.root / ".keisei/agents/indra/PURPOSE.md").unlink()

    assert project.material.constitution("indra") is None


def test_papers_that_nobody_accepted_are_an_error(project):
    project.write(".keisei/agents/indra/agent.toml", AGENT.partition("\n[constitution]")[0])

    with pytest.raises(AuthorError, match="missing"):
        project.material.constitution("indra")


def test_an_unknown_agent_is_refused(project):
    with pytest.raises(Refused, match="no agent is called `ghost`"):
        project.material.constitution("ghost")


def test_an_agent_whose_wallet_another_claims_runs_nothing_until_that_is_corrected(project):
    wallet = '[[wallets]]\nchain = "bitcoin"\naddress = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"\n'
    head = '[identity]\nagent_id = "evil"\ninternal_name = "evil"\ndisplay_name = "Evil"\n'
    project.write(".keisei/agents/indra/agent.toml", AGENT.partition("[[wallets]]")[0] + wallet)
    project.write(".keisei/agents/evil/agent.toml", head + wallet)
    material = project.material  # one for both: a runner need not start again

    for name in ("indra", "evil"):
        with pytest.raises(AuthorError, match="is claimed by agent"):
            material.constitution(name)
    assert material.carried("indra").record.agent_id == "indra"  # a run that began has not drifted by that
    project.write(".keisei/agents/evil/agent.toml", head)
    assert material.constitution("indra") is not None


def test_a_constitution_that_changes_while_it_is_read_is_tried_again(project, monkeypatch):
    read = material_module.constitution_of

    def swapped(loaded, papers):
        record = read(loaded, papers)
        project.write(".keisei/agents/indra/SOUL.md", "I say what I want.\n")
        return record

    monkeypatch.setattr(material_module, "constitution_of", swapped)

    with pytest.raises(WorldFault, match=r"SOUL\.md` changed while it was read"):
        project.material.constitution("indra")


def test_a_settings_file_begins_where_its_adapter_is_declared(project):
    adapter = project.catalog.adapters["claude-code"].record

    assert project.material.settings_files(adapter) == {"harness/settings.json": "{}\n"}
    assert project.material.settings_files(ScriptAdapter(adapter_id="s", command="sh", timeout_ms=1000)) == {}


def adapter_with(path, adapter_id="elsewhere"):
    return ClaudeCodeAdapter(
        adapter_id=adapter_id,
        command="claude",
        timeout_ms=1000,
        autonomy=ClaudeAutonomy(profile="restricted", required_settings_files=(path,)),
    )


def test_a_settings_file_of_an_adapter_from_elsewhere_is_absolute(project):
    path = str(project.root / "harness/settings.json")

    assert project.material.settings_files(adapter_with(path)) == {path: "{}\n"}
    with pytest.raises(Refused, match=r"nobody knows where `settings\.json` of adapter `elsewhere` begins"):
        project.material.settings_files(adapter_with("settings.json"))


def test_a_missing_settings_file_is_an_error(project):
    with pytest.raises(AuthorError, match="cannot be read"):
        project.material.settings_files(adapter_with("gone.json", "claude-code"))


def complaints(catalog, task_type, payload, skill_ids=()):
    return check_payload(catalog, catalog.loaded("task-type", task_type).record, payload, skill_ids)


@pytest.mark.parametrize(("task_type", "payload"), payloads().items(), ids=payloads())
def test_the_example_payload_of_every_shipped_task_type_fits(task_type, payload):
    assert complaints(Catalog([Layer("kit", KIT)]), task_type, payload) == []


@pytest.mark.parametrize(
    ("task_type", "payload", "told"),
    [
        pytest.param("script", {}, '"args" is a required property', id="missing"),
        pytest.param("script", {"args": ["a"], "more": 1}, "more", id="unknown-key"),
        pytest.param("script", {"args": [1]}, "args[0]: ", id="wrong-type"),
        pytest.param("agent-task", {"task": {}}, "task: missing key `role`", id="record-missing"),
        pytest.param("agent-task", {"task": {"role": "x"}, "scope": {"whitelist": []}}, "whitelist", id="record-key"),
        pytest.param("script", {"args": ["a"], "data": {"n": 2**60}}, "beyond 2^53-1", id="integer"),
        pytest.param("script", {"args": ["a"], "data": {"n": float("inf")}}, "no canonical form", id="infinite"),
        pytest.param("script", {"args": ["\ud800"]}, "surrogate", id="half-surrogate"),
    ],
)
def test_a_payload_that_does_not_fit_is_told_in_words(task_type, payload, told):
    found = complaints(Catalog([Layer("kit", KIT)]), task_type, payload)

    assert any(told in each for each in found), found


@pytest.mark.parametrize(("depth", "fits"), [(60, True), (70, False), (5000, False)])
@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"a": value}], ids=["lists", "objects"])
def test_a_payload_nested_too_deeply_is_told_in_words(wrap, depth, fits):
    value = 1
    for _ in range(depth):
        value = wrap(value)

    found = complaints(Catalog([Layer("kit", KIT)]), "script", {"args": ["a"], "data": {"deep": value}})

    assert found == ([] if fits else ["document: nested more than 64 levels"])


def test_a_flood_of_complaints_is_cut_and_each_is_short():
    payload = {"args": ["a"] * 500 + [{"x" * 10_000: "\x1b\u202e" * 100}] * 500}

    found = complaints(Catalog([Layer("kit", KIT)]), "script", payload)

    assert len(found) == 21
    assert found[-1] == "and 480 more"
    assert all(len(each) < 300 and each.isprintable() for each in found)


def test_a_skill_has_a_say_in_the_payload(project):
    assert complaints(project.catalog, "script", {"args": ["a"] * 4}) == []

    found = complaints(project.catalog, "script", {"args": ["a"] * 4}, ["careful"])

    assert len(found) == 1
    assert found[0].startswith("args: ")


def test_an_unknown_task_type_or_skill_is_refused(project):
    spec = TaskTypeSpec(task_type="ghost", payload_schema_id="x.json")

    with pytest.raises(Refused, match="no task-type is called `ghost`"):
        check_payload(project.catalog, spec, {})
    with pytest.raises(Refused, match="no skill is called `ghost`"):
        complaints(project.catalog, "script", {"args": ["a"]}, ["ghost"])


@pytest.mark.parametrize(
    ("schema_id", "schema", "told"),
    [
        pytest.param("gone.json", None, "`gone.json` is missing", id="missing"),
        pytest.param("../../../x.json", None, "outside its folder", id="outside"),
        pytest.param("own.json", '{"type": 5}', "cannot be used", id="broken"),
        pytest.param("own.json", '{"$ref": "http://example.org/x.json"}', "cannot be used", id="remote"),
        pytest.param("own.json", "[]", "a schema is an object", id="list"),
    ],
)
def test_a_payload_that_nobody_can_check_is_not_let_in(project, schema_id, schema, told):
    project.write(".keisei/task-types/own.toml", f'task_type = "own"\npayload_schema_id = "{schema_id}"\n')
    if schema is not None:
        project.write(f".keisei/task-types/{schema_id}", schema)

    with pytest.raises(AuthorError, match=told):
        complaints(project.catalog, "own", {})


def test_one_material_compiles_a_schema_once(project, monkeypatch):
    material = project.material
    spec = project.catalog.loaded("task-type", "script").record
    seen = []
    compiled = material_module.compiled
    monkeypatch.setattr(material_module, "compiled", lambda *found: seen.append(1) or compiled(*found))

    assert [material.payload_complaints(spec, {"args": ["a"]}) for _ in range(3)] == [[], [], []]
    assert len(seen) == 1


def test_a_fragment_keeps_its_bytes_in_the_prompt(project):
    assert b"You MUST stay calm.\r\n" in project.compile().prompt


EDITS = {
    "settings-file": ("harness/settings.json", '{"a": 1}\n'),
    "skill": (".keisei/skills/careful/SKILL.md", SKILL + "More.\n"),
    "skill-agent": (".keisei/skills/careful/AGENT.md", "Look and tell.\n"),
    "skill-script": (".keisei/skills/careful/scripts/look.py", "print(2)\n"),
    "skill-command": (".keisei/skills/careful/skill.toml", SKILL_TOML.replace("docs", "src")),
    "skill-new-file": (".keisei/skills/careful/new.txt", ""),
    "soul": (".keisei/agents/indra/SOUL.md", "I say what I want.\n"),
    "purpose": (".keisei/agents/indra/PURPOSE.md", "Sell.\n"),
    "constitution-mark": (".keisei/agents/indra/agent.toml", AGENT.replace("1.0.0", "1.0.1")),
    "profile-part": (".keisei/profiles/worker.toml", PROFILE.replace("evidence", "feeling")),
    "role": (".keisei/roles/calm.toml", ROLE + '\n[tools]\nallowed = ["Bash"]\n'),
    "capability-text": (".keisei/capabilities/policy/calm/text.md", "You MAY panic.\n"),
    "gate-script": (".keisei/capabilities/policy/calm/gate.sh", "#!/bin/sh\nexit 2\n"),
    "capability": (".keisei/capabilities/policy/calm/capability.toml", CAPABILITY.replace("Calm.", "Quiet.")),
    "autonomy": ("keisei.toml", KEISEI.replace('"restricted"', '"trusted-vm"')),
    "adapter-environment": (
        "keisei.toml",
        KEISEI.replace("[adapters.claude-code.autonomy]", 'env = {A = "b"}\n\n[adapters.claude-code.autonomy]'),
    ),
}


@pytest.mark.parametrize(("name", "text"), EDITS.values(), ids=EDITS)
def test_an_edit_of_any_file_changes_both_hashes(project, name, text):
    before = project.compile().record

    project.write(name, text)
    after = project.compile().record

    assert after.bundle_hash != before.bundle_hash
    assert after.inputs_hash != before.inputs_hash


def test_another_place_of_the_same_project_has_equal_hashes(project, tmp_path):
    other = Project(tmp_path / "elsewhere")

    assert other.compile() == project.compile()
