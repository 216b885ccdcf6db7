"""Hostile files: odd bytes, huge and deep ones, pipes, devices and symlinks where a file should be.

Whatever stands there, lint answers at once with a problem, and never waits, breaks or reads what is not the author's.
"""

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from keisei.library.catalog import Catalog
from keisei.library.document import Document, parse
from keisei.library.lint import PLURALS, lint
from keisei.library.load import load
from keisei.library.shelf import Layer
from keisei.library.source import LIMIT, Source, read_source
from keisei.library.spawn import ready_task
from keisei.records.error import AuthorError
from keisei.wiring import KIT
from tests.library.malformed import (
    agent,
    atom,
    capability,
    package,
    profile,
    project,
    role,
    runtime,
    skill,
    task,
    task_type,
    workflow,
)
from tests.library.malformed.case import at_once, broken, catalog_of, checked, errors, marked, write
from tests.library.malformed.door import keisei, surroundings

TABLES = [agent, atom, capability, package, profile, project, role, runtime, skill, task, task_type, workflow]
KINDS = [pytest.param(table.KIND, id=table.KIND.name) for table in TABLES]
PLAIN = "save the file as UTF-8 without a byte order mark"


def told(kind, folder, seconds=1.0):
    """Code, file, line and column of every error."""
    with at_once(seconds):
        found = errors(checked(kind, folder), folder)
    return [(each.code, each.file, each.line, each.column) for each in found]


def refused(path, seconds=1.0):
    """The problems of a file that does not parse."""
    with at_once(seconds), pytest.raises(AuthorError) as caught:
        parse(read_source(path))
    return caught.value.problems


def data_of(text, form):
    source = Source(Path(f"x.{form}"), f"x.{form}", text.encode("utf-8", "surrogatepass"), text)
    return Document(source, form).data


# Bytes that are not plain text.

MARKS = {
    "utf-8": b"\xef\xbb\xbf",
    "utf-16-little": b"\xff\xfe",
    "utf-16-big": b"\xfe\xff",
    "utf-32-little": b"\xff\xfe\0\0",
}


