"""New atoms: green at once, written whole or not at all, whatever they are called and whatever is said of them."""

import ast
import errno
import itertools
import json
import os
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema_rs
import pytest
import ryaml
from hypothesis import given
from hypothesis import settings as within
from hypothesis import strategies as st

from keisei.library import placement, placing
from keisei.library.atom import judged
from keisei.library.atom_new import plan_atom, write_atom
from keisei.library.atom_request import AtomRequest, checked_effect, checked_error
from keisei.library.atom_spec import read_atom
from keisei.library.inference import checked_example, inferred
from keisei.library.package import read_package
from keisei.library.template import PYTHON_WORDS, docstring, filled, one_line, prose, quoted, raw_rust, written
from keisei.records.error import AuthorError, OperatorError, WorldFault

KINDS = ("command", "query", "stream", "transform")
NASTY = {
    'a"\\b': "[[x::y]] %%verb%% ''' \"\"\" ```\n---\n\u202e\u2028\x00\x7f\ufeff 😀",
    "n": 1e22,
    "$ref": "#/nope",
    "$id": "http://example.org/x",
    "list": [[1, 2.5], ["a::b"], None],
    "no": {},
    "": [],
}
SAYS = '# He said """[[a::b]]""" %%atom%% \\ \u202e\n- "'


def request(folder, atom="kei-thing::do-it", **more):
    return AtomRequest(atom=atom, folder=folder, **more)


def tree(folder):
    """Every file with its bytes, its inode and its mode; folders and symlinks too."""
    found = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        content = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = (content, None if path.is_dir() else about.st_ino, about.st_mode)
    return found


def problems(package):
    found = judged(read_package(package), frozenset(), ())
    return [problem.render() for each in found for problem in each.problems]


# --- green at once ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["python", "rust"])
@pytest.mark.parametrize("backend", ["sqlite", "filesystem", "memory", "remote"])
def test_everything_that_is_made_is_lint_green(tmp_path, language, backend):
    for kind in KINDS:
        write_atom(request(tmp_path, f"kei-{kind}::do-it", kind=kind, language=language, backend=backend))
        if backend == "sqlite":  # what an example says has nothing to do with where state is kept
            said = {"input_example": NASTY, "output_example": NASTY, "description": SAYS}
            write_atom(request(tmp_path, f"kei-{kind}::match", kind=kind, language=language, **said))

        assert problems(tmp_path / f"kei-{kind}") == []


def test_the_tests_that_are_made_pass_with_plain_pytest_until_a_promise_is_broken(tmp_path):
    for kind in KINDS:
        write_atom(request(tmp_path, f"kei-plain::{kind}", kind=kind))
        write_atom(request(tmp_path, f"kei-kept::{kind}", kind=kind, backend="sqlite"))
        write_atom(request(tmp_path, f"kei-said::{kind}", kind=kind, input_example=NASTY, output_example=NASTY))
    write_atom(request(tmp_path))
    (tmp_path / "kei-thing/atoms/do_it.py").write_text("def run(input, context):\n    return {}\n")

    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "error"]
    places = [f"{each}/tests" for each in ("kei-plain", "kei-kept", "kei-said", "kei-thing")]
    done = subprocess.run([*words, "--import-mode=importlib", *places], cwd=tmp_path, capture_output=True, check=False)

    assert (done.returncode, b"1 failed, 12 passed" in done.stdout) == (1, True), done.stdout.decode()
    assert b"test_kei_thing_do_it.py::test_every_example_gives" in done.stdout


def test_what_people_say_comes_back_as_they_said_it(tmp_path):
    failing = checked_error('NotFound:404:it "is" \\ gone: """ %%atom%%')
    asked = request(tmp_path, input_example=NASTY, output_example=NASTY, description=SAYS, errors=(failing,))
    write_atom(asked)

    package = read_package(tmp_path / "kei-thing")
    atom = read_atom(package.folder / "atoms/do-it.md", package)
    space = {}
    exec((package.folder / "atoms/do_it.py").read_text(), space)  # noqa: S102 - what was just made
    project = tomllib.loads((package.folder / "pyproject.toml").read_text())

    assert atom.manifest.input.example == atom.manifest.output.example == space["EXAMPLE"] == NASTY
    assert atom.manifest.errors == (failing,)
    assert project["project"]["description"] == one_line(SAYS)
    assert "%%atom%%" in space["__doc__"]
    assert '"""[[a::b]]"""' in space["__doc__"]


