"""Problems, as RFC 9457 tells them."""

import json

import pytest

from keisei.console.guard_refusal import Refusal, answer_of, page
from keisei.console.problem import TYPES, problem


def test_a_problem_tells_what_is_known():
    status, headers, body = problem(422, "Bad", "no", hint="do", errors=[{"field": "a", "message": "b"}])

    told = {"type": "/problems/422", "title": "Bad", "status": 422, "detail": "no", "hint": "do"}
    assert (status, headers) == (422, {"content-type": "application/problem+json"})
    assert json.loads(body) == {**told, "errors": [{"field": "a", "message": "b"}]}
    assert set(json.loads(problem(418, "T", "d")[2])) == {"type", "title", "status", "detail"}
    assert json.loads(problem(418, "T", "d")[2])["type"] == "about:blank"


@pytest.mark.parametrize("status", sorted(TYPES))
def test_every_type_is_told_to_programs_and_to_people(status):
    for is_api in (True, False):
        assert answer_of(Refusal(status, "why", hint="what next"), is_api=is_api).status == status


def test_a_page_is_text_whatever_is_said():
    body = page(400, "<b>", "<script>alert(1)</script>", hint="<i>").body

    assert b"<script>" not in body
    assert b"<b>" not in body
    assert b"<i>" not in body
    assert b"<p>Why not.</p><p>Do it.</p>" in page(400, "No", "why not", hint="do it.").body
