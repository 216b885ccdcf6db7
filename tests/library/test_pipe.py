"""Pipe files: read strictly, in both dialects, and every problem with its place."""

import pytest

from keisei.contracts.check import data_of
from keisei.library.pipe import load_pipe, pipe_of
from keisei.records.error import AuthorError

SEED = """[[steps]]
atom = "kei-task::create"
input = { title = "X" }
capture_as = "task"

[[steps]]
atom = "kei-task::add-dependency"
input = { parent = "$task.id", child = 17 }
"""


def written(folder, text, name="dag.toml"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def told(path):
    with pytest.raises(AuthorError) as caught:
        load_pipe(path)
    return [(each.code, each.line, each.column) for each in caught.value.problems]


def test_the_seeds_own_pipe_is_read(tmp_path):
    made = load_pipe(written(tmp_path, SEED, "two steps.toml"))

    assert [each.capture_as for each in made.definition.steps] == ["task", None]
    assert (made.name, made.warnings) == ("two steps", ())


def test_the_origins_dialect_is_read_with_one_warning(tmp_path):
    text = SEED.replace("capture_as", "id") + 'depends-on = ["task"]\nkind = "command"\ncache = { enabled = true }\n'

    made = load_pipe(written(tmp_path, text))

    assert (made.definition.steps[0].capture_as, made.definition.steps[1].needs) == ("task", ("task",))
    assert len(made.warnings) == 1
    assert "`id` is now `capture_as`" in made.warnings[0].message


def test_a_kept_definition_is_read_as_it_was(tmp_path):
    first = load_pipe(written(tmp_path, SEED)).definition

    again = pipe_of(data_of(first))

    assert again.definition == first
    assert again.complain("cycle", ("steps", 1, "input", "child"), "x").line == 14


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        pytest.param("[[steps]\n", [("syntax", 1, 8)], id="syntax"),
        pytest.param("", [("missing-key", 1, 1)], id="empty"),
        pytest.param("steps = []\n", [("wrong-value", 1, 9)], id="no-steps"),
        pytest.param(
            '[[steps]]\natom = "kei-x::y"\ninputs = {}\nif = 5\n',
            [("unknown-key", 3, 1), ("wrong-type", 4, 6)],
            id="keys",
        ),
        pytest.param(
            '[[steps]]\natom = "kei-x"\ncapture_as = "A b"\n',
            [("wrong-value", 2, 8), ("wrong-value", 3, 14)],
            id="names",
        ),
        pytest.param(
            '[pipe]\nmax_parallel = 0\non_failure = "go"\n[[steps]]\natom = "kei-x::y"\n',
            [("wrong-value", 2, 16), ("wrong-value", 3, 14)],
            id="head",
        ),
        pytest.param(
            '[[steps]]\natom = "kei-x::y"\nretry = { max = 101, after = 1 }\n',
            [("wrong-value", 3, 17), ("unknown-key", 3, 22)],
            id="retry",
        ),
        pytest.param('[[steps]]\natom = "kei-x::y"\natom = "kei-x::z"\n', [("duplicate-key", 3, 1)], id="twice"),
        pytest.param("[[steps]]\natom = 'kei-x::y'\ninput = { n = inf }\n", [("wrong-value", 3, 15)], id="no-json"),
        pytest.param(b"\xff\xfe", [("not-text", 1, 1)], id="not-utf8"),
        pytest.param("#" * (1024 * 1024 + 1), [("too-large", None, None)], id="too-large"),
        pytest.param(
            "[[steps]]\natom = 'kei-x::y'\ninput = { a = " + "[" * 100 + "]" * 100 + " }\n",
            [("too-deep", 3, 76)],
            id="too-deep",
        ),
    ],
)
def test_a_bad_file_is_refused_with_every_place(tmp_path, text, problems):
    assert told(written(tmp_path, text)) == problems


def test_a_file_that_is_none_is_refused(tmp_path):
    assert told(tmp_path) == [("unreadable", None, None)]
    assert told(tmp_path / "nowhere.toml") == [("unreadable", None, None)]
