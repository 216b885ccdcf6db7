import json
import re
import threading

import pytest

from keisei.console.atom_call import ITEMS, Calls
from keisei.console.atom_field import fields_of, input_of
from keisei.console.atom_near import AtomRows
from keisei.console.atom_schema import schema_rows
from keisei.console.memory import Memory
from tests.cli.pipes import make_package
from tests.console.house import VIEWER, open_house

DRAFT = "http://json-schema.org/draft-07/schema#"
HOSTILE = "<script>alert(1)</script>"
PAGE = """---
atom: kei-shop::{verb}
kind: {kind}
version: 0.1.0
input: {{schema: schemas/{verb}.json, example: {example}}}
output: {{schema: schemas/any.json}}
errors: [{{code: Refused, http_analog: 409, description: "No {hostile}"}}]
side_effects: {effects}
idempotent: false
timeout_ms: 20000
stability: beta
keywords: [bakery]
related: ["[[kei-text::count]]"]
---
# kei-shop::{verb}

Sells {hostile} bread.

## Gotchas

{hostile} [click](javascript:alert(1))
"""
ORDER = {
    "$schema": DRAFT,
    "$id": "order",
    "type": "object",
    "required": ["path", "count"],
    "properties": {
        "path": {"type": "string", "description": HOSTILE},
        "count": {"type": "integer", "minimum": 1},
        "price": {"type": ["number", "null"]},
        "fresh": {"type": "boolean"},
        "sort": {"enum": ["rye", "wheat", 3, None]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "box": {"type": "object", "properties": {"lid": {"type": "boolean", "default": True}}},
        "token": {"type": "string", "writeOnly": True},
    },
    "additionalProperties": False,
}
VERBS = {
    "order": ("command", "[{op: write, domain: 'fs:{path}'}]", ORDER, '{"path": "a.txt", "count": 2}'),
    "look": ("query", "[]", {"$schema": DRAFT, "$id": "look", "type": "object"}, "null"),
}
CODE = "def run(input, context):\n    return {'got': input}\n"


def files():
    base = ".keisei/primitives/kei-shop"
    metadata = '[project]\nname = "kei-shop"\nversion = "0.1.0"\n[tool.keisei]\nbackend = "memory"\n'
    found = [(f"{base}/pyproject.toml", metadata)]
    found.append((f"{base}/atoms/schemas/any.json", json.dumps({"$schema": DRAFT, "$id": "any", "type": "object"})))
    for verb, (kind, effects, schema, example) in VERBS.items():
        page = PAGE.format(verb=verb, kind=kind, effects=effects, example=example, hostile=HOSTILE)
        found += [(f"{base}/atoms/{verb}.md", page), (f"{base}/atoms/{verb}.py", CODE)]
        found.append((f"{base}/atoms/schemas/{verb}.json", json.dumps(schema)))
    return found


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path, files=files()) as opened:
        yield opened


def rows(house):
    return [each for each in house.api("/ledger")["items"] if each["kind"] == "atom_invoked"]


def test_atoms_are_listed_by_package_filtered_and_paged(house):
    every = house.api("/atoms", limit=200)["items"]
    first = house.api("/atoms", limit=2)
    second = house.api("/atoms", limit=2, after=first["next"])

    assert [each["atom"] for each in (*first["items"], *second["items"])] == [each["atom"] for each in every[:4]]
    assert [each["atom"] for each in house.api("/atoms", package="kei-shop")["items"]] == [
        "kei-shop::look",
        "kei-shop::order",
    ]
    assert [each["atom"] for each in house.api("/atoms", q="BAKERY", kind="query")["items"]] == ["kei-shop::look"]
    assert {each["layer"] for each in every} == {"kit", "project"}
    page = house.page("/atoms?package=kei-shop")
    assert "project" in page
    assert HOSTILE not in page
    assert "No atom fits" in house.page("/atoms?q=nothing-is-called-so")


def test_an_atom_that_cannot_be_used_is_told(house):
    (house.root / ".keisei/primitives/kei-shop/atoms/broken.md").write_text("no frontmatter")

    assert any("broken.md" in each for each in house.api("/atoms")["left_out"])
    assert "cannot be used" in house.page("/atoms")


def test_a_slow_walk_is_not_made_for_every_page(house):
    times = iter([0.0, 1.0, 2.0, 30.0, 30.01, 31.0, 31.01])
    kept = AtomRows(house.premises, clock=lambda: next(times))

    first, second, third = kept.listed(), kept.listed(), kept.listed()

    assert first is second
    assert second is not third
    assert third is not kept.listed()  # that one was quick


