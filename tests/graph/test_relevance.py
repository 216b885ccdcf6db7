"""How good the search is: sixty questions, written before it, over everything that ships and every page of the docs."""

import tomllib
from pathlib import Path

import pytest

from keisei.settings import read_settings
from keisei.wiring.sage import open_sage
from tests.graph.relevance_corpus import lay_out

QUESTIONS = tomllib.loads((Path(__file__).parent / "question.toml").read_text("utf-8"))["question"]


@pytest.fixture(scope="module")
def recall(tmp_path_factory):
    """For each half the share of questions whose answer is among the first five, and those whose answer is not."""
    folder = tmp_path_factory.mktemp("relevance")
    found = {"keyword": [], "other": []}
    with open_sage(
        read_settings({"KEISEI_HOME": str(folder / "state")}), roots=(lay_out(folder),), start=folder
    ) as sage:
        assert sum(sage.tally()[0].values()) >= 150
        for question in QUESTIONS:
            hits = [hit.node.id for hit in sage.search(question["ask"], limit=5).hits]
            hit = bool({question["want"], *question.get("also", ())} & set(hits))
            found[question["half"]].append((hit, question["ask"], question["want"], hits))
    return found


def _share(rows):
    return sum(hit for hit, *_ in rows) / len(rows)


def _missed(rows):
    return "\n".join(f"{ask!r} wants {want}, found {hits}" for hit, ask, want, hits in rows if not hit)


def test_who_knows_roughly_what_it_is_called_finds_it_among_the_first_five(recall):
    assert _share(recall["keyword"]) >= 0.95, _missed(recall["keyword"])


def test_who_asks_in_other_words_finds_it_as_often_as_the_docs_say(recall):
    """The docs say this number; whoever makes it worse changes them."""
    assert _share(recall["other"]) >= 23 / 30, _missed(recall["other"])
