import json
import re

import pytest

from keisei.console.forge_form import draft_form
from keisei.sandbox.confine import level_of
from keisei.sandbox.machine import probe
from tests.console.house import VIEWER, open_house

HOSTILE = "<script>alert(1)</script>"
ODD = f"{HOSTILE} \x1b[31m\u202e \"'&"
CODE = 'def run(input, context):\n    return {"words": len(input["text"].split())}\n'
DRAFT = {
    "package": "kei-note",
    "verb": "count",
    "kind": "transform",
    "description": "Counts words.",
    "input": {"rows": [{"name": "text", "example": "a b"}]},
    "output": {"rows": [{"name": "words", "type": "integer", "example": 2}]},
    "code": CODE,
}
WORDS = {
    "package": "kei-note",
    "verb": "count",
    "kind": "transform",
    "description": "Counts words.",
    "input.mode": "rows",
    "input.rows.0.name": "text",
    "input.rows.0.type": "string",
    "input.rows.0.required": "on",
    "input.rows.0.example": "a b",
    "input.rows.1.name": "",
    "input.rows.1.type": "string",
    "input.rows.1.required": "on",
    "output.mode": "example",
    "output.example": '{"words": 2}',
    "effects.mode": "suggested",
    "errors.0.code": "",
    "code": CODE.replace("\n", "\r\n"),
}
held = pytest.mark.skipif(level_of(probe()) == "none", reason="this machine cannot confine a process")


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path) as opened:
        yield opened


def tree(house):
    found = (each for each in house.root.rglob("*") if "__pycache__" not in each.parts)
    return {str(each.relative_to(house.root)): each.read_bytes() for each in found if each.is_file()}


def looked(house, **changes):
    answer = house.order("/forge/look", draft={**DRAFT, **changes})
    assert answer.status_code == 200, answer.text
    return answer.json()["look"]


def write(house, draft, **more):
    seen = house.order("/forge/look", draft=draft).json()["look"]["digest"]
    return house.order("/forge/write", draft=draft, seen=seen, **more)


# --- looking ----------------------------------------------------------------------------------------------------------


def test_the_empty_form_begins_with_the_package(house):
    page = house.page("/forge")

    assert re.search(r'<input id="package"[^>]* autofocus', page)
    assert len(page) < 200_000
    told = house.api("/forge")
    assert (told["look"], told["packages"], told["receipts"]) == (None, [], [])
    assert re.search(r'<input id="verb"[^>]* autofocus', house.page("/forge?package=kei-x"))


def test_a_draft_is_looked_at_and_nothing_is_written(house):
    before = tree(house)

    look = looked(house)

    assert (look["ready"], look["atom"], len(look["files"])) == (True, "kei-note::count", 6)
    assert {each["topic"] for each in look["words"]} == {"parallel", "retry", "cache", "reach"}
    assert [each["field"] for each in looked(house, verb="Not it")["problems"]] == ["verb"]
    assert looked(house, code="(")["lint"][0]["code"] == "syntax"
    assert tree(house) == before


def test_schemas_turn_between_rows_examples_and_json(house):
    def turned(path, **body):
        return house.order(path, side="input", **body).json()

    rows = turned("/forge/infer", example='{"a": 1, "b": {"c": "x"}}')["draft"]["rows"]
    raw = turned("/forge/schema", draft={"rows": rows}, form="raw")["draft"]["raw"]

    assert [(each["name"], each["type"]) for each in rows] == [("a", "integer"), ("b", "object")]
    assert raw["properties"]["b"]["properties"]["c"] == {"type": "string"}
    back = turned("/forge/schema", draft={"raw": raw}, form="rows")["draft"]
    assert turned("/forge/schema", draft=back, form="raw")["draft"]["raw"] == raw
    rich = turned("/forge/schema", draft={"raw": {**raw, "oneOf": [{}]}}, form="rows")
    assert (rich["draft"], "too rich for rows: `oneOf`" in rich["why"]) == (None, True)
    assert "is not JSON" in turned("/forge/infer", example="{")["why"]


def test_what_is_no_draft_is_refused(house):
    for draft in ({"kind": "dance"}, {"input": {"rows": [{"type": "x"}]}}, {"unknown": 1}, [], "x"):
        assert house.order("/forge/look", draft=draft).status_code == 422
    assert house.order("/forge/write", draft=DRAFT).status_code == 422


# --- the form without JavaScript --------------------------------------------------------------------------------------


