"""The questions of the relevance test: enough of them, answerable, and as far from their answers as they claim."""

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.graph.relevance_corpus import DOCS, document_ids, lay_out

QUESTIONS = tomllib.loads((Path(__file__).parent / "question.toml").read_text(encoding="utf-8"))["question"]
ENDINGS = ("ions", "ings", "ion", "ing", "ies", "ed", "er", "es", "s", "e", "y")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return lay_out(tmp_path_factory.mktemp("a corpus"))


def half(name):
    return [each for each in QUESTIONS if each["half"] == name]


def answers(question):
    return [question["want"], *question.get("also", [])]


def words(text):
    return {word.casefold() for word in re.findall(r"[^\W\d_]+", text)}


def stem(word):
    """The word without one ending, nor the letter that it doubled: stopped, stopping and stops are stop."""
    rest = next((word.removesuffix(end) for end in ENDINGS if word.endswith(end) and len(word) - len(end) > 2), word)
    return rest[:-1] if len(rest) > 3 and rest[-1] == rest[-2] else rest


def alike(one, other):
    """Whether two words have one stem, or the longer stem begins with the shorter one of at least four letters."""
    short, long = sorted((stem(one), stem(other)), key=len)
    return short == long or (len(short) > 3 and long.startswith(short))


def shared(text, name):
    """The words of a text that stand in an id too, whatever their endings."""
    return {word for word in words(text) if any(alike(word, other) for other in words(name))}


@pytest.mark.parametrize(
    "pair", [("stopped", "stops"), ("migrations", "migrate"), ("reading", "Read"), ("test", "tests")]
)
def test_forms_of_one_word_are_alike(pair):
    assert shared(*pair)


@pytest.mark.parametrize("pair", [("read", "reason"), ("now", "no"), ("log", "loop"), ("a", "at")])
def test_words_that_only_begin_alike_are_not(pair):
    assert not shared(*pair)


def test_there_are_sixty_questions_thirty_in_each_half():
    assert Counter(each["half"] for each in QUESTIONS) == {"keyword": 30, "other": 30}


def test_a_question_has_known_fields_only():
    assert {key for each in QUESTIONS for key in each} == {"half", "ask", "want", "also"}


def test_no_question_is_asked_twice():
    assert len({" ".join(each["ask"].casefold().split()) for each in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize("name", ["keyword", "other"])
def test_no_document_is_wanted_twice_in_one_half(name):
    wanted = Counter(each["want"] for each in half(name))

    assert [each for each, times in wanted.items() if times > 1] == []


def test_few_questions_have_a_second_answer():
    assert len([each for each in QUESTIONS if "also" in each]) <= 10


def test_the_corpus_holds_enough_documents_under_different_ids(root):
    ids = document_ids(root)

    assert len(ids) >= 150
    assert len({each.casefold() for each in ids}) == len(ids)
    assert not [path for path in root.rglob("*") if path.is_symlink()]


def test_every_page_of_the_documentation_is_in_the_corpus(root):
    rules = {page.read_bytes() for page in root.glob("rules/*.md")}

    assert [page.name for page in DOCS.rglob("*.md") if page.read_bytes() not in rules] == []


def test_every_answer_is_a_document_of_the_corpus(root):
    assert {each for question in QUESTIONS for each in answers(question)} - set(document_ids(root)) == set()


def test_a_keyword_question_is_short_and_uses_a_word_of_its_answer():
    for each in half("keyword"):
        assert 2 <= len(re.findall(r"[\w']+", each["ask"])) <= 7, each["ask"]
        assert {word for word in shared(each["ask"], each["want"]) if len(word) > 2}, each["ask"]


def test_the_other_half_shares_one_word_at_most_with_the_id_of_any_answer():
    found = {(each["ask"], name): shared(each["ask"], name) for each in half("other") for name in answers(each)}

    assert {key: common for key, common in found.items() if len(common) > 1} == {}
