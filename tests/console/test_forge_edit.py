"""Editing by the form: who sends it as it came changes nothing, whatever the atom's files hold."""

from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import settings as within
from hypothesis import strategies as st

import keisei
from keisei.console.forge import ForgeAsk, ForgePage, _as_text
from keisei.console.forge_form import draft_form
from keisei.console.templating import render
from keisei.library.draft_restored import restored
from keisei.library.inference import value_fault
from keisei.library.schema_row_draft import draft_of, schema_in, side_of
from keisei.records.draft import AtomDraft, ErrorDraft
from keisei.settings import read_settings
from keisei.wiring.forge import Forge
from tests.console.house import OPERATOR

KIT = Path(keisei.__file__).parent / "kit" / "primitives"
PAGES = sorted(page for page in KIT.rglob("atoms/*.md"))
SIDE = side_of("kei-x::y", "input")


class Sent(HTMLParser):
    """What a browser sends of the form: fields of one line hold no line ends, a box that is not ticked is not sent."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.words, self._area, self._choice = [], None, None
        self.feed(page.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd"))

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        name = told.get("name")
        if tag == "input" and name and (told.get("type") not in ("checkbox", "radio") or "checked" in told):
            self.words.append((name, told.get("value", "on").replace("\n", "").replace("\r", "")))
        elif tag == "textarea":
            self._area = (name, [])
        elif tag == "select" and "disabled" not in told:
            self._choice = [name, None]
        elif tag == "option" and self._choice and (self._choice[1] is None or "selected" in told):
            self._choice[1] = told.get("value", "")

    def handle_data(self, data):
        if self._area:
            self._area[1].append(data)

    def handle_endtag(self, tag):
        if tag == "textarea" and self._area:
            name, text = self._area[0], "".join(self._area[1])
            plain = text.removeprefix("\n").replace("\r\n", "\n").replace("\r", "\n")
            self.words.append((name, plain.replace("\n", "\r\n")))
            self._area = None
        elif tag == "select" and self._choice:
            self.words.append(tuple(self._choice))
            self._choice = None


def sent_back(draft):
    """The draft as the page's form gives it back when nobody touches it."""
    shown = msgspec.structs.replace(draft, input=_as_text(draft.input), output=_as_text(draft.output))
    none = dict.fromkeys(("look", "tried", "written", "undone"))
    page = ForgePage(draft=shown, folder="/x", packages=(), receipts=(), **none)
    about = {"visitor": OPERATOR, "may_order": True, "project": "x", "read_only": False, "stale": None}
    text = render("forge.html", page=page, asks=ForgeAsk(), room="", path="/", query="", now=datetime.now(UTC), **about)
    return msgspec.convert(draft_form(Sent(text).words)["draft"], AtomDraft, strict=False)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """A forge of what ships, only looked through."""
    base = tmp_path_factory.mktemp("shipped")
    return Forge(read_settings({"HOME": str(base), "KEISEI_HOME": str(base / "s")}), start=base, folder=KIT)


def test_every_atom_that_ships_comes_back_as_it_is(shipped):
    changed = {}
    for page in PAGES:
        package = page.relative_to(KIT).parts[0]
        draft = shipped.edit(f"{package}::{page.stem}")
        plan = shipped._plan(sent_back(draft))
        found = [each.path for each in plan.files], [each for each in plan.problems if each.severity == "error"]
        if found != ([], []):
            changed[draft.edits] = found

    assert changed == {}
    assert len(PAGES) > 50


ODD = st.sampled_from(["", "a", "a\nb", " a ", "\r", "5", "a, b", "é\u2028", '"<&', "\0", "true", "null", "\t"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from([0.5, 1.0, 1e22]) | ODD,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(ODD, inner, max_size=2),
    max_leaves=3,
)
PLAIN = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", "boolean", "array", "object", ["string", "null"]]),
        "description": ODD,
        "enum": st.lists(ODD, max_size=2),
        "minimum": st.sampled_from([0, 1.0, 0.1, 1e22]),
        "maxLength": st.integers(0, 5),
        "items": st.sampled_from([{}, {"type": "string"}, {"type": "object", "properties": {}}]),
    },
)


def objects(part):
    """Schemas of an object."""
    return st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(ODD, part, max_size=3)},
        optional={"additionalProperties": st.just(value=False), "title": ODD, "description": ODD},
    )


SCHEMAS = st.tuples(
    objects(PLAIN | objects(PLAIN)), st.lists(st.dictionaries(ODD, VALUES, max_size=2), min_size=1, max_size=2)
).map(lambda pair: {**pair[0], "examples": pair[1]})
BARE = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


@within(max_examples=60, deadline=None, database=None)
@given(SCHEMAS)
@example({**BARE, "properties": {"x": BARE}, "examples": [{"x": {}}]})
@example({**BARE, "properties": {"x": {}}, "examples": [{"x": 5}]})
@example({**BARE, "properties": {"x": {"description": "a\nb"}}, "examples": [{}]})
@example({**BARE, "properties": {"x": {"type": "string"}}, "required": ["x"], "examples": [{"x": ""}]})
@example({**BARE, "properties": {"x": {"type": "string"}}, "examples": [{"x": "q\nr"}]})
@example({**BARE, "properties": {"x": {"type": "string", "enum": ["a\nb", ""]}}, "examples": [{"x": ""}]})
@example({**BARE, "properties": {"x": {"enum": ["a"]}}, "examples": [{"x": "a"}]})
@example({**BARE, "properties": {"x": {"type": "object"}}, "examples": [{"x": {"b": 1, "a": 2}}]})
def test_every_schema_comes_back_as_it_is(schema):
    draft = AtomDraft(package="kei-x", verb="y", input=draft_of(schema, SIDE), edits="kei-x::y", effects=())
    assert value_fault(schema) is None
    assert schema_in(draft.input, SIDE)[1] == []

    assert restored(sent_back(draft), draft).input == draft.input


def test_what_no_field_holds_comes_back_as_it_is():
    errors = (ErrorDraft(code="A", http_analog=404, description="a\nb"), ErrorDraft(code="B", description=" b "))
    draft = AtomDraft(package="kei-x", verb="y", edits="kei-x::y", errors=errors, keywords=("b, c", "d"), effects=())
    back = sent_back(draft)

    assert (restored(back, draft).errors, restored(back, draft).keywords) == (errors, draft.keywords)
    assert restored(msgspec.structs.replace(back, keywords=("b",)), draft).keywords == ("b",)
    changed = msgspec.structs.replace(back, errors=(*back.errors[:1], ErrorDraft(code="B", description="other")))
    assert restored(changed, draft).errors == (errors[0], ErrorDraft(code="B", description="other"))
