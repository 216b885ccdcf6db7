"""Atoms as tools: names that every client takes, roles that hold, and a reach that never says less than it is."""

import re
import string

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.atom import AtomInput, AtomManifest, AtomOutput, SideEffect
from keisei.rules.atom_effect import only_reads
from keisei.rules.atom_tool import LEAN, LONGEST, PREFIX, AtomReach, is_granted, named, reach_of, tool_name

QUICK = settings(max_examples=100, deadline=None, database=None)
TAKEN = re.compile(r"[a-zA-Z0-9_-]{1,64}")
WORDS = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=20).map(lambda text: f"a{text}")
NAMES = st.lists(WORDS, min_size=1, max_size=3).map("-".join)
IDS = st.builds("{}::{}".format, NAMES, NAMES)


def manifest(*effects, kind="command", destructive=None, atom="kei-fs::write"):
    return AtomManifest(
        atom=atom,
        kind=kind,
        version="0.1.0",
        input=AtomInput(schema="schemas/in.json"),
        output=AtomOutput(schema="schemas/out.json"),
        side_effects=tuple(SideEffect(op=op, domain=domain) for op, domain in effects),
        idempotent=False,
        destructive=destructive,
        stability="stable",
    )


def reach(*effects, **facts):
    return reach_of(manifest(*effects, **facts))


# Names.


def test_a_name_is_the_id_with_two_underscores():
    assert tool_name("kei-git-read::log") == "kei-git-read__log"


@QUICK
@given(st.lists(IDS, unique=True, max_size=20))
def test_every_name_fits_with_its_prefix_and_is_its_own(ids):
    names = [tool_name(each) for each in ids]

    assert all(TAKEN.fullmatch(PREFIX + name) for name in names)
    assert len({*names, *LEAN}) == len(ids) + len(LEAN)
    assert names == [tool_name(each) for each in ids]


@pytest.mark.parametrize("head", ["kei-fs::", "a" * 41 + "::", "a" * 42 + "::", "a" * 43 + "::", "a" * 60 + "::"])
def test_two_long_ids_with_the_same_head_have_different_names(head):
    one, other = f"{head}{'b' * 60}c", f"{head}{'b' * 60}d"

    assert tool_name(one) != tool_name(other)
    assert tool_name(one).rsplit("_", 1)[0] == tool_name(other).rsplit("_", 1)[0]
    assert max(len(tool_name(one)), len(tool_name(other))) <= LONGEST


def test_the_longest_whole_name_is_not_shortened():
    fits = f"{'a' * (LONGEST - 5)}::run"

    assert tool_name(fits) == fits.replace("::", "__")
    assert len(tool_name(f"a{fits}")) == LONGEST
    assert tool_name(f"a{fits}") != f"a{fits}".replace("::", "__")


@pytest.mark.parametrize("cut", range(38, 46))
def test_a_shortened_name_is_never_the_name_of_another_atom(cut):
    long = f"{'a' * cut}::{'b' * 60}"

    assert tool_name(long).count("_") in {1, 3}  # the name of a whole id has exactly two, side by side


# Roles.


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ((), False),
        (("*",), True),
        (("kei-fs::*",), True),
        (("kei-fs::read",), True),
        (("kei-fs::write", "kei-fs::read"), True),
        (("kei-fs",), False),
        (("kei-*::read",), False),
        (("*::read",), False),
        (("kei-f::*",), False),
        (("kei-fs::rea",), False),
        (("kei-fs::read-all",), False),
        (("kei-fs2::*",), False),
        (("**",), False),
        (("",), False),
        (("KEI-FS::READ",), False),
    ],
    ids=str,
)
def test_a_pattern_names_what_it_says_and_nothing_else(patterns, expected):
    assert named("kei-fs::read", patterns) is expected


@QUICK
@given(
    kind=st.sampled_from(("command", "query", "stream", "transform")),
    effects=st.lists(
        st.tuples(st.sampled_from(("read", "write", "network", "subprocess", "other")), st.just("fs")), max_size=2
    ),
    write=st.booleans(),
)
def test_without_write_nothing_is_granted_that_may_change_something(kind, effects, write):
    atom = manifest(*effects, kind=kind)

    assert is_granted(atom, ("kei-fs::*",), write=write) is (write or only_reads(atom))
    assert not is_granted(atom, ("kei-text::*",), write=write)


def test_a_command_is_never_taken_for_a_reader():
    assert not is_granted(manifest(kind="command"), ("*",), write=False)
    assert not is_granted(manifest(("write", "fs"), kind="query"), ("*",), write=False)
    assert is_granted(manifest(("read", "fs"), kind="query"), ("*",), write=False)


# Reach.