def test_schemas_code_and_body_that_are_given_are_those_that_are_written(tmp_path):
    schema = inferred({"a": 1}, "mine", closed=True)
    code, body = "def run(input, context):\r\n    return {}", "# Mine\n\nDoes it.\n"
    more = {"timeout_ms": 5, "stability": "beta", "keywords": ("a",), "idempotent": True}
    write_atom(request(tmp_path, input_schema=schema, code=code, body=body, **more))

    package = read_package(tmp_path / "kei-thing")
    atom = read_atom(package.folder / "atoms/do-it.md", package)

    assert json.loads((package.folder / "atoms/schemas/do-it-input.json").read_text()) == schema
    assert (package.folder / "atoms/do_it.py").read_text() == "def run(input, context):\n    return {}\n"
    assert (atom.body, atom.manifest.input.required, atom.manifest.input.example) == (body, ("a",), {"a": 1})
    assert [getattr(atom.manifest, name) for name in more] == list(more.values())
    assert problems(package.folder) == []


@pytest.mark.parametrize("verb", ["match", "import", "type", "mod", "self", "json", "class", "run", "std", "test-x"])
def test_words_of_a_language_are_verbs_too(tmp_path, verb):
    for language in ("python", "rust"):
        write_atom(request(tmp_path, f"kei-{language}::{verb}", language=language))
        assert problems(tmp_path / f"kei-{language}") == []

    snake = verb.replace("-", "_")
    modules = (tmp_path / "kei-rust/src/atoms/mod.rs").read_text()
    module = modules.partition("pub mod ")[2].partition(";")[0]
    assert (tmp_path / f"kei-python/atoms/{snake}.py").is_file()
    assert (tmp_path / f"kei-rust/src/atoms/{module}.rs").is_file()
    assert f'"{verb}" => {module}::run(input, emit),' in modules
    assert module.removesuffix("_") == snake
    assert module != "mod"


def test_effects_and_idempotence_follow_from_kind_and_backend(tmp_path):
    def made(kind, backend, **more):
        atom = f"kei-{kind}-{backend}::do-it"
        page = plan_atom(request(tmp_path, atom, kind=kind, backend=backend, **more))[-1].content
        told = ryaml.loads(page.split("---\n")[1])
        return [(each["op"], each["domain"]) for each in told["side_effects"]], told["idempotent"], told.get("keyed")

    assert made("transform", "memory") == ([], True, None)
    assert made("query", "sqlite") == ([("read", "kei-query-sqlite-db")], True, None)
    assert made("command", "sqlite") == ([("write", "kei-command-sqlite-db")], False, True)
    assert made("command", "filesystem") == ([("write", "fs")], False, None)
    assert made("command", "remote") == ([("network", "kei-command-remote")], False, None)
    assert made("stream", "memory", effects=(checked_effect("other:x"),)) == ([("other", "x")], False, None)


# --- text in every language -------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=40) | st.sampled_from(
    ["[[", '"""', "\\", "%%atom%%"]
)
LEAF = (
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
VALUE = st.recursive(LEAF | TEXT, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))


@within(max_examples=50)
@given(VALUE)
def test_a_value_is_read_alike_by_every_language(value):
    for text in (written(value), written(value, indent=2)):
        assert json.loads(text) == value
    assert ryaml.loads(f"it: {written(value)}")["it"] == value
    assert ast.literal_eval(written(value, PYTHON_WORDS)) == value
    assert "[[" not in written(value, indent=2)