def test_a_page_tells_what_an_atom_promises_and_nothing_of_it_is_a_tag(house):
    told = house.api("/atoms/kei-shop::order")
    page = house.page("/atoms/kei-shop::order")

    assert told["asks_first"] is True
    assert told["effects"] == ["changes fs, what `path` names"]
    assert [each["name"] for each in told["input_rows"]][-2:] == ["box.lid", "token"]
    assert "kei-text::count" in [each["id"] for each in told["neighbours"]["related"]]
    assert HOSTILE not in page
    assert "javascript:" not in re.findall(r'href="([^"]*)"', page)
    assert page.count("<h1") == 1
    assert 'href="/forge?edit=kei-shop%3A%3Aorder"' in page
    assert 'href="/graph?id=kei-shop%3A%3Aorder"' in page
    assert 'type="password"' in page  # the token
    assert 'value="a.txt"' in page  # the first example


def test_an_unknown_atom_is_not_found(house):
    for name in ("kei-shop::nothing", "nobody::here", "x", "%00", "a" * 300, "%F0%9F%8D%9E", "..%2f..", "%ff"):
        assert house.client.get(f"/atoms/{name}").status_code in (404, 422), name
        assert house.client.get(f"/api/v1/atoms/{name}").status_code in (404, 422), name
        assert house.client.get(f"/api/v1/atoms/{name}/calls/{name}").status_code in (404, 422), name
        assert house.client.post(f"/api/v1/atoms/{name}/invoke", json={}).status_code in (404, 422), name


def test_a_call_is_answered_as_the_command_answers_and_leaves_its_row(house):
    told = house.order("/atoms/kei-shop::look/invoke", input={"n": 1}).json()

    assert told["result"] == {"got": {"n": 1}}
    assert told["metadata"].keys() == {"duration_ms", "atom", "invocation_id"}
    (row,) = rows(house)
    assert (row["actor"], row["subject"]) == ("operator:tester", "kei-shop::look")
    assert row["body"]["invocation_id"] == told["metadata"]["invocation_id"]
    page = house.page(told["page"])
    assert told["metadata"]["invocation_id"] in page


def test_what_an_atom_does_not_take_is_a_result(house):
    answer = house.order("/atoms/kei-shop::order/invoke", input={"count": "many"}, confirm=True)

    assert answer.status_code == 200
    assert answer.json()["error"]["kind"] == "schema-in"
    assert "count" in house.page(answer.json()["page"])
    assert len(rows(house)) == 1


def test_what_does_not_only_read_is_refused_without_a_confirm(house):
    answer = house.order("/atoms/kei-shop::order/invoke", input={"path": "bread.txt", "count": 1})

    assert answer.status_code == 409
    assert "fs:bread.txt" in answer.json()["detail"]
    assert rows(house) == []


def test_a_form_asks_first_and_a_question_is_answered_once(house):
    words = {
        "f.path": "x\r\ny",
        "f.count": "3",
        "f.fresh": "true",
        "f.sort": '"rye"',
        "f.tags": "a\r\nb\r\n",
        "f.box": '{"lid": false}',
    }
    asked = house.form("/atoms/kei-shop::order/invoke", **words)
    question = asked.headers["location"]
    page = house.page(question)
    assert "changes fs:x\\ny" in page
    assert rows(house) == []

    key = question.rpartition("/")[2]
    done = house.form("/atoms/kei-shop::order/invoke", asked=key, confirm="true")
    told = house.api(done.headers["location"])["called"]
    assert told["result"]["got"] == {
        "path": "x\ny", "count": 3, "fresh": True, "sort": "rye", "tags": ["a", "b"], "box": {"lid": False},
    }  # fmt: skip
    assert house.form("/atoms/kei-shop::order/invoke", asked=key, confirm="true").status_code == 404
    assert len(rows(house)) == 1


def test_a_question_about_an_atom_that_changed_since_is_asked_again(house):
    asked = house.form("/atoms/kei-shop::order/invoke", **{"f.path": "x", "f.count": "3"}).headers["location"]
    path = house.root / ".keisei/primitives/kei-shop/atoms/order.md"
    path.write_text(path.read_text().replace("fs:{path}", "fs"))

    answer = house.form("/atoms/kei-shop::order/invoke", asked=asked.rpartition("/")[2], confirm="true")

    assert answer.status_code == 409
    assert rows(house) == []


def test_the_whole_input_can_be_written_as_json_and_what_is_none_is_told(house):
    done = house.form("/atoms/kei-shop::look/invoke", input='{"deep": {"n": [1]}}')

    assert house.api(done.headers["location"])["called"]["result"] == {"got": {"deep": {"n": [1]}}}
    assert house.form("/atoms/kei-shop::look/invoke", input="{no").status_code == 422
    assert house.form("/atoms/kei-shop::order/invoke", **{"f.box": "{no"}).status_code == 422


