"""Tools as clients list them: a few that reach every atom, or one for each. Values only; no protocol is spoken here.

What is offered is what every client takes: plain names, `type: object` at the root of every schema, no `$schema`
(readers of old drafts refuse the new address, and the protocol means 2020-12 without it), and no choice or condition at
the root of an input, for which some clients drop the tool and some models refuse the whole list. A call is held
against the atom's own schema all the same.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from keisei.contracts.draft2020 import modern
from keisei.mcp.arguments import LONGEST as ID
from keisei.records.atom_spec import AtomSpec
from keisei.records.problem import printable
from keisei.rules.atom_effect import is_safe_again, only_reads
from keisei.rules.atom_tool import DESCRIBE, PIPE, PLAN, READ, RUN, SEARCH, tool_name

LONGEST: Final = 1024
"""Characters of a description."""
META: Final = "dev.keisei/"
"""What our own keys in `_meta` begin with."""
RESULT: Final = "result"
"""Where an output stands that is no object."""
ROOT: Final = (
    *("type", "description", "properties", "required", "additionalProperties", "patternProperties"),
    *("propertyNames", "minProperties", "maxProperties", "dependentRequired"),
)
"""What may stand at the root of an input."""
KEY: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""What a property may be called: a model that does not take one refuses every tool of the request."""
NOISE: Final = ("title", "examples")
"""What a list leaves out of schemas: with dozens of tools it is a third of it."""
HOPS: Final = 8
"""References in a row that are followed from a root."""

Schema = dict[str, Any]


