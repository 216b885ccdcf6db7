"""Secrets of a pipe: which values may not be kept, seen before anything runs and in what comes out."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from keisei.contracts.validator import secret_values
from keisei.engine.call import Tools
from keisei.records.error import OperatorError
from keisei.records.pipe_plan import PipePlan, PlannedStep
from keisei.rules.pipe_plan import envelopes
from keisei.rules.redact import SHORTEST
from keisei.rules.reference import Reference, reference, template

MARK = '"writeOnly"'


def secretive(plan: PipePlan) -> frozenset[str]:
    """Atoms that may be handed a secret: as a variable of their package, or at a place that their schema marks."""
    specs = {step.spec.id: step.spec for step in plan.steps}
    return frozenset(
        name for name, spec in specs.items() if spec.package.metadata.env or MARK in json.dumps(spec.input_schema)
    )


def environment_secrets(tools: Tools, plan: PipePlan) -> tuple[str, ...]:
    """What the packages of a pipe are given as variables of their own: a secret wherever else it goes, too."""
    specs = [spec for step in plan.steps for spec in (step.spec, step.undo) if spec is not None]
    packages = {spec.package.name: spec.package for spec in specs if spec.package.metadata.env}
    found: dict[str, None] = {}
    for package in packages.values():
        own = tools.environment(package, None)
        found |= dict.fromkeys(own[name] for name in package.metadata.env if own.get(name))
    return tuple(found)


Handed = tuple[str | int | None, ...]
"""Where in a value something stands; None is any item."""


def handed(plan: PipePlan) -> dict[str, frozenset[Handed]]:
    """For each step, and `input`, the parts of its value that go to places marked `writeOnly`."""
    marked, bare, found = secretive(plan), envelopes(plan), dict[str, set[Handed]]()
    for step in (each for each in plan.steps if each.spec.id in marked):
        source = None if step.step.for_each is None else reference(step.step.for_each)
        for text in secret_values(step.spec.input_schema, step.step.input):
            for piece in (each for each in template(text) if isinstance(each, Reference)):
                if piece.root == "item" and source is not None:
                    found.setdefault(source.root, set()).add((*_path(source, bare), None, *piece.path))
                else:
                    found.setdefault(piece.root, set()).add(_path(piece, bare))
    return {root: frozenset(paths) for root, paths in found.items()}


def _path(found: Reference, bare: Collection[str]) -> Handed:
    """Without a `.result` that means nothing."""
    return found.path[1:] if found.root in bare and found.path[:1] == ("result",) else found.path


def secrets_in(value: Any, paths: Iterable[Handed]) -> tuple[str, ...]:  # noqa: ANN401 - any JSON
    """The texts and numbers that stand there: a secret wherever else they go, too."""
    parts = [part for path in paths for part in _parts(value, path)]
    return secret_values({"writeOnly": True}, parts)


def _parts(value: Any, path: Handed) -> list[Any]:  # noqa: ANN401 - any JSON
    if not path:
        return [value]
    if path[0] is None:
        return [part for item in value for part in _parts(item, path[1:])] if isinstance(value, list) else []
    if isinstance(value, dict):
        return _parts(value[str(path[0])], path[1:]) if str(path[0]) in value else []
    is_there = isinstance(value, list) and isinstance(path[0], int) and path[0] < len(value)
    return _parts(value[path[0]], path[1:]) if is_there else []


def secret_roots(plan: PipePlan) -> frozenset[str]:
    """Steps, and `input`, whose values are handed to a place marked `writeOnly`: nothing of them is kept.

    Raises OperatorError for a secret that stands in the file itself, which is kept with every run.
    """
    found: set[str] = set()
    marked = secretive(plan)
    for step in plan.steps:
        if step.spec.id not in marked:
            continue
        for text in secret_values(step.spec.input_schema, step.step.input):
            roots = {piece.root for piece in template(text) if isinstance(piece, Reference)}
            if not roots:
                raise OperatorError(
                    f"step `{step.name}` has a secret in its file: a place of `{step.spec.id}` is marked writeOnly",
                    "hand it over with --input, and refer to it: $input.token",
                )
            found |= _items_followed(roots, step)
    return frozenset(found)


def _items_followed(roots: set[str], step: PlannedStep) -> set[str]:
    """`item` is what `for_each` refers to."""
    if "item" not in roots or step.step.for_each is None:
        return roots
    return roots | {piece.root for piece in template(step.step.for_each) if isinstance(piece, Reference)}


def holds_secret(value: Any, secrets: Iterable[str]) -> bool:  # noqa: ANN401 - any JSON
    """Whether one of the secrets stands anywhere in a value; words of everyday are none."""
    known = [json.dumps(secret, ensure_ascii=False)[1:-1] for secret in secrets if len(secret) >= SHORTEST]
    if not known:
        return False
    text = msgspec.json.encode(value).decode()
    return any(secret in text for secret in known)


def is_kept(roots: frozenset[str], given: Mapping[str, Any] | Any, secrets: Iterable[str]) -> bool:  # noqa: ANN401
    """Whether the input of a run may be kept."""
    return "input" not in roots and not holds_secret(given, secrets)
