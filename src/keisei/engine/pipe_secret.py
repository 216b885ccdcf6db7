"""Secrets of a pipe: which values may not be kept, seen before anything runs and in what comes out."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from keisei.contracts.validator import secret_values
from keisei.records.error import OperatorError
from keisei.records.pipe_plan import PipePlan, PlannedStep
from keisei.rules.redact import SHORTEST
from keisei.rules.reference import Reference, template


def secret_roots(plan: PipePlan) -> frozenset[str]:
    """Steps, and `input`, whose values are handed to a place marked `writeOnly`: nothing of them is kept.

    Raises OperatorError for a secret that stands in the file itself, which is kept with every run.
    """
    found: set[str] = set()
    for step in plan.steps:
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