class Hints(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a client may know of a tool before it is called. Harnesses decide by these whom they ask."""

    read_only_hint: bool
    """It changes nothing."""
    destructive_hint: bool
    """It removes or overwrites what cannot be made again."""
    idempotent_hint: bool
    """Doing it twice is doing it once."""
    open_world_hint: bool
    """It uses the network."""


class Offer(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One tool in a list. As JSON it is what `tools/list` wants."""

    name: str
    """What it is called by."""
    title: str
    """What people read: of an atom its id."""
    description: str
    """What it does."""
    input_schema: Schema
    """What goes in, in 2020-12."""
    output_schema: Schema | None = None
    """What comes out, in 2020-12; None where that depends on the call."""
    annotations: Hints
    """What is known before."""
    meta: dict[str, Any] = field(name="_meta", default_factory=dict)
    """What only we understand, under `dev.keisei/`."""


# --- one tool for each atom ------------------------------------------------------------------------------------------


def full_offers(specs: Iterable[AtomSpec], gotchas: Mapping[str, Sequence[str]]) -> tuple[Offer, ...]:
    """A tool for each atom, by id. `gotchas` are the points of their pages, by id; an atom may be missing there."""
    return tuple(atom_offer(spec, gotchas.get(spec.id, ())) for spec in sorted(specs, key=lambda each: each.id))


def atom_offer(spec: AtomSpec, gotchas: Sequence[str] = ()) -> Offer:
    """The tool of one atom."""
    return Offer(
        name=tool_name(spec.id),
        title=spec.id,
        description=described(spec, gotchas),
        input_schema=_arguments(spec.input_schema),
        output_schema=_structured(spec),
        annotations=hints_of(spec),
        meta={
            f"{META}kind": spec.manifest.kind,
            f"{META}effects": [f"{effect.op} {effect.domain}" for effect in spec.manifest.side_effects],
            f"{META}stability": spec.manifest.stability,
            f"{META}spec_sha": spec.spec_sha,
        },
    )


def hints_of(spec: AtomSpec) -> Hints:
    """What the declared effects say of a call."""
    reads = only_reads(spec.manifest)
    return Hints(
        read_only_hint=reads,
        destructive_hint=bool(spec.manifest.destructive) and not reads,
        idempotent_hint=is_safe_again(spec.manifest),
        open_world_hint=any(effect.op == "network" for effect in spec.manifest.side_effects),
    )


def described(spec: AtomSpec, gotchas: Sequence[str] = ()) -> str:
    """What to use instead, what it does, and as many of its gotchas as fit. Never longer than a client takes."""
    instead = spec.manifest.deprecated
    text = _line(f"deprecated: {instead}. {spec.summary}" if instead else spec.summary)
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    for point in map(_line, gotchas):
        if len(text) + len(point) + 3 > LONGEST:
            break
        text += f"\n- {point}"
    return text


def framed(spec: AtomSpec, output: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """An output as structured content: an object where its schema says it is always one, else below `result`."""
    return output if _is_object(spec.output_schema) and isinstance(output, dict) else {RESULT: output}


def framed_items(items: Sequence[Any]) -> dict[str, Any]:
    """The items of a stream as structured content."""
    return {"items": list(items), "count": len(items)}


def _line(text: str) -> str:
    return printable(" ".join(text.split()))


def _arguments(schema: Schema) -> Schema:
    """An input schema as clients take it: an object whose root says only what its properties are."""
    made = modern(schema, without=NOISE)
    body = _root(made)  # a root that only refers shows nothing
    found: Schema = {key: body[key] for key in ROOT if key in body}
    found |= {"examples": schema["examples"]} if "examples" in schema else {}
    definitions = {"$defs": made["$defs"]} if "$defs" in made else {}
    return _plain({"type": "object", "properties": {}} | found | {"type": "object"} | definitions)


def _plain(schema: Schema) -> Schema:
    """The schema without properties whose names no model takes; then others than the listed ones may be given."""
    kept = {name: each for name, each in schema["properties"].items() if KEY.fullmatch(name)}
    if len(kept) == len(schema["properties"]):
        return schema
    loose = {key: value for key, value in schema.items() if key != "additionalProperties"}
    needed = [name for name in schema.get("required", []) if KEY.fullmatch(name)]
    return loose | {"properties": kept, "required": needed}


def _structured(spec: AtomSpec) -> Schema:
    """What structured content of a call looks like; see `framed` and `framed_items`."""
    if spec.manifest.kind == "stream":
        made = modern(spec.output_schema, _listed, without=NOISE)
    elif _is_object(spec.output_schema):
        made = {"type": "object"} | modern(spec.output_schema, without=NOISE)
    else:
        made = modern(spec.output_schema, _wrapped, without=NOISE)
    return {key: value for key, value in made.items() if key != "$schema"}


def _listed(item: Any) -> Schema:  # noqa: ANN401 - a schema
    parts = {"items": {"type": "array", "items": item}, "count": {"type": "integer", "minimum": 0}}
    return {"type": "object", "properties": parts, "required": ["items", "count"]}


def _wrapped(value: Any) -> Schema:  # noqa: ANN401 - a schema
    return {"type": "object", "properties": {RESULT: value}, "required": [RESULT]}


def _is_object(schema: Schema) -> bool:
    """Whether a value that fits is always an object, as far as the root says or refers to."""
    root = _root(modern(schema)) if "$ref" in schema else schema  # every call asks, and a reference is rare
    return root.get("type") == "object"


def _root(made: Schema) -> Schema:
    """What the root of a converted schema says, references followed; nothing for true, false and a circle."""
    body: Any = made
    for _ in range(HOPS):
        if not isinstance(body, dict) or "$ref" not in body:
            return body if isinstance(body, dict) else {}
        body = made["$defs"][body["$ref"].removeprefix("#/$defs/")]
    return {}


# --- a few tools for all of them -------------------------------------------------------------------------------------

_ATOM: Final[Schema] = {"type": "string", "description": "Id of the atom, as in kei-fs::read.", "maxLength": ID}
_INPUT: Final[Schema] = {"type": "object", "description": f"Its input, as {DESCRIBE} tells it.", "default": {}}
_PIPE: Final[Schema] = {
    "pipe": {
        "type": ["string", "object"],
        "description": 'The pipe, as TOML text or as an object: {"steps": [{"atom": id, "capture_as": "a", "input":'
        ' {...}}, ...]}. In a later input, "$a.field" is a result of step `a`, "$input.field" what the pipe is given.',
    },
    "input": {"type": "object", "description": "What the pipe itself is given."},
}
"""The properties of both pipe tools."""


def lean_offers(*, write: bool) -> tuple[Offer, ...]:
    """The few tools that reach every atom. Without `write` there is none that changes anything."""
    reads = Hints(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    changes = Hints(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True)
    call = {"atom": _ATOM, "input": _INPUT}
    query = {"type": "string", "description": "A few words for what you want to do.", "maxLength": 512}
    limit = {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "How many at most."}
    only = "" if write else " Only atoms that change nothing may be steps here."
    offers = [
        _lean(SEARCH, "Find atoms", _SEARCH_WORDS, {"query": query, "limit": limit}, ["query"], reads),
        _lean(DESCRIBE, "Describe an atom", _DESCRIBE_WORDS, {"atom": _ATOM}, ["atom"], reads),
        _lean(READ, "Call an atom that only reads", _READ_WORDS, call, ["atom"], reads),
        _lean(RUN, "Call any atom", _RUN_WORDS, call, ["atom"], changes),
        _lean(PLAN, "Plan a pipe", _PLAN_WORDS, _PIPE, ["pipe"], reads),
        _lean(PIPE, "Run a pipe", _PIPE_WORDS + only, _PIPE, ["pipe"], changes if write else reads),
    ]
    return tuple(offer for offer in offers if write or offer.name != RUN)


_SEARCH_WORDS: Final = (
    "Finds atoms: small, typed, documented verbs for files, text, JSON, git, time, tasks and more."
    f" Start here, then {DESCRIBE}."
)
_DESCRIBE_WORDS: Final = (
    "Tells all of one atom: what it does, the schemas of its input and output, examples, errors, effects and gotchas."
)
_READ_WORDS: Final = (
    "Calls an atom that changes nothing and returns its output. Where the input does not fit, the error says what to"
    " mend."
)
_RUN_WORDS: Final = (
    f"Calls any atom, also one that changes something; use {READ} for those that only read."
    " Errors come back with a code that the atom's description explains."
)
_PLAN_WORDS: Final = (
    "Checks a pipe of atoms without running it: the order of its steps, their types, what runs side by side, what is"
    " wrong."
)
_PIPE_WORDS: Final = "Runs a pipe of atoms, each step fed by earlier ones, and returns its output. Plan it first."


def _lean(name: str, title: str, words: str, properties: Schema, required: list[str], hints: Hints) -> Offer:  # noqa: PLR0913, PLR0917 - one row of a table
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return Offer(name=name, title=title, description=words, input_schema=schema, annotations=hints)