def test_a_form_is_a_draft():
    more = {
        "keywords": "a, ,b",
        "idempotent": "no",
        "timeout_ms": "5",
        "errors.1.code": "Bad",
        "errors.1.description": "no",
        "effects.mode": "own",
        "effects.rows.0.op": "read",
        "effects.rows.0.domain": "fs",
        "effects.rows.1.op": "read",
        "effects.rows.1.domain": "",
        "output.mode": "rows",
        "output.rows.10.name": "late",
        "output.rows.2.name": "box",
        "output.rows.2.type": "array",
        "output.rows.2.items": "object",
        "output.rows.2.minimum": "2.5",
        "output.rows.2.fields.0.name": "lid",
        "output.rows.2.fields.0.type": "boolean",
        "output.rows.2.choices": "x\r\ny",
        "output.closed": "yes",
        "output.examples": '{"late": "x"}',
    }
    draft = draft_form([*{**WORDS, **more}.items()])["draft"]

    assert draft["code"] == CODE
    assert (draft["keywords"], draft["idempotent"], draft["timeout_ms"]) == (["a", "b"], False, "5")
    assert [each["name"] for each in draft["input"]["rows"]] == ["text"]
    box, late = draft["output"]["rows"]
    assert (box["name"], box["required"], box["items"], box["choices"], late["name"]) == (
        "box", False, "object", ["x", "y"], "late",
    )  # fmt: skip
    assert (box["minimum"], box["fields"][0]["type"]) == (2.5, "boolean")
    assert (draft["output"]["closed"], draft["output"]["examples"]) == (True, [{"late": "x"}])
    assert draft["errors"] == [{"code": "Bad", "description": "no"}]
    assert draft["effects"] == [{"op": "read", "domain": "fs"}]


@pytest.mark.parametrize(
    "words",
    [[("input", "x"), ("input.rows.0.name", "y")], [("a." * 200, "x")], [("input.rows.٣.name", "x")], [("kind", "")]],
)
def test_an_odd_form_is_no_crash(house, words):
    answer = house.client.post("/forge/look", data={"csrf": "form-token", **dict(words)}, follow_redirects=False)
    assert answer.status_code == 303


def test_a_form_is_looked_at_without_javascript(house):
    answer = house.form("/forge/look", **{**WORDS, "verb": "Not it", "description": ODD})
    page = house.page(answer.headers["location"])

    assert answer.status_code == 303
    assert "cannot be a verb&#39;s name" in page
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page
    assert house.client.get("/forge?kept=nothing").status_code == 404


@held
def test_the_whole_way_without_javascript(house):
    before = tree(house)
    page = house.page(house.form("/forge/look", **WORDS).headers["location"])
    seen = re.search(r'name="seen" value="([0-9a-f]+)"', page).group(1)
    assert "kei-note/atoms/schemas/count-output.json" in page
    assert "+    return {&#34;words&#34;" in page

    tried = house.page(house.form("/forge/try", **WORDS, value='{"text": "a b c"}').headers["location"])
    assert "confinement held" in tried
    assert re.search(r"words&#34;: 3", tried)

    assert house.form("/forge/write", **{**WORDS, "verb": "other"}, seen=seen).status_code == 422
    assert tree(house) == before
    done = house.page(house.form("/forge/write", **WORDS, seen=seen).headers["location"])
    assert "is written and holds" in done
    assert 'href="/atoms/kei-note%3A%3Acount"' in done
    assert house.client.get("/atoms/kei-note::count").status_code == 200

    receipt = re.search(r'name="receipt_id" value="([^"]+)"', done).group(1)
    undone = house.page(house.form("/forge/undo", receipt_id=receipt).headers["location"])
    assert "was taken back" in undone
    assert 'value="count"' in undone  # the work is in the form again
    assert 'name="edits"' not in undone
    assert tree(house) == before
    assert house.form("/forge/undo", receipt_id=receipt).status_code == 404


# --- trying and writing by the API ------------------------------------------------------------------------------------


@held
def test_a_draft_is_tried(house):
    tried = house.order("/forge/try", draft={**DRAFT, "timeout_ms": 10**12}).json()["tried"]
    assert [each["field"] for each in tried["problems"]] == []
    assert (tried["ok"], tried["examples"][0]["output"]) == (True, {"words": 2})
    wrong = house.order("/forge/try", draft=DRAFT, value={"text": 10**30}).json()["tried"]
    assert (wrong["ok"], wrong["examples"][0]["code"]) == (False, "schema-in")


