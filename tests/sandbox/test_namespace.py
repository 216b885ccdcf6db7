"""Namespaces: the order of mounts is what holds; Landlock's rules and the filter of calls as values."""

import os
import re
import struct
from pathlib import Path

import pytest

from keisei.records.confinement import Confinement
from keisei.records.error import OperatorError
from keisei.sandbox import landlock, seccomp
from keisei.sandbox.namespace import EMPTY, MOST, arguments


def mounts(confinement: Confinement, reads=()) -> list[tuple[str, str]]:
    """What is mounted where, in order."""
    words = arguments(confinement, [], list(reads))
    kinds = {"--bind": 2, "--ro-bind": 2, "--tmpfs": 1, "--remount-ro": 1}
    return [(word, words[at + kinds[word]]) for at, word in enumerate(words) if word in kinds]


@pytest.fixture
def tree(tmp_path):
    root = Path(os.path.realpath(tmp_path)) / "tree"
    for name in ("src/deep/er", "src-two", ".git/hooks"):
        (root / name).mkdir(parents=True)
    (root / "src" / "deep" / "file").touch()
    return root


def test_parents_are_mounted_before_children_and_what_is_closed_comes_last(tree):
    confinement = Confinement(
        write=(f"{tree}/src/deep/er", f"{tree}/src"),
        read=(str(tree),),
        protect=(f"{tree}/.git",),
        hide=(f"{tree}/.git/hooks",),
    )

    order = [each for each in mounts(confinement) if each[1].startswith(str(tree))]

    assert order == [
        ("--ro-bind", str(tree)),
        ("--bind", f"{tree}/src"),
        ("--bind", f"{tree}/src/deep/er"),
        ("--ro-bind", f"{tree}/.git"),
        ("--tmpfs", f"{tree}/.git/hooks"),
        ("--remount-ro", f"{tree}/.git/hooks"),
    ]


def test_folders_on_the_way_to_a_closed_path_are_mounts_that_nobody_renames(tree):
    confinement = Confinement(write=(f"{tree}/src",), protect=(f"{tree}/src/deep/file", f"{tree}/src/missing"))

    order = [each for each in mounts(confinement) if each[1].startswith(str(tree))]

    assert order == [
        ("--bind", f"{tree}/src"),
        ("--bind", f"{tree}/src/deep"),
        ("--ro-bind", f"{tree}/src/deep/file"),
    ]


def test_the_root_is_read_only_at_the_end_and_every_capability_dropped(tree):
    words = arguments(Confinement(read=(str(tree),)), [("/bin", "usr/bin"), ("/usr", "/usr")], [])

    assert words[words.index("--cap-drop") + 1] == "ALL"
    assert {"--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-net"} <= set(words)
    assert words.index("--remount-ro", words.index(str(tree))) > words.index(str(tree))
    assert words[words.index("--symlink") :][:3] == ["--symlink", "usr/bin", "/bin"]


def test_settings_of_the_kernel_are_bound_read_only_after_proc(tree):
    words = arguments(Confinement(read=(str(tree),)), [], [])

    assert words.index("--proc") < words.index("/proc/sys")
    assert words[words.index("/proc/sys") - 1] == "--ro-bind"


def test_an_open_network_is_shared():
    assert "--unshare-net" not in arguments(Confinement(network="open"), [], [])


def test_more_paths_than_can_be_bound_are_one_clear_error(tree):
    confinement = Confinement(write=tuple(f"{tree}/{number}" for number in range(MOST + 1)))

    with pytest.raises(OperatorError, match=f"more than the {MOST} that can be bound"):
        arguments(confinement, [], [])


def test_what_a_hidden_file_shows_is_empty():
    assert EMPTY.read_bytes() == b""


# Landlock


def test_around_a_hole_every_other_child_is_named(tree):
    (tree / "link").symlink_to("/etc")

    assert list(landlock.around(str(tree), [f"{tree}/.git", f"{tree}/src/deep/file"])) == [
        f"{tree}/src/deep/er",
        f"{tree}/src-two",
    ]
    assert list(landlock.around(str(tree), [])) == [str(tree)]
    assert list(landlock.around(str(tree / "src"), [f"{tree}/sr"])) == [f"{tree}/src"]
    assert list(landlock.around(str(tree / "src"), [str(tree)])) == []


