"""Hostile programs against the sandbox: with all layers on, with one on, and with none of those that stop it.

The last is the control: a program whose effect is not there then proves nothing. At the lower level, programs that only
the full one stops are run as well, and must succeed: what the documentation says of its limits is true.
"""

from pathlib import Path

import pytest

from keisei.sandbox.confine import level_of
from tests.sandbox.hostile import layers
from tests.sandbox.hostile.catalogue import FAMILIES, PROGRAMS
from tests.sandbox.hostile.program import Layer, Program
from tests.sandbox.hostile.rig import Rig, make_repository
from tests.sandbox.hostile.table import table

RUN = tuple(each for each in PROGRAMS if layers.is_root() or not each.root_only)
FAMILY = {each.name: name for name, family in FAMILIES.items() for each in family}

HONEST = Program(
    name="honest",
    tries="does what its role allows",
    stopped_by=(),
    landlock=None,
    needs=("gate",),
    source="""
import socket
gate = socket.socket(socket.AF_UNIX)
gate.connect(at.gate); gate.sendall(b'?'); answer = gate.recv(100)
open(os.environ['TMPDIR'] + '/scratch', 'w').write('x')
open(os.environ['HOME'] + '/.profile', 'a').write('x')
open(at.work + '/docs/guide.md').read()
open(at.src + '/app.py', 'a').write('# honest')
os.system('git status --porcelain 2>/dev/null > "$TMPDIR/status"')
take(answer)
""",
    effect=lambda rig, _: b"# honest" in rig.bytes_of("src/app.py") and rig.bytes_of("own/loot") == b"no\n",
)
"""What a sandbox that stops everything would stop as well."""


def params(programs):
    return [pytest.param(each, id=f"{FAMILY[each.name]}:{each.name}") for each in programs]


def stops(program: Program) -> tuple[Layer, ...]:
    ordinary = program.user_stops if program.user_stops is not None else program.stopped_by
    return program.stopped_by if layers.is_root() else ordinary


def lower(program: Program) -> str | None:
    """What stops it at the lower level, for whoever runs this."""
    return program.landlock if layers.is_root() or program.user_landlock == "" else program.user_landlock


PAIRS = [
    pytest.param(each, layer, id=f"{FAMILY[each.name]}:{each.name}:{layer}")
    for each in RUN
    if len(stops(each)) > 1
    for layer in stops(each)
    if set(stops(each)) - {layer} != {"namespace"}  # that is the lower level, which is run anyhow
]


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return make_repository(tmp_path_factory.mktemp("repository"))


@pytest.fixture
def rig(repository):
    made = Rig(repository)
    yield made
    made.close()


@pytest.fixture(scope="module")
def shelf():
    kept = []
    yield kept
    for each in kept:
        each.close()


@pytest.fixture
def used_rig(repository, shelf):
    """One that was used before, by a program that was stopped: laying a new one out takes as long as a run."""
    taken = shelf.pop() if shelf else Rig(repository)
    yield taken
    if taken.untouched:
        taken.renew()
        shelf.append(taken)
    else:
        taken.close()


@pytest.fixture(autouse=True)
def _machine_is_whole():
    if level_of(layers.strongest()) != "full":
        pytest.skip(" ".join(layers.strongest().faults))


def effect(rig, program, off=(), *, level=None, machine=None):
    """Whether it has come about. That the program was run at all is not left to chance."""
    ended, held = layers.attempt(rig, program, off, machine or layers.weakened(off))
    rig.untouched = False
    assert ended.stdout.startswith(b"began"), ended.stderr
    assert not ended.timed_out
    assert level in (None, held)
    seen = program.effect(rig, ended)
    rig.untouched = not seen
    return seen


@pytest.mark.parametrize("program", params(RUN))
def test_the_full_level_stops_it(used_rig, program):
    assert not effect(used_rig, program, level="full")


@pytest.mark.parametrize(("program", "layer"), PAIRS)
def test_each_of_its_layers_stops_it_alone(used_rig, program, layer):
    assert not effect(used_rig, program, tuple(each for each in stops(program) if each != layer))


@pytest.mark.parametrize("program", params(RUN))
def test_without_its_layers_it_succeeds(rig, program):
    assert effect(rig, program, stops(program))


@pytest.mark.parametrize("program", params(each for each in RUN if lower(each) is not None))
def test_the_lower_level_stops_it(used_rig, program):
    assert not effect(used_rig, program, level="landlock", machine=layers.weakened(["namespace"]))


@pytest.mark.parametrize("program", params(each for each in RUN if lower(each) is None))
def test_the_lower_level_is_as_weak_as_it_is_said_to_be(rig, program):
    assert effect(rig, program, level="landlock", machine=layers.weakened(["namespace"]))


@pytest.mark.parametrize("level", ["full", "landlock"])
def test_honest_work_is_done(rig, level):
    machine = layers.strongest() if level == "full" else layers.weakened(["namespace"])

    assert effect(rig, HONEST, level=level, machine=machine)
    # What is replaced can only be hidden at the lower level, and git does nothing without its configuration.
    assert (b" M src/app.py" in rig.bytes_of("own/status")) is (level == "full")


def test_there_are_enough_of_them_and_each_has_a_name_of_its_own():
    names = [each.name for each in PROGRAMS]

    assert len(names) >= 45
    assert len(set(names)) == len(names)


def test_the_page_about_confinement_says_what_is_tried_here():
    page = Path(__file__).parents[3] / "docs" / "explanation" / "confinement.md"

    assert table().strip() in page.read_text()
