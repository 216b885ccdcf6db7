"""Compose, with a library of values: what is joined, what is refused, what is never left out."""

import pytest

from keisei.engine.compose import compose_task, spawnable_role
from keisei.records.error import AuthorError, Refused
from keisei.records.problem import Problem
from keisei.records.role import RoleCapabilities, RoleHead, RoleManifest
from keisei.records.task_spec import SpecBody, SpecTask, TaskSpec
from keisei.rules.role import resolve_role


class Shelf:
    """A library of two roles; fragments as given, anything else is missing."""

    def __init__(self, fragments):
        self.fragments = fragments
        self.asked = []

    def resolved_role(self, name):
        head = RoleHead(name=name, spawnable=name != "git-ops")
        manifest = RoleManifest(role=head, capabilities=RoleCapabilities(required=("policy::b", "scope::a")))
        return resolve_role(name, lambda _name: manifest, lambda capability: capability)

    def fragment(self, name):
        self.asked.append(name)
        if name not in self.fragments:
            raise AuthorError([Problem(code="missing-file", path="text.md", message=f"`{name}` has no text")])
        return self.fragments[name]


def task(role="edit-local", body="Do it."):
    return TaskSpec(task=SpecTask(role=role), body=SpecBody(text=body))


def test_fragments_are_joined_in_the_order_of_the_role():
    prompt = compose_task(Shelf({"scope::a": b"A\n", "policy::b": b"B\r\n"}), task())

    assert prompt == b"B\r\n\n\n---\n\nA\n\n\n---\n\nDo it."


def test_a_missing_fragment_is_an_error_and_never_left_out():
    with pytest.raises(AuthorError, match="`scope::a` has no text"):
        compose_task(Shelf({"policy::b": b"B"}), task())


def test_a_role_that_is_only_documented_is_refused_before_anything_is_read():
    shelf = Shelf({"scope::a": b"A", "policy::b": b"B"})

    with pytest.raises(Refused, match=r"role `git-ops` cannot be spawned; by RULE 0\.13") as caught:
        compose_task(shelf, task("git-ops"))

    assert caught.value.hint == "use `edit-local`"
    assert shelf.asked == []


def test_a_spawnable_role_comes_back_with_everything_it_inherits():
    assert spawnable_role(Shelf({}), task()).capabilities == ("policy::b", "scope::a")
