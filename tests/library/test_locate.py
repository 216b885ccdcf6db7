"""Positions of key paths in TOML, JSON and YAML text."""

import json as json_parser
import random
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time
from time import process_time
from typing import Any

import pytest
import yaml as yaml_parser
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keisei.library.locate import Path, Position, Positions, json, nearest, toml, yaml

Scanner = Callable[[str], Positions]

SCANNERS = [
    pytest.param(toml.positions, id="toml"),
    pytest.param(json.positions, id="json"),
    pytest.param(yaml.positions, id="yaml"),
]

quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)


# What a document is: parsed data, and the paths in it.


def leaves(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from leaves(value, (*path, index))
    else:
        yield path, data


def containers(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(data, (dict, list)):
        yield path, data
        for step, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from containers(value, (*path, step))


def all_paths(data: Any) -> set[Path]:
    return {path for path, _ in leaves(data)} | {path for path, _ in containers(data)}


def offset_of(text: str, position: Position) -> int:
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: position.line - 1]) + position.column - 1


def offsets(text: str, where: Mapping[Path, Position]) -> dict[Path, int]:
    return {path: offset_of(text, position) for path, position in where.items()}


characters = st.characters(exclude_categories=["Cs"])
words = st.one_of(
    st.sampled_from(["a", "b-c", "d_1", "7", "", "a.b", "x y", "é", "𝄞", '"', "'", "\\", "a\nb", "#", "=", "[x]", "]"]),
    st.text(characters, max_size=4),
)
strings = st.one_of(words, st.sampled_from(['""', "''", '"""', "'''", 'ends "', "ends '", "a\n\nb\n", "\\n", "# no"]))
numbers = st.one_of(st.integers(-(10**6), 10**6), st.booleans(), st.floats(allow_nan=False, allow_infinity=False))
moments = st.sampled_from([date(1979, 5, 27), time(7, 32, 0), datetime(1979, 5, 27, 7, 32, 0, tzinfo=UTC)])


def tables(scalars: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    values = st.recursive(
        scalars,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(words, inner, max_size=3),
            st.lists(st.dictionaries(words, inner, max_size=2), min_size=1, max_size=3),
        ),
        max_leaves=8,
    )
    return st.dictionaries(words, values, max_size=4)


# A TOML writer that knows every way to say a thing and picks one. The tests ask it for all the ways.


def escaped(text: str) -> str:
    return "".join(f"\\U{ord(character):08x}" for character in text)


def is_plain(text: str, extra: str = "") -> bool:
    return all(character in extra or (character.isprintable() and character != "'") for character in text)