@pytest.mark.parametrize(
    ("abi", "told"),
    [
        (1, (0x1FFF, 0, 0, 8)),
        (2, (0x3FFF, 0, 0, 8)),
        (3, (0x7FFF, 0, 0, 8)),
        (4, (0x7FFF, 3, 0, 16)),
        (5, (0xFFFF, 3, 0, 16)),
        (6, (0xFFFF, 3, 3, 24)),
        (7, (0xFFFF, 3, 3, 24)),
        (99, (0xFFFF, 3, 3, 24)),
    ],
)
def test_each_abi_is_asked_for_what_it_has_and_no_more(tree, abi, told):
    plan = landlock.shared_plan(abi, Confinement(write=(str(tree),), connect=80), [])

    assert tuple(plan[each] for each in ("fs", "net", "scope", "size")) == told
    assert all(rights & ~told[0] == 0 for rights, _ in plan["rules"])
    assert plan["ports"] == ([[2, 80]] if told[1] else [])


def test_what_is_hidden_in_a_folder_of_the_system_is_closed_too(tree):
    plan = landlock.shared_plan(7, Confinement(hide=(f"{tree}/src",)), [str(tree)])

    read = next(paths for rights, paths in plan["rules"] if rights == landlock.READ)
    assert read == ["/proc", f"{tree}/.git", f"{tree}/src-two"]


def test_an_open_network_is_no_business_of_landlocks(tree):
    plan = landlock.shared_plan(7, Confinement(write=(str(tree),), network="open", connect=80), [])

    assert (plan["net"], plan["ports"]) == (0, [])


# Calls


def test_every_jump_of_a_filter_lands_inside_it_and_it_ends_with_an_answer():
    for machine in seccomp.ARCHITECTURES:
        for network in ("own", "open", "relay", "closed"):
            for namespace in (True, False):
                code = list(struct.iter_unpack("=HBBI", seccomp.program(machine, network, namespace=namespace)))

                assert len(code) < 4096
                assert code[-1] == (6, 0, 0, 0x7FFF0000)
                assert all(at + max(yes, no) < len(code) - 1 for at, (_, yes, no, _) in enumerate(code[:-1]))