@within(max_examples=50)
@given(TEXT)
def test_a_text_never_leaves_its_quotes(text):
    line = one_line(text)

    assert tomllib.loads(f"it = {quoted(text)}")["it"] == text
    assert ast.literal_eval(f'"""x {docstring(line)}"""') == f"x {line}"
    assert ast.get_docstring(ast.parse(f'"""{docstring(line)}"""'), clean=False) == line
    assert "\n" not in quoted(text)
    assert "[[" not in prose(line)


@pytest.mark.parametrize("text", ['"', '"#', '"##x"#', "", "a\\"])
def test_a_raw_string_of_rust_ends_where_it_should(text):
    told = raw_rust(text)
    marks = told[1 : told.index('"')]

    assert told == f'r{marks}"{text}"{marks}'
    assert f'"{marks}' not in text


def test_a_token_in_a_value_is_not_looked_at_again():
    assert filled("%%a%% %%b%%\n", {"a": "%%b%%", "b": "%%a%%"}) == "%%b%% %%a%%\n"


def test_a_line_without_a_value_is_left_out():
    assert filled("x\n  %%a%%\ny%%a%%\n", {"a": ""}) == "x\ny\n"


@within(max_examples=50)
@given(st.dictionaries(TEXT, VALUE, max_size=4), st.booleans())
def test_an_example_fits_the_schema_it_suggests(example, closed):
    schema = inferred(example, "it", closed=closed)

    assert jsonschema_rs.Draft7Validator(schema).is_valid(example)
    assert jsonschema_rs.Draft7Validator(schema).is_valid({**example, "new key": 1}) is (not closed)


@pytest.mark.parametrize(
    "value",
    [[1], "text", None, {"n": float("inf")}, {"n": 2**53}, {"half": "\ud800"}, {"k" * 300: 1}],
    ids=["list", "text", "null", "infinite", "large", "surrogate", "key"],
)
def test_an_example_that_no_file_can_hold_is_refused(value):
    with pytest.raises(OperatorError):
        checked_example(value, "input example")


def test_an_example_that_is_nested_too_deeply_is_refused():
    value = {}
    for _ in range(500):
        value = {"a": value}

    with pytest.raises(OperatorError, match="nested"):
        checked_example(value, "input example")


# --- requests that cannot be ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "atom",
    [
        "",
        "x",
        "a::",
        "::b",
        "a::--help",
        "a::-b",
        "A::b",
        "a::b_c",
        "a::b::c",
        "../x::y",
        "a/b::c",
        "a::b\n",
        "a" * 200 + "::b",
    ],
)
def test_a_name_that_cannot_be_is_refused(tmp_path, atom):
    with pytest.raises(OperatorError):
        plan_atom(request(tmp_path, atom))

    assert tree(tmp_path) == {}


@pytest.mark.parametrize(
    "more",
    [
        {"kind": "transform", "effects": (checked_effect("read:fs"),)},
        {"kind": "query", "effects": (checked_effect("write:fs"),)},
        {"errors": (checked_error("Twice:404:x"), checked_error("Twice:500:y"))},
        {"atom": "test::x", "language": "rust"},
        {"atom": "match::x", "language": "rust"},
        {"input_example": [1]},
    ],
    ids=["transform", "query", "twice", "reserved", "keyword", "list"],
)
def test_a_request_that_contradicts_itself_is_refused(tmp_path, more):
    with pytest.raises(OperatorError):
        write_atom(request(tmp_path, **more))

    assert tree(tmp_path) == {}


@pytest.mark.parametrize("text", ["", "lower:404:x", "Code:abc:x", "Code:200:x", "Code:404:", "Code:404", "Code:²:x"])
def test_an_error_that_cannot_be_is_refused(text):
    with pytest.raises(OperatorError):
        checked_error(text)


@pytest.mark.parametrize("text", ["", "read", "read:", "eat:fs", "write:two words", "write:\x00"])
def test_an_effect_that_cannot_be_is_refused(text):
    with pytest.raises(OperatorError):
        checked_effect(text)


def test_an_effect_that_lint_would_not_take_is_told_before_anything_is_written(tmp_path):
    with pytest.raises(OperatorError, match="lint"):
        write_atom(request(tmp_path, effects=(checked_effect("write:read:fs"),)))

    assert tree(tmp_path) == {}