TABLE = {
    "nothing": ((), AtomReach()),
    "read": ((("read", "fs:{path}"),), AtomReach(reads=("path",))),
    "read-tree": ((("read", "git:{repo}/**"),), AtomReach(reads=("repo",), read_trees=("repo",))),
    "read-somewhere": ((("read", "fs"),), AtomReach()),
    "write": ((("write", "fs:{path}"),), AtomReach(writes=("path",))),
    "write-tree": ((("write", "fs:{to}/**"),), AtomReach(writes=("to",), write_trees=("to",))),
    "copy": (
        (("read", "fs:{from}/**"), ("write", "fs:{to}/**")),
        AtomReach(reads=("from",), writes=("to",), read_trees=("from",), write_trees=("to",)),
    ),
    "both-ways": ((("read", "fs:{path}"), ("write", "fs:{path}")), AtomReach(reads=("path",), writes=("path",))),
    "said-twice": (
        (("read", "fs:{a}"), ("read", "fs:{b}/**"), ("read", "fs:{a}/**")),
        AtomReach(reads=("a", "b"), read_trees=("b", "a")),
    ),
    "address": ((("network", "http:{url}"),), AtomReach(network=("url",))),
    "fixed-address": ((("network", "http"),), AtomReach(talks=True)),
    "fixed-host": ((("network", "http:example.org"),), AtomReach(talks=True)),
    "both-addresses": ((("network", "http:{url}"), ("network", "dns")), AtomReach(network=("url",), talks=True)),
    "program": ((("subprocess", "git"), ("read", "git:{repo}/**")), AtomReach(reads=("repo",), read_trees=("repo",))),
    "database": ((("write", "kei-task-db"), ("read", "clock")), AtomReach()),
    "queue-read": ((("read", "keisei-queue"),), AtomReach()),
    "queue": ((("write", "keisei-queue"),), AtomReach(agents=True)),
}


@pytest.mark.parametrize(("effects", "expected"), TABLE.values(), ids=TABLE)
def test_what_a_call_touches_is_told_by_its_fields(effects, expected):
    assert reach(*effects) == expected


def test_a_destructive_write_deletes_too():
    assert reach(("write", "fs:{path}/**"), destructive=True) == AtomReach(
        writes=("path",), deletes=("path",), write_trees=("path",)
    )
    assert reach(("read", "fs:{path}"), destructive=True).deletes == ()


@pytest.mark.parametrize(
    "effect",
    [
        ("write", "fs"),
        ("write", "git"),
        ("other", "fs:{path}"),
        ("other", "anything"),
        ("write", "fs:"),
        ("write", "fs:path"),
        ("read", "fs:/etc"),
        ("write", "fs:{}"),
        ("write", "fs:{path"),
        ("write", "fs:path}"),
        ("write", "fs:{path}*"),
        ("write", "fs:{path}/*"),
        ("write", "fs:{path}/**/x"),
        ("write", "fs:{a}{b}"),
        ("write", "fs:{a}:{b}"),
        ("write", "fs:x/{path}"),
        ("write", "{path}"),
        ("write", "FS:{path}"),
        ("read", "fs:{a.b}"),
        ("read", "*"),
        ("network", "http:{url}/**"),
        ("network", "{url}"),
        ("subprocess", "run:{program}"),
        ("write", "kei-db:{x"),
    ],
    ids=" ".join,
)
def test_what_nobody_can_tell_is_said_in_one_sentence(effect):
    told = reach(("read", "fs:{path}"), effect).unresolved

    assert told is not None
    assert f"`{effect[0]} {effect[1]}`" in told
    assert "\n" not in told


@QUICK
@given(
    st.lists(
        st.tuples(
            st.sampled_from(("read", "write", "network", "subprocess", "other")),
            st.from_regex(r"\A(fs|git|http|db|keisei-queue)?:?[{]?(path|to|[!-~]{0,4})[}]?(/\*\*)?\Z").filter(
                lambda text: text and " " not in text
            ),
        ),
        max_size=4,
    ),
    st.sampled_from((None, True, False)),
)
def test_a_reach_is_consistent_for_every_declaration(effects, destructive):
    told = reach(*effects, destructive=destructive)

    assert set(told.read_trees) <= set(told.reads)
    assert set(told.write_trees) <= set(told.writes)
    assert told.deletes == (told.writes if destructive else ())
    assert msgspec.json.decode(msgspec.json.encode(told), type=AtomReach) == told
    for op, domain in effects:
        is_path = op == "write" and domain.partition(":")[0] in {"fs", "git"}
        assert not is_path or told.writes or told.unresolved
        assert op != "other" or told.unresolved
        assert op != "network" or told.network or told.talks or told.unresolved
