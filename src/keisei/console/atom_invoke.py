"""Calling an atom from a page or a program: what is meant, whether it asks first, and what came of it."""

from contextlib import suppress
from typing import Annotated, Any, Final
from urllib.parse import quote

import msgspec
from msgspec import Meta, Struct

from keisei.console.asking import Fault, Key, Unfit
from keisei.console.atom_call import Asked, AtomCalled, Calls, call_page
from keisei.console.atom_effect import touched
from keisei.console.atom_field import fields_of, input_of, parsed
from keisei.console.page import Missing
from keisei.console.premises import Premises
from keisei.console.visitor import Visitor
from keisei.contracts.secret_place import secret_values
from keisei.records.atom_spec import AtomSpec
from keisei.records.error import KeiseiError, Refused
from keisei.rules.atom_effect import only_reads
from keisei.wiring.fresh import new_id

WORDS: Final = "f."
"""What the names of a form's fields begin with."""


def found_atom(premises: Premises, atom_id: str) -> AtomSpec:
    """The atom. Raises Missing for what is no id at all, as the shelf does for an unknown one."""
    if not atom_id.isprintable():
        raise Missing("there is no atom of this name", "/atoms lists those there are")
    return premises.runtime.shelf.atom(atom_id)


class AtomInvoke(Struct, frozen=True, kw_only=True):
    """A call that is asked for."""

    atom_id: Key
    """Which atom."""
    input: Any = msgspec.field(default_factory=dict)
    """What goes in."""
    confirm: bool = False
    """Needed where the atom does not only read."""
    timeout_ms: Annotated[int, Meta(ge=1)] | None = None
    """Less time than the atom's own limit."""
    ask: bool = False
    """Where a confirm is missing, tell what the call would touch instead of refusing it."""
    asked: Key | None = None
    """The id of a call that was asked about: its input is taken."""
    fields: dict[str, tuple[str, ...]] | None = None
    """The input as text by property, as a form has it, instead of `input`."""


def invoke_atom(premises: Premises, body: AtomInvoke, visitor: Visitor) -> AtomCalled:
    """Call an atom: input and output are checked, and one ledger row is written; a failure is a result."""
    calls, spec = premises.keep(Calls), found_atom(premises, body.atom_id)
    given = _given(calls, spec, body)
    if body.confirm or only_reads(spec.manifest):
        return calls.call(spec, given, visitor.actor, body.timeout_ms)
    touches = touched(spec, given)
    if not body.ask:
        message = f"`{spec.id}` does not only read: it {'; it '.join(touches)}. Nothing was done"
        raise Refused(message, "say `confirm: true` where that is meant")
    key = new_id()
    calls.remember(key, Asked(atom=spec.id, input=given, spec_sha=spec.spec_sha, called=None))
    return AtomCalled(asks=touches, page=call_page(spec.id, key))


def _given(calls: Calls, spec: AtomSpec, body: AtomInvoke) -> Any:  # noqa: ANN401 - any JSON
    """The input that is meant. Raises Unfit, Missing, Refused."""
    if body.asked is not None:
        asked = calls.memory.take(body.asked)  # once: a form that is sent twice calls once
        if asked is None or asked.atom != spec.id or asked.called is not None:
            raise Missing("this question was answered already, or is too old", f"ask again on /atoms/{spec.id}")
        if asked.spec_sha != spec.spec_sha:
            raise Refused(f"`{spec.id}` has changed since you were asked", f"look at /atoms/{spec.id} and ask again")
        return asked.input
    if body.fields is None:
        return body.input
    fields = fields_of(spec.input_schema, {})
    if fields is None:
        raise Unfit([Fault("fields", "the input of this atom is written as JSON")])
    return input_of(fields, body.fields)


def invoke_form(words: list[tuple[str, str]]) -> dict[str, Any]:
    """What the form says: fields `f.NAME`, or the whole input as JSON, or yes to a question."""
    said = {name: word for name, word in words if not name.startswith(WORDS)}
    found: dict[str, Any] = {"ask": True, "confirm": said.get("confirm") == "true"}
    if said.get("asked"):
        found["asked"] = said["asked"]
    elif said.get("input", "").strip():
        found["input"] = parsed(said["input"], "input")
    else:
        fields: dict[str, list[str]] = {}
        for name, word in words:
            if name.startswith(WORDS):
                fields.setdefault(name.removeprefix(WORDS), []).append(word)
        found |= {"fields": fields} if fields else {}
    return found


class AtomCallAsk(Struct, frozen=True, kw_only=True):
    """One call."""

    atom_id: Key
    """Of which atom."""
    call_id: Key
    """Its id."""


class AtomCallPage(Struct, frozen=True, kw_only=True):
    """A call, or the question before it."""

    atom: str
    """What is called."""
    call_id: str
    """Its id."""
    input: Any
    """What went in, or would; nothing where it holds a secret."""
    secret: bool
    """The input holds a secret and is not shown."""
    called: AtomCalled | None
    """What came of it; None where it is only asked about."""
    touches: tuple[str, ...]
    """What it touches, by the atom's own word."""


def show_call(premises: Premises, asks: AtomCallAsk) -> AtomCallPage:
    """One call: what came of it, or what it would touch."""
    asked = premises.keep(Calls).memory.find(asks.call_id)
    if asked is None or asked.atom != asks.atom_id:
        hint = f"its row stands in the ledger: /ledger?kind=atom_invoked&subject={quote(asks.atom_id[:100])}"
        raise Missing("the console does not remember this call any more", hint)
    secret, touches = True, tuple[str, ...]()
    with suppress(KeiseiError):  # the page may be gone since
        spec = premises.runtime.shelf.atom(asked.atom)
        secret = bool(secret_values(spec.input_schema, asked.input))
        touches = touched(spec, asked.input)
    return AtomCallPage(
        atom=asked.atom,
        call_id=asks.call_id,
        input=None if secret else asked.input,
        secret=secret,
        called=asked.called,
        touches=touches,
    )