# --- a verb more ------------------------------------------------------------------------------------------------------


def test_a_verb_more_leaves_every_file_as_it_was(tmp_path):
    write_atom(request(tmp_path, backend="sqlite"))
    pyproject = tmp_path / "kei-thing/pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace("0.1.0", "1.2.3"))
    page = tmp_path / "kei-thing/atoms/do-it.md"
    page.write_text(page.read_text().replace("0.1.0", "1.2.3"))
    before = tree(tmp_path)

    made = write_atom(request(tmp_path, "kei-thing::undo-it"))

    after = tree(tmp_path)
    assert {name: after[name] for name in before} == before
    assert sorted(set(after) - set(before)) == sorted(str(each.relative_to(tmp_path)) for each in made)
    assert 'version: "1.2.3"' in made[-1].read_text()
    assert problems(tmp_path / "kei-thing") == []


@pytest.mark.parametrize("place", ["src/kei_thing", "kei_thing"])
def test_a_verb_goes_where_an_import_package_keeps_its_own(tmp_path, place):
    package = tmp_path / "kei-thing"
    (package / place / "atoms").mkdir(parents=True)
    (package / "pyproject.toml").write_text('[project]\nversion = "2.0"\n[tool.keisei]\nbackend = "memory"\n')

    made = write_atom(request(tmp_path))

    assert made[-1] == package / place / "atoms/do-it.md"
    assert (package / place / "atoms/do_it.py").is_file()
    assert problems(package) == []


def test_a_verb_more_in_rust_extends_the_dispatcher(tmp_path):
    for verb in ("do-it", "match", "undo-it"):
        write_atom(request(tmp_path, f"kei-thing::{verb}", language="rust"))

    lines = [line.strip() for line in (tmp_path / "kei-thing/src/atoms/mod.rs").read_text().splitlines()]
    assert [line for line in lines if line.startswith("pub mod")] == [
        "pub mod do_it;",
        "pub mod match_;",
        "pub mod undo_it;",
    ]
    assert lines.count('"match" => match_::run(input, emit),') == 1
    assert lines.index('"undo-it" => undo_it::run(input, emit),') < lines.index(
        '_ => Err(Failure::Atom("UnknownVerb", format!("there is no verb `{verb}`"))),'
    )


def test_a_dispatcher_that_is_not_ours_is_left_alone_with_what_to_add(tmp_path):
    package = tmp_path / "kei-thing"
    (package / "src/atoms").mkdir(parents=True)
    (package / "atoms").mkdir()
    cargo = '[package]\nname = "kei-thing"\nversion = "0.3.0"\n[package.metadata.keisei]\nbackend = "memory"\n'
    (package / "Cargo.toml").write_text(cargo)
    (package / "src/atoms/mod.rs").write_bytes(b"pub mod other;\r\n")
    before = tree(tmp_path)

    with pytest.raises(OperatorError) as refused:
        write_atom(request(tmp_path))

    assert tree(tmp_path) == before
    for line in ("pub mod do_it;", '"do-it" => do_it::run(input, emit),'):
        assert line in refused.value.hint

    by_hand = "".join(f"{line}\r\n" for line in refused.value.hint.splitlines()[1:-1])
    (package / "src/atoms/mod.rs").write_bytes(b"pub mod other;\r\n" + by_hand.encode())
    write_atom(request(tmp_path))

    assert (package / "src/atoms/mod.rs").read_bytes() == b"pub mod other;\r\n" + by_hand.encode()
    assert problems(package) == []


def test_a_crate_of_a_workspace_does_not_begin_one_of_its_own(tmp_path):
    write_atom(request(tmp_path / "alone", language="rust"))
    (tmp_path / "work").mkdir()
    (tmp_path / "work/Cargo.toml").write_text('[workspace]\nmembers = ["kei-*"]\n')
    write_atom(request(tmp_path / "work", language="rust"))

    read = {each: tomllib.loads((tmp_path / each / "kei-thing/Cargo.toml").read_text()) for each in ("alone", "work")}
    assert ("workspace" in read["alone"], "workspace" in read["work"]) == (True, False)


