import json

import pytest

from tests.console.house import VIEWER, open_house


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path) as opened:
        yield opened


def test_a_page_and_its_twin_tell_the_same(house):
    assert house.api("/home")["counts"]["pending"] == 0
    assert "<h1>Home</h1>" in house.page("/")


def test_an_unknown_address_is_a_problem_for_programs_and_a_page_for_people(house):
    told = house.client.get("/api/v1/nothing")
    assert told.status_code == 404
    assert told.headers["content-type"] == "application/problem+json"
    assert told.json()["status"] == 404
    shown = house.client.get("/nothing")
    assert shown.status_code == 404
    assert "<h1>Not Found" in shown.text


def test_what_a_client_has_already_is_not_sent_again(house):
    first = house.client.get("/api/v1/home")
    again = house.client.get("/api/v1/home", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_an_unknown_question_is_told_by_its_name(house):
    told = house.client.get("/api/v1/home?colour=blue")
    assert told.status_code == 422
    assert told.json()["errors"][0]["field"] == "colour"


def test_the_document_names_every_twin(house):
    paths = json.loads(house.client.get("/api/v1/openapi.json").content)["paths"]
    assert "get" in paths["/api/v1/home"]


def test_a_viewer_sees(tmp_path):
    with open_house(tmp_path, visitor=VIEWER) as house:
        assert "viewer" in house.page("/")