@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_byte_order_mark_is_told_of(kind, mark, tmp_path):
    write(tmp_path, kind.good | {kind.main: mark + kind.good[kind.main].encode()})

    assert told(kind, tmp_path) == [("not-text", kind.main, 1, 1)]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_another_encoding_is_told_of(encoding, tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes('[role]\nname = "x"\n'.encode(encoding))

    assert [each.code for each in refused(path)] == ["not-text"]


BAD_UTF8 = {
    "a-byte-that-never-stands": b"\xff",
    "a-continuation-alone": b"\x80",
    "an-overlong-slash": b"\xc0\xaf",
    "a-surrogate": b"\xed\xa0\x80",
    "beyond-unicode": b"\xf4\x90\x80\x80",
    "half-a-character": b"\xe2\x82",
    "latin-1": "é".encode("latin-1"),
}


@pytest.mark.parametrize("raw", BAD_UTF8.values(), ids=BAD_UTF8)
def test_bytes_that_are_not_utf_8_are_told_of_in_their_place(raw, tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes("a = 1\r\nb = 'é".encode() + raw + b"'\n")

    (problem,) = refused(path)

    assert (problem.code, problem.line, problem.column) == ("not-text", 2, 7)
    assert (problem.message, problem.hint) == ("is not UTF-8 here", PLAIN)


@pytest.mark.parametrize("kind", KINDS)
def test_a_nul_byte_is_told_of_in_its_place(kind, tmp_path):
    raw = kind.good[kind.main].encode()
    end = raw.index(b"\n")
    write(tmp_path, kind.good | {kind.main: raw[:end] + b"\0" + raw[end:]})

    assert told(kind, tmp_path) == [("not-text", kind.main, 1, end + 1)]


@pytest.mark.parametrize("raw", [b"\xff", b"a\0b", b"\xef\xbb\xbfa"], ids=["not-utf-8", "nul", "byte-order-mark"])
def test_a_fragment_that_is_not_text_is_told_of_and_not_composed(raw, tmp_path):
    write(tmp_path, capability.KIND.good | {capability.TEXT: raw} | SPAWNED)

    assert [each[:2] for each in told(capability.KIND, tmp_path)] == [("not-text", capability.TEXT)]
    with pytest.raises(AuthorError):
        catalog_of(tmp_path).fragment("policy::no-force")


# Line ends.


def kit_files():
    return sorted(str(path.relative_to(KIT)) for path in KIT.rglob("*") if path.is_file() and path.suffix != ".pyc")


def records(catalog):
    """Every record of a layer, by kind and name, and the task files."""
    kinds = [kind for kind in PLURALS.values() if kind not in ("atom", "task", "project")]
    return {(kind, name): catalog.loaded(kind, name).record for kind in kinds for name in catalog.names(kind)}


@pytest.fixture(scope="module")
def crlf_kit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crlf")
    write(folder, {file: (KIT / file).read_bytes().replace(b"\n", b"\r\n") for file in kit_files()})
    return folder


def test_the_kit_with_windows_line_ends_has_no_problems(crlf_kit):
    layer = Layer("kit", crlf_kit)

    report = lint(Catalog([layer]), PLURALS.values(), [layer])

    assert report.problems == []
    assert report.files == lint(Catalog([Layer("kit", KIT)]), PLURALS.values(), [Layer("kit", KIT)]).files


def test_the_kit_with_windows_line_ends_loads_the_same_records(crlf_kit):
    assert records(Catalog([Layer("kit", crlf_kit)])) == records(Catalog([Layer("kit", KIT)]))


@pytest.mark.parametrize("file", [each for each in kit_files() if Path(each).suffix in (".toml", ".json")])
def test_a_kit_file_with_windows_line_ends_parses_to_the_same_data(file, crlf_kit):
    assert parse(read_source(crlf_kit / file)).data == parse(read_source(KIT / file)).data


@pytest.mark.parametrize("kind", KINDS)
def test_a_good_project_with_windows_line_ends_has_no_problems(kind, tmp_path):
    write(tmp_path, {file: text.replace("\n", "\r\n") for file, text in kind.good.items()})

    assert checked(kind, tmp_path) == []


CRLF_CASES = [
    pytest.param(table.KIND, each, id=f"{table.KIND.name}-{each.name}")
    for table in TABLES
    for each in [each for each in table.CASES if each.says is not None and each.code != "syntax"][::5]
]


@pytest.mark.parametrize(("kind", "case"), CRLF_CASES)
def test_windows_line_ends_move_no_problem(kind, case, tmp_path):
    files = broken(kind, case)
    place = marked(files)
    write(tmp_path / "lf", files)
    write(
        tmp_path / "crlf",
        {file: text.replace("\n", "\r\n") if isinstance(text, str) else text for file, text in files.items()},
    )

    assert told(kind, tmp_path / "crlf") == told(kind, tmp_path / "lf")
    assert place


def test_a_lone_return_is_no_line_end_in_toml(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(b"a = 1\rb = 2\r")

    (problem,) = refused(path)

    assert (problem.code, problem.line, problem.column) == ("syntax", 1, 6)


def test_a_lone_return_is_white_space_in_json():
    assert data_of('{\r"a":\r1\r}', "json") == {"a": 1}


def test_a_lone_return_ends_no_frontmatter(tmp_path):
    write(tmp_path, skill.KIND.good | {skill.MAIN: skill.KIND.good[skill.MAIN].replace("\n", "\r").encode()})

    assert told(skill.KIND, tmp_path) == [("no-frontmatter", skill.MAIN, 1, 1)]


# Size.


@pytest.mark.parametrize("size", [LIMIT + 1, 10 * LIMIT, 10**12], ids=["one-byte-over", "10-mebibytes", "a-terabyte"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_over_the_limit_is_refused_at_once(kind, size, tmp_path):
    write(tmp_path, kind.good)
    os.truncate(tmp_path / kind.main, size)  # a hole: it takes no room on the disk

    assert told(kind, tmp_path) == [("too-large", kind.main, None, None)]


LARGE = {"x.toml": b"a = 1\n", "x.json": b'[1,\n"aa"],\n', "x.yaml": b"- a\n", "x.yml": b"- a\n"}


@pytest.mark.parametrize(("file", "line"), LARGE.items(), ids=LARGE)
def test_ten_megabytes_of_each_format_are_refused_at_once(file, line, tmp_path):
    path = tmp_path / file
    path.write_bytes(line * (10_000_000 // len(line)))

    (problem,) = refused(path, seconds=0.5)

    assert problem.code == "too-large"
    assert problem.message == "larger than 1024 KiB, the limit of an authored file"


@pytest.mark.parametrize(
    ("table", "file"),
    [
        (capability, capability.TEXT),
        (task_type, task_type.SCHEMA),
        (atom, atom.INPUT),
        (skill, skill.EXTRA),
        (runtime, runtime.BASE),
        (runtime, runtime.PROFILE),
        (package, package.CARGO),
    ],
    ids=["fragment", "payload", "schema", "skill.toml", "extends", "profile", "cargo"],
)
def test_a_file_that_is_leaned_on_has_the_same_limit(table, file, tmp_path):
    write(tmp_path, table.KIND.good)
    os.truncate(tmp_path / file, 10 * LIMIT)

    assert "too-large" in [code for code, *_ in told(table.KIND, tmp_path)]


PADDED = {
    "toml": (role.KIND, role.MAIN, lambda raw, room: raw + b"#" * room),
    "json": (runtime.KIND, runtime.MAIN, lambda raw, room: raw + b" " * room),
    "markdown": (skill.KIND, skill.MAIN, lambda raw, room: raw + b"x" * room),
}


@pytest.mark.parametrize(("kind", "file", "pad"), PADDED.values(), ids=PADDED)
def test_a_file_of_exactly_the_limit_is_read(kind, file, pad, tmp_path):
    raw = kind.good[file].encode()
    write(tmp_path, kind.good | {file: pad(raw, LIMIT - len(raw))})

    assert (tmp_path / file).stat().st_size == LIMIT
    assert told(kind, tmp_path) == []


# Depth, repetition and other bombs. The numbers are small: what is slow at this size never ends at the limit.

DEEP = {
    "toml-lists": ("toml", "a = " + "[" * 10_000 + "]" * 10_000),
    "toml-lists-not-closed": ("toml", "a = " + "[" * 500_000),
    "toml-inline-tables": ("toml", "a = " + "{a=" * 10_000 + "1" + "}" * 10_000),
    "toml-dotted-key": ("toml", "a." * 10_000 + "a = 1"),
    "toml-dotted-key-of-the-limit": ("toml", "a." * 500_000 + "a = 1"),
    "toml-dotted-key-in-a-table": ("toml", "x = {" + "a." * 10_000 + "a = 1}"),
    "toml-header": ("toml", "[" + "a." * 10_000 + "a]"),
    "toml-header-of-the-limit": ("toml", "[" + "a." * 500_000 + "a]"),
    "toml-list-header": ("toml", "[[" + "a." * 10_000 + "a]]"),
    "json-lists": ("json", "[" * 10_000 + "]" * 10_000),
    "json-lists-of-the-limit": ("json", "[" * 500_000 + "]" * 500_000),
    "json-objects": ("json", '{"a":' * 10_000 + "1" + "}" * 10_000),
    "json-65-levels": ("json", "[" * 65 + "1" + "]" * 65),
    "yaml-lists": ("yaml", "[" * 10_000 + "]" * 10_000),
    "yaml-objects": ("yaml", "{a: " * 10_000 + "1" + "}" * 10_000),
    "yaml-lists-of-the-limit": ("yaml", "[" * 1_000_000),
    "yaml-items": ("yaml", "- " * 10_000 + "a"),
    "yaml-keys": ("yaml", "? " * 10_000 + "a"),
    "yaml-stairs": ("yaml", "".join(f"{' ' * n}a:\n" for n in range(1000))),
    "yaml-65-levels": ("yaml", "[" * 65 + "1" + "]" * 65),
    "yaml-billion-laughs": (
        "yaml",
        "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)),
    ),
    "yaml-laughs-in-keys": (
        "yaml",
        "a0: &a0 {x: 1}\n"
        + "".join(f"a{n}: &a{n} {{{', '.join(f'k{k}: *a{n - 1}' for k in range(9))}}}\n" for n in range(1, 10)),
    ),
    "yaml-alias-of-itself": ("yaml", "a: &a [*a]\n"),
    "yaml-alias-of-itself-as-a-key": ("yaml", "&a a: {b: &b {c: *b}}\n"),
}


@pytest.mark.parametrize(("form", "text"), DEEP.values(), ids=DEEP)
def test_a_file_that_is_too_deep_is_refused_at_once(form, text, tmp_path):
    path = tmp_path / f"x.{form}"
    path.write_text(text, encoding="utf-8")

    (problem,) = refused(path)

    assert problem.code in ("too-deep", "syntax")
    assert problem.line


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_64_levels_are_not_too_deep(form):
    data = data_of("[" * 64 + "1" + "]" * 64, form)

    for _ in range(64):
        (data,) = data
    assert data == 1


def test_a_long_text_that_is_repeated_by_aliases_does_not_fill_the_memory(tmp_path):
    (tmp_path / "x.yaml").write_text(f"name: &a {'x' * 500_000}\ntags: [{', '.join(['*a'] * 100_000)}]\n")

    result = keisei("schema", "check", "x.yaml", "--as", "skill.frontmatter", cwd=tmp_path, memory=2 << 30)

    assert result.returncode == 1
    assert "error[too-deep]" in result.stderr


MANY = {
    "unknown-keys": (
        True,
        task.KIND,
        {task.MAIN: '[task]\nrole = "read-only"\n' + "".join(f"k{n} = 1\n" for n in range(110_000))},
    ),
    "unknown-yaml-keys": (
        True,
        skill.KIND,
        {skill.MAIN: "---\n" + "".join(f"k{n}: 1\n" for n in range(100_000)) + "---\nx\n"},
    ),
    "dangling-capabilities": (
        True,
        role.KIND,
        {
            role.CHILD: '[role]\nname = "child"\n[capabilities]\nrequired = ['
            + '"policy::no-git-op",\n' * 45_000
            + "]\n"
        },
    ),
    "keys-written-twice": (
        True,
        runtime.KIND,
        {runtime.MAIN: '{"substrate": {"x": [' + ", ".join(['{"a": 0, "a": 0}'] * 20_000) + "]}}"},
    ),
    "workflow-states": (
        False,
        workflow.KIND,
        {
            workflow.MAIN: 'workflow_type = "goal-loop"\ninitial_state = "s0"\n'
            + "".join(
                f'[[states]]\nstate_id = "s{n}"\ntransitions = [{{ signal = "go", next_state = "s{n + 1}" }}]\n'
                for n in range(10_000)
            )
            + '[[states]]\nstate_id = "s10000"\n'
        },
    ),
    "dead-links": (True, atom.KIND, {atom.MAIN: atom.KIND.good[atom.MAIN] + "[[kei-note::fnd]]\n" * 20_000}),
    "bad-globs": (
        True,
        task.KIND,
        {task.MAIN: '[task]\nrole = "edit-local"\n[scope]\nfiles-whitelist = [' + '"/x",\n' * 100_000 + "]\n"},
    ),
}


@pytest.mark.parametrize(("wrong", "kind", "files"), MANY.values(), ids=MANY)
def test_a_file_with_a_flood_of_anything_is_answered_in_bounded_time(wrong, kind, files, tmp_path):
    write(tmp_path, kind.good | files)

    found = told(kind, tmp_path, seconds=3)

    assert bool(found) == wrong


def test_thousands_of_roles_with_a_misspelt_parent_are_answered_in_bounded_time(tmp_path):
    text = '[role]\nname = "role-{0}"\ndescription = "One of many."\n\n[capabilities]\nextends = "rolle-{0}"\n'
    write(tmp_path, {f"roles/role-{n}.toml": text.format(n) for n in range(1000)})

    found = told(role.KIND, tmp_path, seconds=4)

    assert [code for code, *_ in found] == ["dangling"] * 1000


def test_five_thousand_roles_are_checked_in_bounded_time(tmp_path):
    write(
        tmp_path,
        {f"roles/r{n}.toml": f'[role]\nname = "r{n}"\ndescription = "One of many."\n' for n in range(5000)}
        | {"roles/wrong.toml": "[role]\n"},
    )

    assert told(role.KIND, tmp_path, seconds=8) == [("missing-key", "roles/wrong.toml", 1, 1)]


PATTERNS = {
    "repeats-a-billion-times": "(a{100000}){100000000}",
    "backtracks-over-its-own-example": "^(a|a){28}(?=x)y",
    "alternatives-of-alternatives": "((a|b)(a|b)(a|b)(a|b)){8}" * 50,
    "nests": "(" * 3000 + ")" * 3000,
    "posix-classes": "^[[:alpha:]]+$",
    "a-hundred-thousand-letters": "a" * 100_000,
}


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_a_hostile_pattern_of_a_role_is_answered_at_once(pattern, tmp_path):
    text = '[role]\nname = "x"\ndescription = "x"\n\n[tools]\nallowed = ["Bash"]\nbash-patterns-allowed = '
    write(tmp_path, {"roles/x.toml": f"{text}['{pattern}']\n"})

    with at_once(2):
        checked(role.KIND, tmp_path)


def test_a_hostile_pattern_of_a_capability_is_answered_at_once_when_a_role_meets_it(tmp_path):
    bomb = capability.KIND.good[capability.MAIN].replace("'^rm -rf '", "'^(a+)+$'")
    text = '[role]\nname = "x"\ndescription = "x"\n\n[capabilities]\nrequired = ["policy::no-force"]\n\n[tools]\n'
    lists = f"allowed = [\"Bash\"]\nbash-patterns-allowed = ['^{'a' * 40}!$']\n"
    write(tmp_path, capability.KIND.good | {capability.MAIN: bomb, "roles/x.toml": text + lists})

    with at_once(2):
        checked(role.KIND, tmp_path)


SCHEMAS = {
    "refers-to-itself": '"$ref": "#"',
    "refers-to-itself-in-all-of": '"allOf": [{"$ref": "#"}]',
    "refers-round": '"allOf": [{"$ref": "#/definitions/a"}], "definitions": {"a": {"$ref": "#/definitions/b"}, '
    '"b": {"$ref": "#/definitions/a"}}',
    "backtracks": '"pattern": "^(?=a)(a|a)*\\\\1!$"',
    "counts-to-a-billion": '"pattern": "^(a{1000}){1000}$"',
    "requires-a-tiny-multiple": '"multipleOf": 1e-300',
    "requires-a-huge-length": '"minLength": 1e308',
    "identifies-itself-elsewhere": '"$id": "http://example.org/x"',
    "identifies-a-part-elsewhere": '"properties": {"a": {"$id": "http://example.org/x", "$ref": "y.json"}}',
}


@pytest.mark.parametrize("rule", SCHEMAS.values(), ids=SCHEMAS)
def test_a_hostile_schema_is_answered_at_once(rule, tmp_path):
    draft = '"$schema": "http://json-schema.org/draft-07/schema#"'
    write(tmp_path, atom.KIND.good | {atom.INPUT: f'{{{draft}, {rule}, "examples": ["{"a" * 50}?", 1e300]}}'})

    with at_once(2):
        checked(atom.KIND, tmp_path)


# Numbers, dates and keys that one format knows and another does not.


@pytest.mark.parametrize(
    ("form", "text", "line", "column"),
    [
        ("toml", "a = 1\n\nb = inf\n", 3, 5),
        ("toml", "a = -nan", 1, 5),
        ("toml", "a = [1, 1e999]", 1, 9),
        ("toml", "a = 9007199254740992", 1, 5),
        ("toml", "a = 0x" + "f" * 10_000, 1, 5),
        ("toml", "a = 1\nb = " + "1" * 5_000, 2, 5),
        ("json", '{"a":\n NaN}', 2, 2),
        ("json", "[1, -Infinity]", 1, 5),
        ("json", "[1e999]", 1, 2),
        ("json", "[-9007199254740992]", 1, 2),
        ("json", "[1,\n " + "1" * 5_000 + "]", 2, 2),
        ("yaml", "a: .nan", 1, 4),
        ("yaml", "a: 1\nb: -.inf", 2, 4),
        ("yaml", "a: 9007199254740992", 1, 4),
    ],
    ids=[
        "toml-inf",
        "toml-nan",
        "toml-1e999",
        "toml-beyond-2^53",
        "toml-hexadecimal",
        "toml-5000-digits",
        "json-nan",
        "json-infinity",
        "json-1e999",
        "json-below-2^53",
        "json-5000-digits",
        "yaml-nan",
        "yaml-inf",
        "yaml-beyond-2^53",
    ],
)
def test_a_number_json_cannot_say_is_told_of_in_its_place(form, text, line, column, tmp_path):
    path = tmp_path / f"x.{form}"
    path.write_text(text, encoding="utf-8")

    (problem,) = refused(path)

    assert problem.code in ("wrong-value", "syntax")
    assert (problem.line, problem.column) == (line, column)


@pytest.mark.parametrize("digits", [4_000, 20_000, 1_000_000])
@pytest.mark.parametrize("form", ["toml", "json", "yaml"])
def test_a_number_of_many_digits_is_answered_at_once(form, digits, tmp_path):
    path = tmp_path / f"x.{form}"
    number = "7" * digits
    path.write_text({"toml": f"max = {number}", "json": number, "yaml": number}[form], encoding="utf-8")

    with at_once(), pytest.raises(AuthorError) as caught:
        load(parse(read_source(path)), "runtime.file")

    assert caught.value.problems


def test_dates_and_times_arrive_as_text():
    text = (
        "a = 1979-05-27\nb = 07:32:00\nc = 1979-05-27T07:32:00Z\nd = 1979-05-27 07:32:00\ne = 1979-05-27T00:32:00-07:00"
    )

    assert data_of(text, "toml") == {
        "a": "1979-05-27",
        "b": "07:32:00",
        "c": "1979-05-27T07:32:00Z",
        "d": "1979-05-27T07:32:00",
        "e": "1979-05-27T00:32:00-07:00",
    }
    assert data_of("a: 1979-05-27\nb: 1979-05-27T07:32:00Z", "yaml") == {"a": "1979-05-27", "b": "1979-05-27T07:32:00Z"}


KEYS = {"integer": "7", "float": "1.5", "null": "~", "true": "true", "nan": ".nan", "list": "[a]", "map": "{a: 1}"}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_a_yaml_key_that_is_not_text_is_told_of_in_its_place(key, tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(f"a: 1\nb:\n  ? {key}\n  : 1\n", encoding="utf-8")

    (problem,) = refused(path)

    assert problem.code == "wrong-type"
    assert (problem.line, problem.column) == (3, 5)


def test_two_kinds_of_the_same_key_are_told_of(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text('a: 1\n"a": 2\n', encoding="utf-8")

    (problem,) = refused(path)

    assert (problem.code, problem.line, problem.column) == ("duplicate-key", 2, 1)


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system ['touch {0}']",
        "!!python/object/new:os.system ['touch {0}']",
        "!!python/name:os.system",
        "!!python/module:os",
        "!<tag:yaml.org,2002:python/object/apply:os.system> ['touch {0}']",
        "!!js/function 'x'",
        "!include {0}",
        "!ENV HOME",
    ],
    ids=["apply", "new", "name", "module", "verbatim", "javascript", "include", "environment"],
)
def test_a_yaml_tag_is_never_obeyed(value, tmp_path):
    made = tmp_path / "made"
    text = skill.KIND.good[skill.MAIN].replace("license: Apache-2.0", "license: " + value.format(made))
    write(tmp_path, skill.KIND.good | {skill.MAIN: text})

    found = told(skill.KIND, tmp_path)

    assert not made.exists()
    assert [each for each in found if each[1] != skill.MAIN] == []


def test_a_merge_key_merges_nothing():
    assert data_of("a: &a {x: 1}\nb:\n  <<: *a\n  y: 2\n", "yaml")["b"].get("x") is None


YAML = {
    "two-documents": ("a: 1\n---\nb: 2\n", "syntax"),
    "a-tab-as-indent": ("a:\n\tb: 1\n", "syntax"),
    "a-control-character": ('a: "\x07"\n', "syntax"),
    "half-a-surrogate-pair": ('a: "\\ud800"\n', "syntax"),
    "an-unknown-anchor": ("a: *b\n", "syntax"),
    "an-unknown-escape": ('a: "\\q"\n', "syntax"),
    "a-list-not-closed": ("a: [1\n", "syntax"),
    "only-an-indicator": ("@", "syntax"),
    "a-directive-twice": ("%YAML 1.2\n%YAML 1.2\n---\na: 1\n", "syntax"),
    "a-key-twice-in-a-list": ("- a: 1\n- b: 1\n  b: 2\n", "duplicate-key"),
    "a-key-twice-in-flow": ("{a: 1, b: {c: 1, c: 2}}", "duplicate-key"),
}


@pytest.mark.parametrize(("text", "code"), YAML.values(), ids=YAML)
def test_odd_yaml_is_refused(text, code, tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")

    (problem,) = refused(path)

    assert problem.code == code
    assert problem.line


@pytest.mark.parametrize("text", ['["\\ud800"]', '["a\\udfffb"]', '{"\\ud800": 1}', '{"a": {"\\udc00": 1}}'])
def test_half_a_surrogate_pair_in_json_is_told_of(text, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")

    (problem,) = refused(path)

    assert problem.code == "not-text"
    assert problem.render().encode()


# Names in all the world's letters.

NAMES = {
    "composed": "caf\u00e9",
    "decomposed": "cafe\u0301",
    "right-to-left": "\u05e9\u05dc\u05d5\u05dd",
    "turned-around": "edit\u202elacol",
    "zero-width": "edit\u200blocal",
    "emoji": "\U0001f600",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "full-width": "\uff45dit",
    "cyrillic": "\u0435dit-local",
    "dotless": "ed\u0131t",
    "digit": "r\u0663",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_outside_ascii_is_refused_in_its_place(name, tmp_path):
    write(tmp_path, {f"roles/{name}.toml": f'[role]\ndescription = "{name}"\nname = "{name}"\n'})

    assert told(role.KIND, tmp_path) == [("wrong-value", f"roles/{name}.toml", 3, 8)]


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_glob_in_any_letters_is_kept_as_it_is_written(name, tmp_path):
    globs = [f"src/{name}/**", f"**/*.{name}"]
    spec = f'[task]\nrole = "edit-local"\n\n[scope]\nfiles-whitelist = {json.dumps(globs, ensure_ascii=False)}\n'
    write(tmp_path, {task.MAIN: spec})

    assert told(task.KIND, tmp_path) == []
    assert list(load(parse(read_source(tmp_path / task.MAIN)), "task.spec").record.scope.files_whitelist) == globs


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_columns_count_characters_and_not_bytes(name, tmp_path):
    write(tmp_path, {task.MAIN: f'[task]\nrole = "read-only"\n\n[scope]\nfiles-whitelist = ["{name}", "/x"]\n'})

    assert told(task.KIND, tmp_path) == [("bad-glob", task.MAIN, 5, 20 + len(name) + 4)]


# Things that are no files.


def fifo(path):
    os.mkfifo(path)


def folder(path):
    path.mkdir()


def dangling(path):
    path.symlink_to(path.parent / "nothing")


def loop(path):
    path.symlink_to(path)


def zeros(path):
    path.symlink_to("/dev/zero")


def listening(path):
    here = Path.cwd()
    os.chdir(path.parent)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


PLACES = {each.__name__: each for each in (fifo, folder, dangling, loop, zeros, listening)}
REGULAR_ONLY = {"profile", "role", "task-type", "workflow"}
"""Kinds whose folder is listed by endings; a folder called `x.toml` there is a folder."""


@contextmanager
def as_an_ordinary_user():
    """Root reads everything, so as root the block runs as nobody."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_file_that_may_not_be_read_is_told_of():
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "task.toml").write_text("x")
        (folder / "task.toml").chmod(0)

        with as_an_ordinary_user(), pytest.raises(AuthorError) as refusal:
            read_source(folder / "task.toml")

    (problem,) = refusal.value.problems
    assert (problem.code, problem.message) == ("unreadable", "cannot be read: permission denied")


@pytest.mark.parametrize("make", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_in_place_of_a_file_is_told_of_and_not_waited_for(kind, make, tmp_path):
    write(tmp_path, kind.good)
    (tmp_path / kind.main).unlink()
    make(tmp_path / kind.main)

    found = told(kind, tmp_path)

    if not (make is folder and kind.name in REGULAR_ONLY):
        assert "unreadable" in [code for code, *_ in found], found


LEANED_ON = {
    "fragment": (capability, capability.TEXT),
    "gate": (capability, f"{capability.HERE}/gate.sh"),
    "verify": (capability, f"{capability.HERE}/verify.sh"),
    "payload": (task_type, task_type.SCHEMA),
    "schema": (atom, atom.INPUT),
    "schema-referred-to": (atom, f"{atom.HERE}/atoms/schemas/id.json"),
    "skill.toml": (skill, skill.EXTRA),
    "subagent": (skill, f"{skill.HERE}/AGENT.md"),
    "soul": (agent, agent.SOUL),
    "extends": (runtime, runtime.BASE),
    "profile": (runtime, runtime.PROFILE),
    "cargo": (package, package.CARGO),
    "migrations": (package, f"{package.PYTHON}/migrations/0001_first.sql"),
}


@pytest.mark.parametrize("make", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize(
    ("table", "file"),
    [LEANED_ON[each] for each in LEANED_ON if each != "migrations"],
    ids=[each for each in LEANED_ON if each != "migrations"],
)
def test_what_stands_in_place_of_a_file_that_is_leaned_on_is_told_of(table, file, make, tmp_path):
    write(tmp_path, table.KIND.good)
    (tmp_path / file).unlink()
    make(tmp_path / file)

    found = told(table.KIND, tmp_path)

    assert found


# Symlinks that lead out.


@pytest.fixture
def secret(tmp_path_factory):
    """A file outside of everything, of every form at once as far as that goes."""
    path = tmp_path_factory.mktemp("outside") / "secret.json"
    path.write_text('{"$schema": "http://json-schema.org/draft-07/schema#", "examples": [{}]}\n')
    return path


OUTSIDE = {
    "fragment": (capability, capability.TEXT),
    "gate": (capability, f"{capability.HERE}/gate.sh"),
    "verify": (capability, f"{capability.HERE}/verify.sh"),
    "payload": (task_type, task_type.SCHEMA),
    "schema": (atom, atom.OUTPUT),
    "subagent": (skill, f"{skill.HERE}/AGENT.md"),
    "sensor": (skill, f"{skill.HERE}/sensor.py"),
    "soul": (agent, agent.SOUL),
    "purpose": (agent, agent.PURPOSE),
}


@pytest.mark.parametrize(("table", "file"), OUTSIDE.values(), ids=OUTSIDE)
def test_a_symlink_that_leads_out_is_told_of(table, file, secret, tmp_path):
    write(tmp_path, table.KIND.good)
    (tmp_path / file).unlink()
    (tmp_path / file).symlink_to(secret)

    (found,) = told(table.KIND, tmp_path)

    assert found[0] in ("outside", "missing-file")


@pytest.mark.parametrize("target", ["/etc/hostname", "/etc/passwd", "/dev/zero", "/proc/self/environ"])
def test_a_fragment_that_leads_out_is_never_composed(target, tmp_path):
    write(tmp_path, capability.KIND.good | SPAWNED)
    (tmp_path / capability.TEXT).unlink()
    (tmp_path / capability.TEXT).symlink_to(target)

    with at_once(), pytest.raises(AuthorError) as caught:
        ready_task(catalog_of(tmp_path), tmp_path / "task.toml")

    assert [problem.code for problem in caught.value.problems] == ["outside"]


def test_a_folder_in_a_path_that_leads_out_is_told_of(secret, tmp_path):
    text = capability.KIND.good[capability.MAIN].replace('"gate.sh"', '"bin/secret.json"')
    write(tmp_path, capability.KIND.good | {capability.MAIN: text})
    (tmp_path / capability.HERE / "bin").symlink_to(secret.parent)

    assert [code for code, *_ in told(capability.KIND, tmp_path)] == ["outside"]


def test_a_schema_never_refers_through_a_symlink_to_what_is_outside(secret, tmp_path):
    write(tmp_path, atom.KIND.good)
    other = tmp_path / atom.HERE / "atoms" / "schemas" / "id.json"
    other.unlink()
    other.symlink_to(secret)

    assert [code for code, *_ in told(atom.KIND, tmp_path)] == ["bad-schema"]


def test_migrations_that_lead_out_are_told_of(secret, tmp_path):
    write(tmp_path, {file: text for file, text in package.KIND.good.items() if "/migrations/" not in file})
    (tmp_path / package.PYTHON / "migrations").symlink_to(secret.parent)

    assert [code for code, *_ in told(package.KIND, tmp_path)] == ["outside"]


@pytest.mark.parametrize(
    ("kind", "name", "place"),
    [
        ("capability", "policy::no-force", capability.HERE),
        ("skill", "code-review", skill.HERE),
        ("agent", "indra", agent.HERE),
    ],
    ids=["capability", "skill", "agent"],
)
def test_what_lint_does_not_see_is_not_used_either(kind, name, place, tmp_path):
    good = {"capability": capability, "skill": skill, "agent": agent}[kind].KIND.good
    write(tmp_path / "elsewhere", good)
    (tmp_path / "project" / place).parent.mkdir(parents=True)
    (tmp_path / "project" / place).symlink_to(tmp_path / "elsewhere" / place)
    catalog = Catalog([Layer("project", tmp_path / "project")])

    assert (name in catalog.names(kind)) == (catalog.found(kind, name) is not None)


# Names of files.

ODD_NAMES = {
    "newline": b"a\nb",
    "forged": b"x.toml:1:1: error[syntax]: all is well\ny",
    "escape": b"a\x1b[31mb",
    "not-utf-8": b"a\xffb",
    "space": b"a b",
    "dash": b"--json",
    "quote": b"a'b\"c",
    "long": b"a" * 250,
    "emoji": "\U0001f600".encode(),
    "dots": b"a..b",
    "percent": b"%s%n{0}",
}


@pytest.mark.parametrize("name", ODD_NAMES.values(), ids=ODD_NAMES)
def test_a_file_with_an_odd_name_is_checked_like_any_other(name, tmp_path):
    (tmp_path / "roles").mkdir()
    Path(os.fsdecode(bytes(tmp_path / "roles") + b"/" + name + b".toml")).write_text("[role]\n", encoding="utf-8")

    result = keisei("lint", "roles", "--kit-root", str(tmp_path), "--json", cwd=tmp_path)

    assert "Traceback" not in result.stderr
    assert result.returncode == 1
    (problem,) = json.loads(result.stdout)["problems"]
    assert (problem["code"], problem["line"], problem["column"]) == ("missing-key", 1, 1)


@pytest.mark.parametrize("name", ODD_NAMES.values(), ids=ODD_NAMES)
def test_a_file_name_forges_no_line_of_the_report(name, tmp_path):
    (tmp_path / "roles").mkdir()
    Path(os.fsdecode(bytes(tmp_path / "roles") + b"/" + name + b".toml")).write_text("[role]\n", encoding="utf-8")

    result = keisei("lint", "roles", "--kit-root", str(tmp_path), cwd=tmp_path)

    assert "Traceback" not in result.stderr
    assert result.returncode == 1
    assert len(result.stdout.splitlines()) == 2, result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("name", ["a\0b.toml", "\0", "x" * 5000 + ".toml", "x/" * 3000 + "y.toml"], ids=range(4))
def test_a_path_that_cannot_be_is_told_of(name, tmp_path):
    with at_once(), pytest.raises(AuthorError) as caught:
        read_source(tmp_path / name)

    assert [problem.code for problem in caught.value.problems] == ["unreadable"]


# Through the door.

SPAWNED = {
    "roles/forced.toml": '[role]\nname = "forced"\n\n[capabilities]\nrequired = ["policy::no-force"]\n',
    "task.toml": '[task]\nrole = "forced"\n',
}
GOOD_ROLE = '[role]\nname = "{0}"\ndescription = "x"\n'
HOSTILE = {
    "roles/mark.toml": b"\xef\xbb\xbf" + GOOD_ROLE.format("mark").encode(),
    "roles/latin.toml": '[role]\nname = "é"\n'.encode("latin-1"),
    "roles/nul.toml": b"[role]\n\0",
    "roles/deep.toml": "a = " + "[" * 10_000,
    "roles/dotted.toml": "a." * 5_000 + "a = 1",
    "roles/integer.toml": "a = " + "1" * 5_000,
    "roles/infinite.toml": "a = inf",
    "roles/twice.toml": "a = 1\na = 2\n",
    "roles/return.toml": "a = 1\rb = 2\r",
    "roles/escape.toml": '"\\u001b[2J" = 1\n',
    "workflows/surrogate.json": '{"\\ud800": 1}',
    "workflows/surrogates.json": '{"\\ud800": 1, "\\ud800": 2}',
    "workflows/nan.json": "[NaN]",
    "workflows/deep.json": "[" * 10_000,
    "workflows/empty.json": "",
    "skills/laughs/SKILL.md": "---\n" + DEEP["yaml-billion-laughs"][1] + "---\nx\n",
    "skills/tag/SKILL.md": "---\nname: !!python/name:os.system x\n---\nx\n",
    "skills/twice/SKILL.md": "---\nmetadata:\n  a: b\n  a: c\n---\nx\n",
    "skills/keys/SKILL.md": "---\n? [a]\n: b\n---\nx\n",
    "agents/date/agent.toml": "[identity]\nagent_id = 2026-01-01\n",
    "profiles/large.toml": "#" * (LIMIT + 1),
    "capabilities/policy/empty/capability.toml": "",
    "task-types/long.toml": f'task_type = "long"\npayload_schema_id = "{"x" * 300}"\n',
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A kit root with every hostile file at once."""
    root = tmp_path_factory.mktemp("hostile")
    write(root, HOSTILE)
    os.mkfifo(root / "roles" / "fifo.toml")
    (root / "roles" / "zeros.toml").symlink_to("/dev/zero")
    (root / "roles" / "loop.toml").symlink_to("loop.toml")
    (root / "roles" / "dangling.toml").symlink_to("nothing.toml")
    return root


LISTED = [*HOSTILE, *(f"roles/{each}.toml" for each in ("fifo", "zeros", "loop", "dangling"))]


def test_lint_of_a_hostile_folder_tells_of_every_file_as_json(hostile):
    result = keisei("lint", "--kit-root", str(hostile), "--json", cwd=hostile)

    answer = json.loads(result.stdout)
    told_of = {each["path"] for each in answer["problems"] if each.get("severity", "error") == "error"}
    assert "Traceback" not in result.stderr
    assert result.returncode == 1
    assert sorted(set(LISTED) - told_of) == []


def test_lint_of_a_hostile_folder_tells_of_every_file_for_people(hostile):
    result = keisei("lint", "--kit-root", str(hostile), cwd=hostile)

    assert "Traceback" not in result.stderr
    assert result.returncode == 1
    assert [file for file in LISTED if f"{file}:" not in result.stdout] == []
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("file", ["workflows/surrogates.json", "workflows/surrogate.json", "roles/escape.toml"])
def test_schema_check_of_a_hostile_file_exits_1(file, hostile):
    name = "role.manifest" if file.endswith("toml") else "workflow.definition"

    result = keisei("schema", "check", file, "--as", name, cwd=hostile)

    assert result.returncode == 1
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert f"{file}:1:" in result.stderr


@pytest.mark.parametrize("file", ["roles/fifo.toml", "roles/zeros.toml", "roles/loop.toml", "roles", "/dev/null"])
def test_compose_of_what_is_no_file_exits_1(file, hostile):
    result = keisei("agent", "compose", file, cwd=hostile)

    assert result.returncode == 1
    assert result.stdout == ""
    assert "error[unreadable]" in result.stderr


def test_the_report_is_printed_where_the_terminal_knows_only_ascii(tmp_path):
    write(tmp_path, {"task.toml": f'[task]\nrole = "é{"x" * 80}"\n'})
    environment = surroundings(tmp_path) | {"PYTHONIOENCODING": "ascii"}

    result = subprocess.run(
        [sys.executable, "-m", "keisei", "lint", "tasks", "task.toml"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert result.returncode == 1
    assert b"task.toml:2:8: error[wrong-value]" in result.stdout


# Others at work in the same folder.


def test_two_processes_lint_one_folder_at_once(hostile):
    command = [sys.executable, "-m", "keisei", "lint", "roles", "--kit-root", str(hostile), "--json"]
    running = [
        subprocess.Popen(command, cwd=hostile, env=surroundings(hostile), stdout=subprocess.PIPE) for _ in range(2)
    ]

    answers = [process.communicate(timeout=30)[0] for process in running]

    assert [process.returncode for process in running] == [1, 1]
    assert answers[0] == answers[1]
    assert json.loads(answers[0])["problems"]


def test_lint_of_a_folder_whose_files_vanish_gets_an_answer(tmp_path):
    kinds = [table.KIND for table in (agent, atom, capability, package, role, skill, task_type, workflow)]
    good = {file: text for kind in kinds for file, text in kind.good.items()}
    good |= {f"tasks/t{n}/task.toml": task.KIND.good[task.MAIN] for n in range(3)}
    write(tmp_path, good)
    layer = Layer("project", tmp_path)
    done = threading.Event()

    def vanish():
        while not done.is_set():
            for file in good:
                (tmp_path / file).unlink(missing_ok=True)
            for folder in ("tasks/t0", "tasks/t1", "tasks/t2", "tasks", f"{atom.HERE}/atoms/schemas"):
                (tmp_path / folder).rmdir()
            write(tmp_path, good)

    thread = threading.Thread(target=vanish)
    thread.start()
    try:
        for _ in range(25):
            report = lint(Catalog([Layer("kit", KIT), layer]), PLURALS.values(), [layer])
            assert all(problem.render() for problem in report.ordered)
    finally:
        done.set()
        thread.join()


def test_a_file_that_vanishes_between_listing_and_reading_is_told_of(tmp_path, monkeypatch):
    write(tmp_path, role.KIND.good)
    original = os.open

    def vanishing(path, *arguments, **keywords):
        if str(path).endswith("child.toml"):
            Path(path).unlink()
        return original(path, *arguments, **keywords)

    monkeypatch.setattr(os, "open", vanishing)

    assert told(role.KIND, tmp_path) == [("unreadable", role.CHILD, None, None)]


def test_a_file_that_grows_while_it_is_read_is_cut_at_the_limit(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text("a = 1\n", encoding="utf-8")
    original = os.fstat

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fstat", lambda handle: (os.truncate(path, 50 * LIMIT), original(handle))[1])
        (problem,) = refused(path)

    assert problem.code == "too-large"