@pytest.mark.parametrize("more", [{"language": "rust"}, {"backend": "remote"}])
def test_a_package_keeps_its_language_and_its_backend(tmp_path, more):
    write_atom(request(tmp_path))

    with pytest.raises(OperatorError, match="kei-thing"):
        write_atom(request(tmp_path, "kei-thing::undo-it", **more))


# --- never over what is there -----------------------------------------------------------------------------------------

FILES = ("atoms/undo-it.md", "atoms/undo_it.py", "atoms/schemas/undo-it-input.json", "tests/test_kei_thing_undo_it.py")


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize("kind", ["file", "dangling", "link", "folder"])
def test_whatever_stands_in_the_way_stays(tmp_path, path, kind):
    write_atom(request(tmp_path))
    other, there = tmp_path / "other", tmp_path / "kei-thing" / path
    other.write_text("mine")
    if kind == "folder":
        there.mkdir()
    elif kind == "file":
        there.write_text("mine")
    else:
        there.symlink_to(other if kind == "link" else tmp_path / "nowhere")
    before = tree(tmp_path)

    with pytest.raises(OperatorError, match="already exists"):
        write_atom(request(tmp_path, "kei-thing::undo-it"))

    assert tree(tmp_path) == before


@pytest.mark.parametrize("folder", ["atoms/schemas", "tests"])
def test_a_folder_that_is_a_symlink_is_not_entered(tmp_path, folder):
    write_atom(request(tmp_path))
    inside, outside = tmp_path / "kei-thing" / folder, tmp_path / "outside"
    inside.rename(outside)
    inside.symlink_to(outside)
    before = tree(tmp_path)

    with pytest.raises(OperatorError, match="symlink"):
        write_atom(request(tmp_path, "kei-thing::undo-it"))

    assert tree(tmp_path) == before


@pytest.mark.parametrize("kind", ["file", "dangling", "link", "empty", "strange"])
def test_a_package_that_is_none_is_left_alone(tmp_path, kind):
    there, elsewhere = tmp_path / "kei-thing", tmp_path / "elsewhere"
    write_atom(request(elsewhere))
    if kind == "file":
        there.write_text("mine")
    elif kind in ("dangling", "link"):
        there.symlink_to(elsewhere / "kei-thing" if kind == "link" else tmp_path / "nowhere")
    else:
        there.mkdir()
        (there / "mine").write_text("mine") if kind == "strange" else None
    before = tree(tmp_path)

    with pytest.raises((OperatorError, AuthorError)):
        write_atom(request(tmp_path, "kei-thing::undo-it"))

    assert tree(tmp_path) == before


# --- all or nothing ---------------------------------------------------------------------------------------------------


def failing_at(monkeypatch, name, count, error):
    """The call of that number to a function of `os` fails."""
    real, calls = getattr(os, name), []

    def call(*words, **more):
        calls.append(words)
        if len(calls) == count:
            raise error
        return real(*words, **more)

    monkeypatch.setattr(placing.os, name, call)


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=["disk", "key"]
)
@pytest.mark.parametrize(
    ("name", "count"), [*(("link", each) for each in range(1, 8)), ("fsync", 1), ("fsync", 6), ("replace", 1)]
)
def test_whatever_fails_everything_is_as_it_was(tmp_path, monkeypatch, name, count, error):
    write_atom(request(tmp_path, language="rust"))
    (tmp_path / "kei-thing/src/atoms/mod.rs").chmod(0o640)
    for each in ("do_it_smoke.rs",):
        (tmp_path / "kei-thing/tests" / each).unlink()
    (tmp_path / "kei-thing/tests").rmdir()
    before = tree(tmp_path)
    failing_at(monkeypatch, name, count, error)

    with pytest.raises((WorldFault, KeyboardInterrupt)):
        write_atom(request(tmp_path, "kei-thing::undo-it"))

    assert tree(tmp_path) == before