def toml_names(name: str) -> list[str]:
    ways = [json_parser.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f"), f'"{escaped(name)}"']
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        ways.append(name)
    if is_plain(name):
        ways.append(f"'{name}'")
    return ways


def toml_strings(text: str) -> list[str]:
    ways = [*toml_names(text)[:2], f'"""\n{escaped(text)}"""', f'"""\\\n  {escaped(text)}"""']
    if is_plain(text):
        ways.append(f"'{text}'")
    if is_plain(text, "'\n") and not re.search("'{3}|^\n", text):
        ways.append(f"'''{text}'''")
    if is_plain(text, "'\n") and not re.search(r'"{3}|\\|^\n', text):
        ways.append(f'"""{text}"""')
    return ways


def toml_scalars(value: Any) -> list[str]:
    if isinstance(value, str):
        return toml_strings(value)
    if isinstance(value, bool):
        return [str(value).lower()]
    if isinstance(value, datetime):
        return [value.isoformat(), value.isoformat(" "), "1979-05-27 07:32:00Z"]
    if isinstance(value, int) and value >= 0:
        return [str(value), hex(value), f"+{value}"]
    return [value.isoformat() if isinstance(value, (date, time)) else repr(value)]


class TomlWriter:
    def __init__(self, chance: random.Random) -> None:
        self._random = chance
        self._lines: list[str] = []

    def document(self, data: dict[str, Any]) -> str:
        self._body(data, [])
        return "".join(f"{self._space()}{line}{self._trailer()}" for line in self._lines)

    def _body(self, table: dict[str, Any], above: list[str]) -> None:
        sections = {key: value for key, value in table.items() if self._may_be_section(value) and self._flip()}
        for key, value in table.items():
            if key not in sections:
                self._pairs([self._name(key)], value)
        for key, value in sections.items():
            self._section([*above, key], value)

    @staticmethod
    def _may_be_section(value: Any) -> bool:
        return isinstance(value, dict) or (
            isinstance(value, list) and value != [] and all(isinstance(item, dict) for item in value)
        )

    def _section(self, path: list[str], value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                self._lines.append(f"[[{self._dotted(path)}]]")
                self._body(item, path)
            return
        is_made_by_children = bool(value) and all(isinstance(item, dict) for item in value.values())
        if is_made_by_children and self._flip():
            for key, item in value.items():
                self._section([*path, key], item)
            if self._flip():
                self._lines.append(f"[{self._dotted(path)}]")
            return
        self._lines.append(f"[{self._dotted(path)}]")
        self._body(value, path)

    def _pairs(self, names: list[str], value: Any) -> None:
        if isinstance(value, dict) and value and self._flip():
            for key, item in value.items():
                self._pairs([*names, self._name(key)], item)
        else:
            self._lines.append(f"{self._join(names)}{self._space()}={self._space()}{self._value(value)}")

    def _value(self, value: Any) -> str:
        if isinstance(value, dict):
            pairs = (f"{self._name(key)}{self._space()}={self._space()}{self._value(value[key])}" for key in value)
            return f"{{{self._space()}{f'{self._space()},{self._space()}'.join(pairs)}{self._space()}}}"
        if isinstance(value, list):
            items = [f"{self._gap()}{self._value(item)}{self._gap()}" for item in value]
            end = f",{self._gap()}" if items and self._flip() else self._gap()
            return f"[{','.join(items)}{end}]"
        return self._random.choice(toml_scalars(value))

    def _name(self, name: str) -> str:
        return self._random.choice(toml_names(name))

    def _dotted(self, path: list[str]) -> str:
        return f"{self._space()}{self._join([self._name(name) for name in path])}{self._space()}"

    def _join(self, names: list[str]) -> str:
        return f"{self._space()}.{self._space()}".join(names)

    def _gap(self) -> str:
        return self._random.choice(["", " ", "\n\t", " # ], \"'''\n"])

    def _space(self) -> str:
        return self._random.choice(["", " ", "\t "])

    def _trailer(self) -> str:
        return self._random.choice(["\n", " \n\n", ' # a = """\n'])

    def _flip(self) -> bool:
        return self._random.random() < 0.5


chances = st.randoms(use_true_random=True)  # a seed is drawn and repeats; drawing every choice would be slow
toml_data = tables(st.one_of(strings, numbers, moments))
toml_documents = st.builds(lambda data, chance: TomlWriter(chance).document(data), toml_data, chances)


# JSON and YAML, written in many ways.


def json_names(name: str) -> list[str]:
    units = name.encode("utf-16-be").hex()
    quads = (units[at : at + 4] for at in range(0, len(units), 4))
    return [
        json_parser.dumps(name),
        json_parser.dumps(name, ensure_ascii=False),
        '"' + "".join(f"\\u{quad}" for quad in quads) + '"',
    ]


def json_scalars(value: Any) -> list[str]:
    return json_names(value) if isinstance(value, str) else [json_parser.dumps(value)]


def write_json(chance: random.Random, data: Any) -> str:
    def gap() -> str:
        return chance.choice(["", " ", "\n", "\t\n "])

    def pair(key: str, value: Any) -> str:
        return f"{gap()}{chance.choice(json_names(key))}{gap()}:{write_json(chance, value)}"

    if isinstance(data, dict):
        written = "{" + (",".join(pair(key, value) for key, value in data.items()) or gap()) + "}"
    elif isinstance(data, list):
        written = "[" + (",".join(write_json(chance, item) for item in data) or gap()) + "]"
    else:
        written = chance.choice(json_scalars(data))
    return f"{gap()}{written}{gap()}"


plain_data = tables(st.one_of(strings, numbers, st.none()))
json_documents = st.builds(lambda data, chance: write_json(chance, data), plain_data, chances)
yaml_documents = st.builds(
    lambda data, style, unicode, indent, start: yaml_parser.safe_dump(
        data, default_flow_style=style, allow_unicode=unicode, indent=indent, explicit_start=start, width=10**6
    ),
    plain_data,
    st.sampled_from([True, False, None]),
    st.booleans(),
    st.sampled_from([2, 4]),
    st.booleans(),
)


def starts_with_scalar(text: str, value: Any) -> bool:
    if text[0] not in "'\"":
        plain = value if isinstance(value, str) else yaml_parser.safe_dump(value).split("\n")[0]
        return text.startswith(plain)
    tokens = yaml_parser.scan(text)
    return bool(value == next(token.value for token in tokens if isinstance(token, yaml_parser.ScalarToken)))


# Properties.


@pytest.mark.parametrize(
    ("scan", "parse", "documents"),
    [
        pytest.param(toml.positions, tomllib.loads, toml_documents, id="toml"),
        pytest.param(json.positions, json_parser.loads, json_documents, id="json"),
        pytest.param(yaml.positions, yaml_parser.safe_load, yaml_documents, id="yaml"),
    ],
)
@quick
@given(drawn=st.data())
def test_the_paths_found_are_the_paths_of_the_parsed_data(
    scan: Scanner, parse: Callable[[str], Any], documents: st.SearchStrategy[str], drawn: st.DataObject
) -> None:
    text = drawn.draw(documents)
    paths = all_paths(parse(text))

    found = scan(text)

    assert set(found.values) == paths
    assert set(found.keys) == paths - {()}
    assert len(found.values) == len(paths)


@quick
@given(text=toml_documents)
def test_toml_positions_point_at_the_first_character_of_keys_and_values(text: str) -> None:
    data = tomllib.loads(text)

    found = toml.positions(text)

    for path, offset in offsets(text, found.keys).items():
        step = path[-1]
        expected = tuple(toml_names(step)) if isinstance(step, str) else text[offset_of(text, found.values[path])]
        assert text.startswith(expected, offset)
    values = offsets(text, found.values)
    for path, value in leaves(data):
        assert text.startswith(tuple(toml_scalars(value)), values[path])
    for path, value in containers(data):
        dotted = tuple(name for step in path if isinstance(step, str) for name in toml_names(step))
        assert path == () or text.startswith(("[", *dotted, *("{" * isinstance(value, dict))), values[path])


@quick
@given(text=json_documents)
def test_json_positions_point_at_the_first_character_of_keys_and_values(text: str) -> None:
    data = json_parser.loads(text)

    found = json.positions(text)

    for path, offset in offsets(text, found.keys).items():
        step = path[-1]
        expected = tuple(json_names(step)) if isinstance(step, str) else text[offset_of(text, found.values[path])]
        assert text.startswith(expected, offset)
    values = offsets(text, found.values)
    for path, value in leaves(data):
        assert text.startswith(tuple(json_scalars(value)), values[path])
    for path, value in containers(data):
        assert text[values[path]] == ("{" if isinstance(value, dict) else "[")


@quick
@given(text=yaml_documents)
def test_yaml_positions_point_at_the_first_character_of_keys_and_values(text: str) -> None:
    data = yaml_parser.safe_load(text)

    found = yaml.positions(text)

    for path, offset in offsets(text, found.keys).items():
        is_item = isinstance(path[-1], int)
        assert found.values[path] == found.keys[path] if is_item else starts_with_scalar(text[offset:], path[-1])
    values = offsets(text, found.values)
    for path, value in leaves(data):
        assert starts_with_scalar(text[values[path] :], value)
    for path, value in containers(data):
        is_flow_or_long_key = text[values[path]] in ("{?" if isinstance(value, dict) else "[-")
        assert is_flow_or_long_key or any(starts_with_scalar(text[values[path] :], key) for key in value)


@pytest.mark.parametrize(
    ("scan", "documents"),
    [
        pytest.param(toml.positions, toml_documents, id="toml"),
        pytest.param(json.positions, json_documents, id="json"),
        pytest.param(yaml.positions, yaml_documents, id="yaml"),
    ],
)
@quick
@given(drawn=st.data())
def test_crlf_and_lf_give_equal_positions(
    scan: Scanner, documents: st.SearchStrategy[str], drawn: st.DataObject
) -> None:
    text = drawn.draw(documents)

    found = scan(text.replace("\n", "\r\n"))

    assert found == scan(text)


syntax = st.text(st.sampled_from("aé1 \t\r\n\"'\\[]{}=.,:#-?&*|>!u0\x00\u2028\ud800"), max_size=60)
pieces = ["a", '"', '"""', "'", "'''", "\\", "[", "[[", "]]", "]", "{", "}", "=", ".", ",", "\n", "#", ": ", "- ", "? "]


@pytest.mark.parametrize("scan", SCANNERS)
@settings(quick, max_examples=150)
@given(text=st.one_of(st.text(max_size=40), syntax, st.lists(st.sampled_from(pieces), max_size=40).map("".join)))
def test_any_text_at_all_ends_without_an_exception(scan: Scanner, text: str) -> None:
    lines = re.split(r"\r\n?|\n", text)

    found = scan(text)

    for line, column in [*found.keys.values(), *found.values.values()]:
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1


@quick
@given(text=toml_documents, drawn=st.data())
def test_a_toml_text_cut_short_gives_only_paths_of_the_whole(text: str, drawn: st.DataObject) -> None:
    end = drawn.draw(st.integers(0, len(text)))

    found = toml.positions(text[:end])

    assert set(found.keys) <= all_paths(tomllib.loads(text))


# Exact cases. Each names a path, where its key stands and where its value starts, as "line:column line:column".


def told(found: Positions, path: Path) -> str:
    return " ".join("{}:{}".format(*where[path]) if path in where else "-" for where in found)


TOML_CASES = {
    "bare key": ("key = 1", ("key",), "1:1 1:7"),
    "indented, no space": ("\t key=1", ("key",), "1:3 1:7"),
    "key of digits": ("1 = 2", ("1",), "1:1 1:5"),
    "float is no dotted key": ("a = 1.5\nb = 2", ("b",), "2:1 2:5"),
    "date with a space": ("a = 1979-05-27 07:32:00Z # x\nb = 2", ("b",), "2:1 2:5"),
    "dot inside quotes": ('"a.b".c = 1', ("a.b", "c"), "1:7 1:11"),
    "dots with space around": ("a . 'b c'\t. d = 1", ("a", "b c", "d"), "1:13 1:17"),
    "table made by a dotted key": ("\n a.b.c = 1\na.b.d = 2", ("a", "b"), "2:4 2:2"),
    "escaped key": (r'"\u00e9\"\\\t" = 1', ('é"\\\t',), "1:1 1:18"),
    "literal key keeps backslash": (r"'a\n' = 1", ("a\\n",), "1:1 1:9"),
    "empty key": ('"" = 1', ("",), "1:1 1:6"),
    "bracket in a comment": ("# [a]\n[b] # [c]\nd = 1", ("b", "d"), "3:1 3:5"),
    "hash in a string": ('a = "#" # "\nb = 1', ("b",), "2:1 2:5"),
    "escaped quote in a string": ('a = "\\"b = 1"\nc = "\\\\"\nd = 1', ("d",), "3:1 3:5"),
    "long string, four quotes": ('a = """x""""\nb = 1', ("b",), "2:1 2:5"),
    "long string, five quotes": ('a = ["""""x"""""]\nb = 1', ("b",), "2:1 2:5"),
    "long literal, five quotes": ("a = '''\nx = 1\\'''''\nb = 1", ("b",), "3:1 3:5"),
    "long string, escaped quotes": ('a = """\n\\""" b = 1\n"""\nb = 1', ("b",), "4:1 4:5"),
    "empty long strings": ("a = [\"\"\"\"\"\", '''''']\nb = 1", ("b",), "2:1 2:5"),
    "short strings one after another": ('a = ["",\'\',""]', ("a", 2), "1:12 1:12"),
    "column after an astral letter": ('a = ["𝄞é", 1]', ("a", 1), "1:12 1:12"),
    "array over lines with comments": ("a = [ # ]\n  1, # [\n\n  [2, 3], ]", ("a", 1, 1), "4:7 4:7"),
    "inline table": ("a = {b.c = {}, d = [{e = 1}]}", ("a", "d", 0, "e"), "1:22 1:26"),
    "table made inside an inline table": ("a = { b . c = 1 }", ("a", "b"), "1:7 1:7"),
    "header": ("x = 1\n [ a . 'b' ]\nc = 1", ("a", "b"), "2:8 2:2"),
    "table made by a header": ("[a.b]", ("a",), "1:2 1:1"),
    "table defined after its sub-table": ("[a.b]\nx=1\n[a]\ny=1", ("a",), "3:2 3:1"),
    "its sub-table": ("[a.b]\nx=1\n[a]\ny=1", ("a", "b", "x"), "2:1 2:3"),
    "array of tables": ("[[x]]\n[[x]]", ("x",), "1:3 1:1"),
    "second table of an array": ("[[x]]\n [[ x ]]", ("x", 1), "2:2 2:2"),
    "key in the second table": ("[[x]]\n[[x]]\na=1", ("x", 1, "a"), "3:1 3:3"),
    "sub-table of the latest": ("[[x]]\n[x.y]\na=1\n[[x]]\n[x.y]\na=1", ("x", 1, "y", "a"), "6:1 6:3"),
    "array in an array of tables": ("[[x]]\n[[x.y]]\n[[x.y]]\nz=1", ("x", 0, "y", 1, "z"), "4:1 4:3"),
    "crlf": ("\r\n[a]\r\nb = '''\r\n'''\r\nc = 1\r\n", ("a", "c"), "5:1 5:5"),
    "root": ("# only\n", (), "- 1:1"),
    "key whose value is missing": ("a = 1\nb = ", ("b",), "2:1 -"),
    "before the mistake": ("a = 1\n%", ("a",), "1:1 1:5"),
}

JSON_CASES = {
    "root with space before": ("\n {}", (), "- 2:2"),
    "key and value": ('{ "a" : 1 }', ("a",), "1:3 1:9"),
    "list item": ('{"a": [1,\n -2.5e3]}', ("a", 1), "2:2 2:2"),
    "escaped key": ('{"\\ud834\\udd1e\\"}": 1}', ('𝄞"}',), "1:2 1:21"),
    "brackets in a string": ('["}]", "\\\\", {"a": null}]', (2, "a"), "1:15 1:20"),
    "index and its twin in digits": ('{"0": [true]}', ("0", 0), "1:8 1:8"),
    "of two keys, the last": ('{"a": {"b": 1},\n"a": 2}', ("a",), "2:1 2:6"),
    "nothing inside the first of two keys": ('{"a": {"b": 1},\n"a": 2}', ("a", "b"), "- -"),
    "not a number": ("[NaN, -Infinity]", (1,), "1:7 1:7"),
    "line separator is no line end": ('["\u2028", 1]', (1,), "1:7 1:7"),
    "lone cr is a line end": ("[1,\r2,\r\n3]", (2,), "3:1 3:1"),
    "text after the root": ('{"a": 1} {"b": 2}', ("b",), "- -"),
}

YAML_CASES = {
    "block": ("a:\n  b: 1\n  c:\n  - x\n  - y: z", ("a", "c", 1, "y"), "5:5 5:8"),
    "flow over lines": ("a: {b: [1,\n  2], 'c d': 3}", ("a", "c d"), "2:7 2:14"),
    "keys that are no strings": ("1: {true: {~: x}}", ("1", "true", "~"), "1:12 1:15"),
    "key as it is written": ("0x10: a", ("0x10",), "1:1 1:7"),
    "escaped key": ('"\\x41\\n": 1', ("A\n",), "1:1 1:11"),
    "anchor is where the value starts": ("a: &x !!str b", ("a",), "1:1 1:4"),
    "alias": ("a: &x {b: 1}\nc: *x", ("c",), "2:1 2:4"),
    "nothing behind an alias": ("a: &x {b: 1}\nc: *x", ("c", "b"), "- -"),
    "alias as a key": ("a: &x b\n*x : 1", ("b",), "2:1 2:6"),
    "alias to what contains it": ("&x a: &y\n  b: *y", ("a", "b"), "2:3 2:6"),
    "value after a key that is a list": ("? [a, {b: c}]\n: d\ne: 2", ("e",), "3:1 3:4"),
    "no value": ("a:\r\nb: 1", ("a",), "1:1 1:3"),
    "block text": ("a: |\n  b: 1\nc: 1", ("c",), "3:1 3:4"),
    "astral letter before": ("{é𝄞: 1, b: 2}", ("b",), "1:9 1:12"),
    "refused": ("a: 1\n\tb: [", ("a",), "- -"),
    "root": ("# x\n---\n- 1", (), "- 3:1"),
}


@pytest.mark.parametrize(("text", "path", "expected"), TOML_CASES.values(), ids=TOML_CASES.keys())
def test_toml_case_is_exact(text: str, path: Path, expected: str) -> None:
    found = toml.positions(text)

    assert told(found, path) == expected


@pytest.mark.parametrize(("text", "path", "expected"), JSON_CASES.values(), ids=JSON_CASES.keys())
def test_json_case_is_exact(text: str, path: Path, expected: str) -> None:
    found = json.positions(text)

    assert told(found, path) == expected


@pytest.mark.parametrize(("text", "path", "expected"), YAML_CASES.values(), ids=YAML_CASES.keys())
def test_yaml_case_is_exact(text: str, path: Path, expected: str) -> None:
    found = yaml.positions(text)

    assert told(found, path) == expected


@pytest.mark.parametrize(("text", "path", "expected"), YAML_CASES.values(), ids=YAML_CASES.keys())
def test_yaml_without_the_c_loader_finds_the_same(
    text: str, path: Path, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml, "LOADER", yaml_parser.SafeLoader)

    found = yaml.positions(text)

    assert told(found, path) == expected


# Hostile texts. Each takes about a tenth of a second; with time that grows as the square of the text, many seconds.

LONG = 20_000

HOSTILE = {
    "json, deep lists": (json.positions, "[" * LONG),
    "json, deep objects": (json.positions, '{"a":' * LONG),
    "json, unclosed string": (json.positions, '["' + '\\"' * LONG),
    "json, many items far down": (json.positions, "[" * 900 + "1," * LONG),
    "toml, deep arrays": (toml.positions, "a=" + "[" * LONG),
    "toml, deep inline tables": (toml.positions, "a=" + "{a=" * LONG),
    "toml, long dotted key": (toml.positions, "a." * LONG + "a=1"),
    "toml, unclosed long strings": (toml.positions, "a=[" + '\\""" "' * LONG),
    "toml, space before nothing": (toml.positions, ("a" + " " * 99) * LONG),
    "yaml, deep lists": (yaml.positions, "[" * LONG),
    "yaml, deep mappings": (yaml.positions, "{a: " * LONG),
    "yaml, deep blocks": (yaml.positions, "- " * LONG),
    "yaml, aliases of aliases": (
        yaml.positions,
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, LONG // 20)),
    ),
}


@pytest.mark.parametrize(("scan", "text"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_text_never_hangs_a_scanner(scan: Scanner, text: str) -> None:
    started_s = process_time()

    found = scan(text)

    assert process_time() - started_s < 60  # a guard against hanging, not a measurement: quadratic takes minutes
    assert nearest(found.values, ("no such key",)).line == 1


def test_text_as_deep_as_json_reads_is_found_to_its_end() -> None:
    depth = sys.getrecursionlimit() * 3
    text = "[" * depth + "1" + "]" * depth

    found = json.positions(text)

    assert found.values[(0,) * depth] == (1, depth + 1)


# The nearest position.


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(("a", "b"), (2, 3), id="itself"),
        pytest.param(("a", "b", 0, "c"), (2, 3), id="nearest ancestor"),
        pytest.param(("a", "x"), (1, 1), id="further ancestor"),
        pytest.param(("x", "y"), (1, 1), id="nothing known"),
        pytest.param((), (1, 1), id="root"),
    ],
)
def test_nearest_is_the_path_or_the_closest_above_it(path: Path, expected: tuple[int, int]) -> None:
    where: dict[Path, Position] = {("a", "b"): Position(2, 3)}

    found = nearest(where, path)

    assert found == expected


def test_nearest_to_an_unknown_key_is_its_table() -> None:
    found = toml.positions("x = 1\n\n  [role]\nname = 'a'")

    position = nearest(found.values, ("role", "limits", "memory"))

    assert position == Position(line=3, column=3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 1\nb: 2\n", None, id="none"),
        pytest.param("a: 1\na: 2\n", (2, 1), id="at the root"),
        pytest.param("a: 1\nb:\n  c: 1\n  d: [1, {e: 1, e: 2}]\n", (4, 17), id="in a flow mapping"),
        pytest.param("? [x]\n: 1\nb: 1\n\nb: 3\n", (5, 1), id="after a key that is a list"),
        pytest.param("a:\n  - b: 1\n    b: 2\n", (3, 5), id="in a list"),
        pytest.param("a: '\u2028'\na: 2\n", (2, 1), id="a line separator ends no line"),
        pytest.param("{a: " * 40_000, None, id="too deep to say"),
    ],
)
def test_the_first_key_that_is_written_twice_is_found(text, expected):
    assert yaml.first_duplicate(text) == expected