def test_a_secret_is_shown_nowhere(house):
    told = house.order(
        "/atoms/kei-shop::order/invoke", input={"path": "hunter2", "count": 0, "token": "hunter2"}, ask=True
    )
    question = told.json()["page"]

    assert "hunter2" not in told.text
    assert "hunter2" not in house.page(question)
    assert "hunter2" not in house.client.get(f"/api/v1{question}").text
    assert "hunter2" not in house.page(f"/atoms/kei-shop::order?call={question.rpartition('/')[2]}")


def test_a_stream_is_shown_up_to_a_bound_and_leaves_its_row(tmp_path):
    with open_house(tmp_path) as house:
        make_package(house.root / ".keisei/primitives")
        told = house.order("/atoms/kei-pipe-test::count/invoke", input={"n": 10**6}).json()
        few = house.order("/atoms/kei-pipe-test::count/invoke", input={"n": 2}).json()

        assert (len(told["items"]), told["metadata"]["stopped"]) == (ITEMS, True)
        assert few["items"] == [{"n": 0}, {"n": 1}]
        assert "error" not in few
        assert "enough to look at" in house.page(told["page"])
        assert len(rows(house)) == 2


def test_an_atom_that_fails_is_a_result_and_commands_no_terminal(tmp_path):
    with open_house(tmp_path) as house:
        make_package(house.root / ".keisei/primitives")
        told = house.order("/atoms/kei-pipe-test::refuse/invoke", input={}, confirm=True).json()

        assert (told["error"]["kind"], told["error"]["code"]) == ("atom", "Refused")
        assert "\x1b" not in house.page(told["page"])


def test_more_calls_than_there_are_places_are_told_to_wait(house):
    calls = house.premises.keep(Calls)
    calls._places = threading.BoundedSemaphore(1)
    calls._places.acquire()

    assert house.order("/atoms/kei-shop::look/invoke").status_code == 503
    calls._places.release()
    assert house.order("/atoms/kei-shop::look/invoke").status_code == 200


@pytest.mark.parametrize("more", [{"visitor": VIEWER}, {"read_only": True}])
def test_who_only_looks_calls_nothing(tmp_path, more):
    with open_house(tmp_path, files=files(), **more) as house:
        assert house.order("/atoms/kei-shop::look/invoke").status_code == 403
        assert house.form("/atoms/kei-shop::look/invoke", input="{}").status_code == 403
        assert "/invoke" not in house.page("/atoms/kei-shop::look").replace("keisei atom invoke", "")
        assert rows(house) == []


def test_an_empty_field_is_not_said_and_what_is_no_number_is_left_to_the_schema():
    fields = fields_of(ORDER, {})

    assert input_of(fields, {"count": ["many"], "price": [""], "sizes": ["1\n2\nx"]}) == {
        "path": "",
        "count": "many",
        "sizes": [1, 2, "x"],
    }
    assert input_of(
        fields, {"path": ["a"], "count": ["1e3"], "price": ["1.5"], "fresh": ["yes"], "sort": ["null"]}
    ) == {
        "path": "a",
        "count": 1000.0,
        "price": 1.5,
        "fresh": "yes",
        "sort": None,
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"properties": 3},
        {"$ref": "#"},
        {"type": "object", "properties": {str(n): {} for n in range(500)}},
        {"type": "object", "required": ["unnamed"]},
    ],
)
def test_an_input_that_is_no_plain_object_is_written_as_json(schema):
    assert fields_of(schema, {}) in (None, ())
    assert len(schema_rows(schema)) <= 200


def test_a_schema_without_end_is_told_to_an_end():
    endless = {"properties": {"a": {"$ref": "#"}, "b": {"type": "array", "items": {"$ref": "#"}}}}

    assert 0 < len(schema_rows(endless)) <= 200
    assert [each.kind for each in fields_of(endless, {})] == ["json", "json"]


def test_a_memory_forgets_the_oldest_and_what_is_too_old_or_too_large():
    now = [0.0]
    memory = Memory(most=2, size=10, clock=lambda: now[0])
    for key, size in (("a", 1), ("b", 1), ("c", 1), ("d", 11)):
        memory.keep(key, key, size, seconds=5)
    assert [memory.find(key) for key in "abcd"] == [None, "b", "c", None]
    assert (memory.take("b"), memory.take("b")) == ("b", None)
    now[0] = 6.0
    assert memory.find("c") is None
