"""What stands behind the atoms of kei-sage: who may ask, and what is said where nothing can be asked."""

import pytest

from keisei.settings import read_settings
from keisei.wiring.sage_verb import drawing, family, kin, ranked, searched, taxonomy
from keisei.wiring.verb_error import VerbError
from tests.library.primitives import package

ASKED = [
    (searched, {"text": "create"}),
    (kin, {"id": "kei-task::create"}),
    (ranked, {}),
    (drawing, {"id": "kei-task::create"}),
    (taxonomy, {}),
    (family, {"id": "kei-task::create"}),
]
VERBS = pytest.mark.parametrize(("verb", "given"), ASKED, ids=[verb.__name__ for verb, _ in ASKED])


@pytest.fixture
def settings(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return read_settings({"HOME": str(tmp_path), "KEISEI_HOME": str(tmp_path / "state")})


@VERBS
def test_an_attempt_is_refused_before_anything_is_opened(settings, tmp_path, verb, given):
    with pytest.raises(VerbError) as error:
        verb(given, settings._replace(attempt_id="an-attempt"))

    assert error.value.code == "NotAllowed"
    assert not (tmp_path / "state").exists()


@VERBS
def test_a_working_directory_that_is_gone_is_told(settings, tmp_path, verb, given):
    (tmp_path / "here").rmdir()

    with pytest.raises(VerbError, match="working directory") as error:
        verb(given, settings)

    assert error.value.code == "StoreAway"


def test_what_was_written_since_the_last_question_is_in_the_answer(settings, tmp_path):
    def atoms():
        return {each["id"] for each in ranked({"limit": 1000}, settings)["ranked"]}

    before = atoms()
    folder = package(tmp_path / "here" / ".keisei" / "primitives", "mine", "one", "two")

    assert atoms() - before == {"mine::one", "mine::two"}
    (folder / "atoms" / "one.md").rename(folder / "atoms" / "three.md")
    (folder / "atoms" / "two.md").unlink()
    found = ranked({"limit": 1000}, settings)
    assert {each["id"] for each in found["ranked"]} == before
    assert found["unread"] == 1  # the page still says that it is `one`


def test_two_steps_are_taken_unless_another_depth_is_asked_for(settings):
    def depths(**given):
        return {each["depth"] for each in kin({"id": "kei-task::create", "limit": 500, **given}, settings)["related"]}

    assert depths() == depths(depth=2) == {1, 2}
    assert depths(depth=1) == {1}