def answer(machine: str, network, number: int, *arguments: int, namespace=True, architecture=None) -> int:
    """What a filter says to a call, by the kernel's rules for such programs."""
    data = struct.pack(
        "=IIQ6Q", number, architecture or seccomp.ARCHITECTURES[machine], 0, *(*arguments, *[0] * (6 - len(arguments)))
    )
    code = list(struct.iter_unpack("=HBBI", seccomp.program(machine, network, namespace=namespace)))
    at = held = 0
    while True:
        kind, yes, no, value = code[at]
        at += 1
        if kind == 0x06:
            return value
        if kind == 0x20:
            held = struct.unpack_from("=I", data, value)[0]
        elif kind == 0x54:
            held &= value
        else:
            at += yes if {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[kind] else no


YES, NO, UNKNOWN, KILL = 0x7FFF0000, 0x50001, 0x50026, 0x80000000
X86 = [
    pytest.param((0,), "own", YES, id="read"),
    pytest.param((165,), "own", NO, id="mount"),
    pytest.param((0x40000000,), "own", NO, id="x32"),
    pytest.param((435,), "own", UNKNOWN, id="clone3"),
    pytest.param((56, 0x01200011), "own", YES, id="fork"),
    pytest.param((56, 0x10000000), "own", NO, id="clone a user namespace"),
    pytest.param((56, 0x20000), "own", NO, id="clone a mount namespace"),
    pytest.param((56, 0x10000000 | 1 << 40), "own", NO, id="with upper bits"),
    pytest.param((16, 0, 0x5412), "own", NO, id="TIOCSTI"),
    pytest.param((16, 0, 0x5412 | 1 << 32), "own", NO, id="TIOCSTI with upper bits"),
    pytest.param((16, 0, 0x5401), "own", YES, id="TCGETS"),
    pytest.param((41, 1, 1, 0), "closed", YES, id="unix"),
    pytest.param((41, 2, 1, 0), "closed", NO, id="tcp, closed"),
    pytest.param((41, 2, 1 | 0o2000000, 6), "relay", YES, id="tcp, close on exec"),
    pytest.param((41, 10, 1, 0), "relay", YES, id="tcp 6"),
    pytest.param((41, 2, 2, 0), "relay", NO, id="udp, relay"),
    pytest.param((41, 2, 1, 262), "relay", NO, id="mptcp, relay"),
    pytest.param((41, 2, 1, 132), "relay", NO, id="sctp, relay"),
    pytest.param((41, 2, 2, 0), "open", YES, id="udp, open"),
    pytest.param((41, 38, 5, 0), "open", NO, id="alg"),
    pytest.param((41, 40, 1, 0), "own", NO, id="vsock"),
    pytest.param((41, 16, 3, 0), "own", YES, id="route"),
    pytest.param((41, 16, 3, 9), "own", NO, id="audit"),
    pytest.param((41, 16, 3, 0), "relay", NO, id="route, relay"),
    pytest.param((53, 1, 1, 0), "own", YES, id="socketpair"),
    pytest.param((53, 30, 1, 0), "own", NO, id="socketpair, tipc"),
    pytest.param((44, 3, 0, 0, 0x20000000), "relay", NO, id="sendto, fast open"),
    pytest.param((46, 3, 0, 0x20000000), "relay", NO, id="sendmsg, fast open"),
    pytest.param((307, 3, 0, 1, 0x20000000), "relay", NO, id="sendmmsg, fast open"),
    pytest.param((44, 3, 0, 0, 0x4000), "relay", YES, id="sendto"),
    pytest.param((50, 3, 1), "relay", NO, id="listen, relay"),
    pytest.param((50, 3, 1), "own", YES, id="listen, own"),
    pytest.param((44, 3, 0, 0, 0x20000000), "own", YES, id="fast open, own"),
]


@pytest.mark.parametrize(("call", "network", "told"), X86)
def test_each_call_gets_its_answer(call, network, told):
    assert answer("x86_64", network, *call) == told


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ((63,), YES),
        ((40,), NO),
        ((220, 0x10000000), NO),
        ((435,), UNKNOWN),
        ((198, 2, 2, 0), NO),
        ((29, 0, 0x5412), NO),
    ],
)
def test_each_call_gets_its_answer_on_the_other_machine_too(call, told):
    assert answer("aarch64", "relay", *call) == told


@pytest.mark.parametrize("number", [101, 310, 311, 312, 29, 30])
def test_who_sees_the_processes_of_others_may_not_touch_them(number):
    assert answer("x86_64", "relay", number, namespace=False) == NO
    assert answer("x86_64", "own", number, namespace=True) == YES


@pytest.mark.parametrize(("number", "before"), [(302, ()), (144, ()), (141, (0,)), (251, (1,))])
def test_what_concerns_itself_alone_may_be_done(number, before):
    assert answer("x86_64", "relay", number, *before, 0, namespace=False) == YES
    assert answer("x86_64", "relay", number, *before, 77, namespace=False) == NO
    assert answer("x86_64", "own", number, *before, 77, namespace=True) == YES


def test_a_call_in_another_machines_way_ends_the_process():
    assert answer("x86_64", "own", 0, architecture=0x40000003) == KILL


def test_there_is_no_filter_for_a_machine_nobody_knows():
    assert seccomp.program("mips", "own", namespace=True) is None


def test_the_numbers_are_those_of_the_kernels_headers():
    found = [
        next((each for each in places if each.exists()), None)
        for places in (
            (Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), Path("/usr/include/asm/unistd_64.h")),
            (Path("/usr/include/asm-generic/unistd.h"),),
        )
    ]
    if None in found:
        pytest.skip("the kernel's headers are not on this machine")
    tables = [dict(re.findall(r"#define __NR_(\w+)\s+(\d+)", each.read_text())) for each in found if each]

    alone = {name: numbers[:2] for name, numbers in seccomp.SELF.items()}
    for name, numbers in (seccomp.CALLS | seccomp.NEIGHBOURS | alone).items():
        for table, number in zip(tables, numbers, strict=True):
            assert number == -1 or table.get(name, str(number)) == str(number), name
