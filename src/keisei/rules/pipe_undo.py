"""Undo: how a step is taken back. The input of the atom that does it comes of the step's own output and input."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from keisei.contracts.words import shown
from keisei.records.atom_spec import AtomSpec
from keisei.rules.pipe_input import RUN_TIME, Complaint, Values, kind_words
from keisei.rules.pipe_type import Typed, kinds_of, literally, names_of
from keisei.rules.reference import listed_names


def undo_input(spec: AtomSpec, output: object, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the undoing atom is called with: its properties, of the step's output where it has them, else its input."""
    has = output if isinstance(output, Mapping) else {}
    names = names_of(Typed(spec.input_schema, spec.input_schema))[0]
    return {name: has[name] if name in has else given[name] for name in names if name in has or name in given}


def undo_complaints(spec: AtomSpec, undo: AtomSpec, given: Mapping[str, Typed], values: Values) -> Iterator[Complaint]:
    """What the undoing atom needs and nobody has, or has in a shape it cannot take. Paths are empty."""
    output = Typed(spec.output_schema, spec.output_schema)
    names, needed = names_of(Typed(undo.input_schema, undo.input_schema))
    for name in names if needed.issubset(names) else dict.fromkeys([*names, *sorted(needed)]):
        found = values.part(output, name)
        source = found if isinstance(found, Typed) and (found.sure or name not in given) else given.get(name)
        if source is None:
            if name in needed:
                have = [*names_of(output)[0], *given]
                hint = f"they have: {listed_names(name, have)}"
                message = f"`{undo.id}` needs {shown(name)}, which neither output nor input of `{spec.id}` has"
                yield Complaint("missing-key", (), message, hint)
            continue
        if name in needed and not source.sure:
            message = f"`{undo.id}` needs {shown(name)}, which the output of `{spec.id}` may lack: {RUN_TIME}"
            yield Complaint("unproven", (), message, None, "value", "warning")
        wanted = values.part(Typed(undo.input_schema, undo.input_schema), name)
        if isinstance(wanted, Typed) and values.judged(source, wanted).answer == "never":
            message = (
                f"{shown(name)} is {kind_words(kinds_of(source))}, and `{undo.id}` takes {kind_words(kinds_of(wanted))}"
            )
            yield Complaint("wrong-type", (), message)


def given_types(step_input: Mapping[str, Any], typed: Callable[[str], Typed]) -> dict[str, Typed]:
    """What is known of each key of a step's input: its literal, or what its reference leads to."""
    return {key: typed(key) if _has_dollar(value) else literally(value) for key, value in step_input.items()}


def _has_dollar(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_dollar, value.values()))
    return any(map(_has_dollar, value)) if isinstance(value, list) else isinstance(value, str) and "$" in value
