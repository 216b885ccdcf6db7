"""Prepare: nine keys in the originals' order, computed from values alone."""

import hashlib
import re

import msgspec
import pytest

from keisei.engine.prepare import prepare_task
from keisei.records.error import Refused
from keisei.records.role import RoleCapabilities, RoleHead, RoleManifest
from keisei.records.task_spec import SpecBody, SpecScope, SpecTask, TaskSpec
from keisei.rules.role import resolve_role
from tests.prepared import KEYS

EDITS = ("policy::no-git-ops", "scope::files-whitelist")
READS = ("tools::deny-tools", "output::report-format")


class Shelf:
    """A library with one role of these capabilities; each fragment is its name."""

    def __init__(self, capabilities, **head):
        self.capabilities = capabilities
        self.head = head

    def resolved_role(self, name):
        manifest = RoleManifest(
            role=RoleHead(name=name, **self.head), capabilities=RoleCapabilities(required=self.capabilities)
        )
        return resolve_role(name, lambda _name: manifest, lambda capability: capability)

    def fragment(self, name):
        return f"{name}\n".encode()


def task(role="edit-local", **fields):
    return TaskSpec(
        task=SpecTask(role=role, **fields), scope=SpecScope(files_whitelist=("src/**",)), body=SpecBody(text="Do it.\n")
    )


def prepare(shelf, spec, path="task.toml", unix_ms=0x19A8B7C6D5E, entropy=0x89AB_CDEF_BEEF):
    return prepare_task(shelf, spec, path, unix_ms, entropy)


def test_the_keys_stand_in_the_originals_order():
    assert list(msgspec.to_builtins(prepare(Shelf(EDITS), task()))) == KEYS


def test_a_whole_spawn_of_an_editing_role():
    scope = hashlib.sha256(b"wl=src/**\ndl=").hexdigest()[:8].upper()
    body = hashlib.sha256(b"Do it.\n").hexdigest()[:8].upper()

    prepared = msgspec.to_builtins(prepare(Shelf(EDITS), task(), "tasks/x/task.toml"))

    assert prepared == {
        "agent_id": "ag-edit-local-19a8b7c6d5e-beef",
        "role": "edit-local",
        "prompt": (
            "policy::no-git-ops\n\n\n---\n\nscope::files-whitelist\n\n\n---\n\n"
            "## Your task's scope (resolved from task.toml)\n\n"
            "**files-whitelist** (you MAY Edit/Write these):\n- `src/**`\n\n---\n\nDo it.\n"
        ),
        "subagent_type": "code-implementer",
        "isolation": "worktree",
        "description": "edit-local agent ag-edit",
        "verify_command": "kei-agent-runtime verify tasks/x/task.toml <worktree-path>",
        "ledger_row": "running agent-id=ag-edit-local-19a8b7c6d5e-beef role=edit-local parent=none",
        "dna": f"edit-local::NG-FW::{scope}::{body}-89abcdef",
    }


def test_a_reading_role_needs_no_worktree():
    prepared = prepare(Shelf(READS), task("read-only"))

    assert (prepared.isolation, prepared.subagent_type) == ("none", "critic")
    assert prepared.dna.startswith("read-only::DT-RF::")


def test_the_roles_own_subagent_type_wins():
    prepared = prepare(Shelf(READS, claude_subagent_type="Explore"), task("explorer"))

    assert prepared.subagent_type == "Explore"


@pytest.mark.parametrize("given", [None, ""], ids=["absent", "empty"])
def test_an_id_that_is_not_given_is_made(given):
    assert prepare(Shelf(EDITS), task(agent_id=given)).agent_id == "ag-edit-local-19a8b7c6d5e-beef"


def test_an_id_that_is_given_is_kept():
    prepared = prepare(Shelf(EDITS), task(agent_id="abc-123-x", parent_agent="ag-boss"))

    assert prepared.agent_id == "abc-123-x"
    assert prepared.description == "edit-local agent abc-123"
    assert prepared.ledger_row == "running agent-id=abc-123-x role=edit-local parent=ag-boss"


def test_an_empty_parent_is_none():
    assert prepare(Shelf(EDITS), task(parent_agent="")).ledger_row.endswith(" parent=none")


def test_equal_questions_get_equal_answers_and_another_nonce_another_dna():
    one = prepare(Shelf(EDITS), task())

    assert prepare(Shelf(EDITS), task()) == one
    other = prepare(Shelf(EDITS), task(), entropy=0x1234_5678_BEEF)
    assert other.agent_id == one.agent_id
    assert other.dna == one.dna[:-8] + "12345678"


def test_a_role_that_is_only_documented_is_refused():
    with pytest.raises(Refused, match=re.escape("RULE 0.13")):
        prepare(Shelf(EDITS, spawnable=False), task("git-ops"))