@pytest.mark.parametrize("count", [1, 5])
def test_a_new_package_that_cannot_be_written_leaves_no_folder(tmp_path, monkeypatch, count):
    failing_at(monkeypatch, "fsync", count, OSError(errno.ENOSPC, "No space left on device"))

    with pytest.raises(WorldFault, match="no space left"):
        write_atom(request(tmp_path / "project/.keisei/primitives"))

    assert tree(tmp_path) == {}


def test_a_folder_that_is_none_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("mine")

    with pytest.raises(OperatorError, match="not a folder"):
        write_atom(request(tmp_path / "file"))


def test_a_plan_that_is_out_of_date_is_not_carried_out(tmp_path):
    write_atom(request(tmp_path, language="rust"))
    asked = request(tmp_path, "kei-thing::undo-it")
    planned = plan_atom(asked)
    write_atom(request(tmp_path, "kei-thing::match"))
    before = tree(tmp_path)

    with pytest.raises(OperatorError, match="changed meanwhile"):
        write_atom(asked, planned)

    assert tree(tmp_path) == before


@pytest.mark.parametrize("path", ["../evil", "kei-thing/../../evil", "/evil", "kei-other/evil", "kei-thing//x", "x\0"])
def test_a_file_that_leads_out_of_the_package_is_refused(tmp_path, path):
    asked = request(tmp_path / "packages")
    planned = [*plan_atom(asked), placement.NewFile(path=path, content="evil")]

    with pytest.raises(OperatorError, match="no path inside"):
        write_atom(asked, planned)

    assert tree(tmp_path) == {}


KILLED = """
import os, signal, sys
from pathlib import Path
from keisei.library import placement, placing
from keisei.library.atom_new import write_atom
from keisei.library.atom_request import AtomRequest
real, left = getattr(os, sys.argv[2]), [int(sys.argv[3])]
def call(*words, **more):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*words, **more)
setattr(placing.os, sys.argv[2], call)
write_atom(AtomRequest(atom=sys.argv[4], folder=Path(sys.argv[1]), language="rust"))
"""


@pytest.mark.parametrize(("name", "count"), [("link", 1), ("replace", 1), ("link", 7)])
def test_what_a_killed_one_began_is_taken_back_by_the_next(tmp_path, name, count):
    write_atom(request(tmp_path, language="rust"))
    before = tree(tmp_path)

    words = [sys.executable, "-c", KILLED, str(tmp_path), name, str(count), "kei-thing::undo-it"]
    done = subprocess.run(words, check=False)
    hidden = [each for each in (tmp_path / "kei-thing").iterdir() if each.name.startswith(placement.ASIDE)]
    visible = [each.name for each in (tmp_path / "kei-thing/atoms").glob("*.md")]
    with pytest.raises(OperatorError):
        write_atom(request(tmp_path, "kei-thing::do-it"))

    assert (done.returncode, len(hidden), visible) == (-9, 1, ["do-it.md"])
    assert tree(tmp_path) == before
    write_atom(request(tmp_path, "kei-thing::undo-it"))
    assert problems(tmp_path / "kei-thing") == []


def test_a_killed_one_leaves_at_most_a_hidden_folder_beside_a_new_package(tmp_path):
    words = [sys.executable, "-c", KILLED, str(tmp_path), "fsync", "4", "kei-thing::do-it"]
    subprocess.run(words, check=False)

    assert [each.name.startswith(".") for each in tmp_path.iterdir()] == [True]
    write_atom(request(tmp_path, language="rust"))
    assert problems(tmp_path / "kei-thing") == []