@held
def test_what_is_written_can_be_taken_back_after_a_restart(house):
    before = tree(house)
    written = write(house, DRAFT).json()["written"]
    assert (written["status"], {each["status"] for each in written["postconditions"]}) == ("written", {"held"})
    again = house.order("/forge/write", draft=DRAFT, seen="x")
    assert (again.status_code, "already" in again.json()["detail"]) == (422, True)

    assert 'list="packages" value="kei-note"' in house.page("/forge")  # the package one most likely means
    (receipt,) = house.api("/forge")["receipts"]
    assert (receipt["receipt_id"], receipt["atom"]) == (written["receipt_id"], "kei-note::count")
    assert f'value="{receipt["receipt_id"]}"' in house.page("/forge")

    house.premises._kept.clear()  # another console, later
    undone = house.order("/forge/undo", receipt_id=receipt["receipt_id"]).json()["undone"]
    assert "kei-note" in undone["removed"]
    assert tree(house) == before
    assert house.order("/forge/undo", receipt_id=receipt["receipt_id"]).status_code == 404


@held
def test_what_does_not_hold_is_told(house):
    before = tree(house)
    broken = {**DRAFT, "code": "def run(input, context):\n    return {}\n"}

    written = write(house, broken, remember=True).json()

    assert written["written"]["status"] == "undone"
    page = house.page(written["page"])
    assert "was taken back: nothing has changed" in page
    assert "return {}" in page  # and the draft is still there
    assert tree(house) == before


@held
def test_a_change_that_breaks_is_confirmed(house):
    write(house, DRAFT)
    before = tree(house)
    draft = house.api("/forge", edit="kei-note::count")["draft"]
    assert house.api("/forge", edit="kei-note::count")["look"]["files"] == []
    changed = {**draft, "input": {"rows": [{"name": "text", "type": "array", "items": "string", "example": ["a"]}]}}
    changed["code"] = 'def run(input, context):\n    return {"words": len(input["text"])}\n'

    look = house.order("/forge/look", draft=changed).json()["look"]
    refused = house.order("/forge/write", draft=changed, seen=look["digest"])

    assert (look["ready"], look["breakage"]["answer"]) == (True, "breaking")
    assert refused.status_code == 409
    assert "a b" in refused.json()["detail"]  # what shows it
    assert tree(house) == before
    done = house.order("/forge/write", draft=changed, seen=look["digest"], breaks=True).json()
    assert done["written"]["status"] == "written"

    page = house.page("/forge?edit=kei-note%3A%3Acount")
    assert 'name="edits" value="kei-note::count"' in page
    back = house.form("/forge/undo", receipt_id=done["written"]["receipt_id"])
    assert tree(house) == before
    assert 'name="edits" value="kei-note::count"' in house.page(back.headers["location"])


@held
def test_hostile_words_are_data_on_the_page_of_an_edit(house):
    rows = [{"name": ODD, "description": ODD, "example": {"x": HOSTILE}, "type": "object"}]
    odd = {"package": "kei-odd", "verb": "do-it", "description": ODD, "input": {"rows": rows}, "keywords": [ODD]}
    odd["output"] = {
        "raw": {"type": "object", "examples": [{}], "description": f"</textarea>{HOSTILE}", "not": {"type": "null"}}
    }
    assert write(house, odd).json()["written"]["status"] == "written"

    page = house.page("/forge?edit=kei-odd::do-it")

    assert HOSTILE not in page
    assert "</textarea>&lt;" not in page
    raw = house.api("/forge", edit="kei-odd::do-it")["draft"]["output"]["raw"]
    assert json.loads(raw)["description"].endswith(HOSTILE)


def test_only_what_there_is_can_be_edited(house):
    assert house.client.get("/forge?edit=kei-no::such").status_code == 404
    assert house.client.get("/forge?edit=%00%1b").status_code == 404
    shipped = house.client.get("/api/v1/forge?edit=kei-task::create")
    assert (shipped.status_code, "not this project's own" in shipped.json()["detail"]) == (422, True)


@pytest.mark.parametrize("how", [{"visitor": VIEWER}, {"read_only": True}], ids=["viewer", "read-only"])
def test_who_may_only_look_looks(tmp_path, how):
    with open_house(tmp_path, **how) as house:
        before = tree(house)
        assert looked(house)["ready"]
        page = house.page("/forge")
        assert "/forge/write" not in page
        assert "data-review" not in page
        assert house.page(house.form("/forge/look", **WORDS).headers["location"]).count("/forge/write") == 0
        for path in ("try", "write", "undo"):
            assert house.order(f"/forge/{path}", draft=DRAFT, seen="x").status_code == 403
        assert tree(house) == before
