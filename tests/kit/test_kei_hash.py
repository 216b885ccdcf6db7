"""kei-hash: digests that others make, too, and one of trees whose rule stands on its page."""

import base64
import errno
import hashlib
import hmac
import os
import subprocess
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft7Validator

from keisei.cli.primitive_page import bullets
from tests.kit.desk import Declared, output_of, spec_of

VERBS = ("digest", "file", "hmac", "tree")
ALGORITHMS = {
    "sha256": hashlib.sha256,
    "sha512": hashlib.sha512,
    "sha1": hashlib.sha1,
    "md5": hashlib.md5,
    "blake2b": hashlib.blake2b,
    "sha3-256": hashlib.sha3_256,
}


class Context:
    def __init__(self, atom):
        self.codes = {error.code for error in spec_of(atom).manifest.errors}

    def error(self, code, message):
        assert code in self.codes
        return Declared(code, message)


def call(verb, **given):
    atom = f"kei-hash::{verb}"
    Draft7Validator(spec_of(atom).input_schema).validate(given)
    output = import_module(f"kei_hash.atoms.{verb}").run(given, Context(atom))
    output_of(atom).validate(output)
    return output


def code(verb, **given):
    with pytest.raises(Declared) as caught:
        call(verb, **given)
    return caught.value.code


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    (tmp_path / "a work").mkdir()
    monkeypatch.chdir(tmp_path / "a work")


def put(path, data=b"hello"):
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return place


@pytest.mark.parametrize("verb", VERBS)
def test_the_page_and_the_function_know_the_same_algorithms(verb):
    spec = spec_of(f"kei-hash::{verb}")

    assert tuple(spec.input_schema["properties"]["algorithm"]["enum"]) == tuple(ALGORITHMS)
    assert tuple(import_module("kei_hash.algorithm").NAMES) == tuple(ALGORITHMS)
    assert bullets(Path(spec.page).read_text(), "Gotchas")
    assert {effect.op for effect in spec.manifest.side_effects} <= {"read"}


def test_the_key_is_a_secret():
    properties = spec_of("kei-hash::hmac").input_schema["properties"]

    assert [name for name, schema in properties.items() if schema.get("writeOnly")] == ["key"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_makes_the_digest_its_name_promises(algorithm):
    put("file", "é\n".encode())
    expected = ALGORITHMS[algorithm]("é\n".encode())

    assert call("digest", content="é\n", algorithm=algorithm)["digest"] == expected.hexdigest()
    assert call("file", path="file", algorithm=algorithm)["digest"] == expected.hexdigest()
    keyed = hmac.new(b"k", "é\n".encode(), ALGORITHMS[algorithm]).hexdigest()
    assert call("hmac", content="é\n", key="k", algorithm=algorithm)["digest"] == keyed


def test_the_examples_of_the_pages_are_true():
    for verb in ("digest", "hmac"):
        manifest = spec_of(f"kei-hash::{verb}").manifest
        assert call(verb, **manifest.input.example) == manifest.output.example
    assert call("tree", path=".") == spec_of("kei-hash::tree").manifest.output.example
    put("notes.txt")
    assert call("file", path="notes.txt") == spec_of("kei-hash::file").manifest.output.example


def test_the_known_answer_of_rfc_4231():
    key, data = base64.b64encode(b"\x0b" * 20).decode(), "Hi There"

    told = call("hmac", content=data, key=key, key_encoding="base64")

    assert told["digest"] == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"


@settings(max_examples=50, deadline=None)
@given(data=st.binary(max_size=50))
def test_bytes_are_digested_as_bytes(data):
    told = call("digest", content=base64.b64encode(data).decode(), encoding="base64")

    assert (told["digest"], told["size"]) == (hashlib.sha256(data).hexdigest(), len(data))


@pytest.mark.parametrize("content", ["A", "é===", "AA=A", "A A="])
def test_what_is_no_base64_is_refused(content):
    assert code("digest", content=content, encoding="base64") == "NotBase64"
    assert code("hmac", content="", key=content, key_encoding="base64") == "NotBase64"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("missing", "NotFound"),
        ("file/x", "NotFolder"),
        ("folder", "IsFolder"),
        ("circle", "BadPath"),
        ("pipe", "NotRegular"),
        ("/dev/zero", "NotRegular"),
    ],
)
def test_what_is_no_file_is_told_by_its_code(path, expected):
    put("file")
    Path("folder").mkdir()
    Path("circle").symlink_to("circle")
    os.mkfifo("pipe")

    assert code("file", path=path) == expected


# --- trees ------------------------------------------------------------------------------------------------------------