def test_a_journal_somebody_else_wrote_reaches_nothing_outside(tmp_path):
    write_atom(request(tmp_path))
    package, mine = tmp_path / "kei-thing", tmp_path / "mine"
    mine.write_text("mine")
    aside = package / f"{placement.ASIDE}evil"
    (aside / "kei-thing").mkdir(parents=True)
    os.link(mine, aside / "mine")
    (aside / "journal.json").write_text(json.dumps({"files": [["../mine", False], ["/x", True], 3], "folders": [".."]}))

    write_atom(request(tmp_path, "kei-thing::undo-it"))

    assert mine.read_text() == "mine"
    assert not aside.exists()


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "zeros"])
def test_a_journal_that_is_no_file_is_not_waited_for(tmp_path, make):
    write_atom(request(tmp_path))
    aside = tmp_path / "kei-thing" / f"{placement.ASIDE}evil"
    aside.mkdir()
    make(aside / "journal.json")

    write_atom(request(tmp_path, "kei-thing::undo-it"))

    assert not aside.exists()


def test_many_at_once_all_arrive(tmp_path):
    write_atom(request(tmp_path))
    verbs = [f"verb-{number}" for number in range(8)]

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda verb: write_atom(request(tmp_path, f"kei-thing::{verb}")), verbs))

    assert sorted(each.stem for each in (tmp_path / "kei-thing/atoms").glob("*.md")) == ["do-it", *verbs]
    assert problems(tmp_path / "kei-thing") == []


@pytest.mark.parametrize("there", [True, False], ids=["verb", "package"])
def test_of_many_at_once_under_one_name_one_wins(tmp_path, there):
    if there:
        write_atom(request(tmp_path, "kei-thing::first"))

    def attempt(number):
        try:
            return bool(write_atom(request(tmp_path, description=f"Number {number}.")))
        except OperatorError:
            return False

    with ThreadPoolExecutor(8) as threads:
        won = list(threads.map(attempt, range(8)))

    assert won.count(True) == 1
    assert f"Number {won.index(True)}." in (tmp_path / "kei-thing/atoms/do-it.md").read_text()
    assert not list(Path(tmp_path).rglob(f"{placement.ASIDE}*"))


# --- Rust, where it is here -------------------------------------------------------------------------------------------


def test_a_crate_that_is_made_builds_and_its_tests_pass(tmp_path):
    cargo = shutil.which("cargo") or shutil.which("cargo", path=Path.home() / ".cargo" / "bin")
    if cargo is None:
        pytest.skip("cargo is not installed")
    for verb, kind, example in (("do-it", "command", None), ("match", "stream", None), ("mod", "query", NASTY)):
        more = {"input_example": example, "output_example": example, "description": SAYS}
        write_atom(request(tmp_path, f"kei-thing::{verb}", kind=kind, language="rust", **more))
    quick = {**os.environ, "CARGO_NET_RETRY": "0", "CARGO_HTTP_TIMEOUT": "5"}
    place = {"cwd": tmp_path / "kei-thing", "env": quick, "capture_output": True}
    if subprocess.run([cargo, "fetch"], check=False, **place).returncode != 0:
        pytest.skip("the registry of crates cannot be reached")

    done = subprocess.run([cargo, "test"], check=False, **place)

    assert (done.returncode, done.stdout.count(b"... ok"), b"warning" in done.stderr) == (0, 3, False), done.stderr


# --- what is made lints -----------------------------------------------------------------------------------------------


def test_a_docstring_is_what_was_said_however_it_ends():
    for letters in (each for size in range(6) for each in itertools.product('"\\a', repeat=size)):
        text = "".join(letters)
        assert ast.literal_eval(f'"""x: {docstring(text)}"""') == f"x: {text}"


def test_every_file_of_python_that_is_made_passes_the_usual_rules_of_ruff(tmp_path):
    ruff = shutil.which("ruff", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert ruff is not None
    said = {"input_example": {"a": 1}, "output_example": {"b": [None, True]}, "errors": (checked_error("No:404:none"),)}
    for kind, backend, more in itertools.product(KINDS, ("sqlite", "memory"), ({}, said)):
        name = f"kei-{kind}-{backend}-{'said' if more else 'usual'}"
        description = 'It says \\"'
        write_atom(request(tmp_path, f"{name}::do-it", kind=kind, backend=backend, description=description, **more))

    done = subprocess.run(
        [ruff, "check", "--isolated", "--no-cache", tmp_path], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "All checks passed!\n")
    assert len(list(tmp_path.rglob("*.py"))) == 2 * 16