def by_the_page(folder, made=hashlib.sha256):
    """The digest of a folder, written from the page alone."""
    whole = made()
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 - names that are no text
        path = os.path.join(folder, name)  # noqa: PTH118 - a name that is no text
        if os.path.islink(path):  # noqa: PTH114 - as above
            kind, own = b"l", made(os.readlink(path)).hexdigest()  # noqa: PTH115 - as above
        elif os.path.isdir(path):  # noqa: PTH112 - as above
            kind, own = b"d", by_the_page(path, made)
        elif os.path.isfile(path):  # noqa: PTH113 - as above
            with open(path, "rb") as file:  # noqa: PTH123 - as above
                own = made(file.read()).hexdigest()
            kind = b"x" if os.stat(path).st_mode & 0o100 else b"f"  # noqa: PTH116 - as above
        else:
            kind, own = b"o", made(b"").hexdigest()
        whole.update(kind + b" " + name + b"\0" + own.encode() + b"\n")
    return whole.hexdigest()


def hostile_tree(root):
    for name in ("a", "a.b", "a-b/x", "sub/line\nend", "sub/é", "empty/inner/x"):
        put(f"{root}/{name}", name.encode())
    put(f"{root}/run").chmod(0o755)
    Path(f"{root}/empty/inner/x").unlink()
    Path(f"{root}/loop").symlink_to("loop")
    Path(f"{root}/up").symlink_to("..")
    os.mkfifo(f"{root}/pipe")
    with open(os.fsencode(root) + b"/caf\xe9", "wb"):  # noqa: PTH123 - a name that is no text
        pass


@pytest.mark.parametrize("algorithm", ["sha256", "blake2b"])
def test_the_digest_of_a_tree_is_the_one_the_page_describes(algorithm):
    hostile_tree("one")

    told = call("tree", path="one/", algorithm=algorithm)

    assert told["digest"] == by_the_page(b"one", ALGORITHMS[algorithm])
    counts = {name: told[name] for name in ("files", "folders", "links", "others", "bytes")}
    assert counts == {"files": 7, "folders": 4, "links": 2, "others": 1, "bytes": 32}


def test_a_tree_has_the_same_digest_wherever_it_stands_and_whenever_it_was_made():
    hostile_tree("one")
    hostile_tree("else/where/two")
    os.utime("one/a", (0, 0))
    Path("one/a").chmod(0o600)

    assert call("tree", path="one")["digest"] == call("tree", path="else/where/two")["digest"]


CHANGES = {
    "content": lambda: put("one/a", b"A"),
    "name": lambda: Path("one/a").rename("one/b"),
    "right": lambda: Path("one/a").chmod(0o755),
    "link": lambda: (Path("one/up").unlink(), Path("one/up").symlink_to("...")),
    "type": lambda: (Path("one/up").unlink(), put("one/up", b"..")),
    "empty folder": lambda: Path("one/new").mkdir(),
    "empty folder gone": lambda: Path("one/empty/inner").rmdir(),
    "place": lambda: Path("one/a").rename("one/sub/a"),
    "pipe": lambda: Path("one/pipe").unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_a_tree_is_another_digest(change):
    hostile_tree("one")
    before = call("tree", path="one")["digest"]

    CHANGES[change]()

    assert call("tree", path="one")["digest"] != before


def test_excluded_names_do_not_count_wherever_they_stand():
    hostile_tree("one")
    before = call("tree", path="one", exclude=[".git"])["digest"]
    put("one/.git/x")
    put("one/sub/.git")

    assert call("tree", path="one", exclude=[".git"])["digest"] == before
    assert call("tree", path="one")["digest"] != before


def test_a_digest_of_a_tree_leaves_nothing_out(monkeypatch):
    hostile_tree("one")
    real = os.open

    def refused(path, *args, **named):
        if path == "a.b":
            raise PermissionError(errno.EACCES, "no", path)
        return real(path, *args, **named)

    monkeypatch.setattr(os, "open", refused)
    assert code("tree", path="one") == "NotReadable"


def test_a_tree_is_bounded(monkeypatch):
    hostile_tree("one")
    module = import_module("kei_hash.tree")

    monkeypatch.setattr(module, "DEEPEST", 1)
    assert code("tree", path="one") == "TooLarge"
    monkeypatch.setattr(module, "DEEPEST", 9)
    monkeypatch.setattr(module, "MOST", 3)
    assert code("tree", path="one") == "TooLarge"
    assert code("tree", path="one/a") == "NotFolder"
    assert code("tree", path="missing") == "NotFound"


def test_a_file_has_the_digest_that_the_usual_program_prints():
    put("file", os.urandom(3_000_000))

    printed = subprocess.run(["sha256sum", "file"], capture_output=True, check=True, text=True).stdout

    assert printed.split()[0] == call("file", path="file")["digest"]
