"""Profiles of atoms: what a page declares is opened, nothing else is, and never more than an attempt has itself."""

import os
import shutil
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as how
from hypothesis import strategies as st
from msgspec.structs import replace

from keisei.library.atom_spec import read_spec
from keisei.library.package import read_package
from keisei.records.atom import SideEffect
from keisei.records.confinement import Confinement, Forward, Limits
from keisei.records.error import MissingProgram, OperatorError
from keisei.records.invocation import CallOrder
from keisei.sandbox.confine import level_of
from keisei.sandbox.machine import probe
from keisei.wiring import atom_crew
from keisei.wiring.atom_crew import ConfinedCrew
from keisei.wiring.atom_profile import (
    HOST,
    KEISEI,
    PROCESSES,
    ProfilePlace,
    Touch,
    declared_profile,
    narrowed,
    private_environment,
    touched,
)
from tests.library.primitives import package, write
from tests.sandbox.program import eventually

MACHINE = probe()
ALONE = replace(MACHINE, bwrap=None)
full = pytest.mark.skipif(level_of(MACHINE) != "full", reason="this machine has no namespaces")
landlock = pytest.mark.skipif(level_of(ALONE) != "landlock", reason="Landlock does not hold a tree alone")
LEVELS = pytest.mark.parametrize(
    "machine", [pytest.param(MACHINE, id="full", marks=full), pytest.param(ALONE, id="landlock", marks=landlock)]
)
NOTHING = Touch(reads=False, writes=False, network=False, starts=False)
EVERYTHING = Touch(reads=True, writes=True, network=True, starts=True)


class Ground:
    """A package with one atom, the folders around it, and whoever calls it there."""

    def __init__(self, root):
        self.root = Path(os.path.realpath(root))
        self.work, self.private, self.packages = self.root / "work", self.root / "own", self.root / "state/packages"
        for folder in (self.work, self.private, self.packages):
            folder.mkdir(parents=True)
        self.folder = package(self.root / "kit", "shop-price", "round")

    def spec(self, *effects, body=None, **metadata):
        """The atom with these effects, `read fs` being one; `metadata` changes its package."""
        if body is not None:
            write(self.folder / "atoms/round.py", f"import os, sys\n\n\ndef run(input, context):\n    {body}\n")
        spec = read_spec(read_package(self.folder), "round")
        effects = tuple(SideEffect(op=op, domain=domain) for op, domain in (each.split() for each in effects))
        known = replace(spec.package, metadata=replace(spec.package.metadata, **metadata))
        return replace(spec, manifest=replace(spec.manifest, side_effects=effects), package=known)

    def place(self, **changes):
        place = ProfilePlace(working=str(self.work), private=str(self.private), find_program=lambda _: None)
        return place._replace(packages=str(self.packages), **changes)

    def order(self, spec, **given):
        env = {"PATH": "/usr/bin:/bin", **private_environment(str(self.private))}
        return CallOrder(
            spec=spec,
            input=given,
            invocation_id="i1",
            timeout_s=20.0,
            env=env,
            database=None,
            cwd=str(self.work),
        )

    def crew(self, machine=MACHINE, **more):
        return ConfinedCrew(machine, lambda spec: declared_profile(spec, self.place()), lambda _: None, **more)

    def call(self, machine, *effects, body, **given):
        spec = self.spec(*effects, body=body)
        with self.crew(machine) as crew:
            told = crew.call(self.order(spec, **given))
        return told.output if told.error is None else told.error.message


@pytest.fixture
def ground(tmp_path):
    return Ground(tmp_path / "a pläce")


# What is declared


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        ((), NOTHING),
        (("read clock", "write kei-task-db", "read fsx", "write http:fs"), NOTHING),
        (("read fs",), NOTHING._replace(reads=True)),
        (("read fs:{path}/**",), NOTHING._replace(reads=True)),
        (("read git:{repo}/**", "subprocess git"), NOTHING._replace(reads=True, starts=True)),
        (("write git:{repo}",), NOTHING._replace(reads=True)),
        (("write fs:{path}",), NOTHING._replace(reads=True, writes=True)),
        (("network http:{url}",), NOTHING._replace(network=True)),
        (("subprocess fs", "network fs"), NOTHING._replace(network=True, starts=True)),
        (("other shell",), EVERYTHING),
    ],
)
def test_an_effect_opens_what_it_names_and_no_more(ground, effects, expected):
    assert touched(ground.spec(*effects).manifest) == expected


def test_a_profile_follows_from_the_page(ground):
    work, own = str(ground.work), str(ground.private)

    pure = declared_profile(ground.spec(), ground.place())
    reads = declared_profile(ground.spec("read fs"), ground.place())
    writes = declared_profile(ground.spec("write fs"), ground.place())
    anything = declared_profile(ground.spec("other x"), ground.place(out=(str(ground.root / "kit"), "/nowhere")))

    assert (pure.write, pure.network, pure.execute, work in pure.read) == ((own,), "none", (), False)
    assert (reads.write, reads.network, reads.execute, work in reads.read) == ((own,), "none", (), True)
    assert (writes.write, writes.execute) == ((own, work), ())
    assert (anything.write, anything.network, anything.execute) == ((own, work), "open", None)
    assert {str(ground.folder), str(HOST)} <= set(pure.read)
    assert str(KEISEI.parent) not in pure.read
    assert anything.out == (str(ground.root / "kit"),)
    assert pure.limits.processes == PROCESSES


def test_a_package_s_own_state_is_opened_with_it(ground):
    database, state = ground.packages / "shop.db", ground.root / "state"

    kept = declared_profile(ground.spec(), ground.place(database=str(database)))
    asks = declared_profile(ground.spec(engine=True), ground.place(state=str(state)))

    assert kept.write == (str(ground.private), str(ground.packages))
    assert asks.write == (str(ground.private), str(state))
    assert {str(KEISEI.parent), str(ground.work)} <= set(asks.read)
    with pytest.raises(OperatorError, match="asks keisei itself"):
        declared_profile(ground.spec(engine=True), ground.place())


# Inside an attempt


def attempt_of(ground):
    """An attempt that may write one folder of its worktree, with everything else an attempt has."""
    src = ground.work / "src"
    src.mkdir(exist_ok=True)
    return Confinement(
        write=(str(src), str(ground.work / "gone")),
        protect=(str(src / "settings"), "/elsewhere/settings"),
        read=(str(ground.work), str(ground.root / "kit")),
        out=(str(ground.root / "state"),),
        hide=(str(ground.work / ".env"), "/elsewhere/.env", str(ground.root)),
        replace={str(ground.work / "config"): "/plain", "/elsewhere/config": "/plain"},
        sockets=("/run/gate.sock",),
        network="open",
        forward=Forward(port=1, socket="/run/relay.sock"),
        connect=4399,
        limits=Limits(processes=8, memory_bytes=1),
    )


def test_inside_an_attempt_it_has_the_attempt_s_own_folders(ground):
    attempt, own = attempt_of(ground), str(ground.private)

    pure = narrowed(attempt, ground.spec(), ground.place())
    reads = narrowed(attempt, ground.spec("read fs"), ground.place())
    writes = narrowed(attempt, ground.spec("write fs"), ground.place())
    anything = narrowed(attempt, ground.spec("other x"), ground.place())

    assert (pure.write, str(ground.work) in pure.read, pure.network, pure.execute) == ((own,), False, "none", ())
    assert (reads.write, {str(ground.work), attempt.write[0]} <= set(reads.read)) == ((own,), True)
    assert writes.write == (own, attempt.write[0])
    assert (anything.network, anything.execute, anything.write) == ("open", None, writes.write)
    for each in (pure, reads, writes, anything):
        assert (each.sockets, each.forward, each.connect) == ((), None, None)
        assert (each.out, each.limits) == (attempt.out, attempt.limits)


def test_what_is_closed_for_the_attempt_is_closed_for_its_atoms(ground):
    attempt = attempt_of(ground)

    writes = narrowed(attempt, ground.spec("write fs"), ground.place())

    assert writes.protect == attempt.protect[:1]
    assert writes.hide == (attempt.hide[0], attempt.hide[2])
    assert list(writes.replace) == [str(ground.work / "config")]


def test_an_attempt_without_a_network_has_none_for_its_atoms(ground):
    attempt = replace(attempt_of(ground), network="none", execute=("/usr/bin/git",))

    told = narrowed(attempt, ground.spec("network web", "subprocess git"), ground.place())

    assert (told.network, told.execute) == ("none", ("/usr/bin/git",))


@pytest.mark.parametrize(
    "name",
    [
        "state/other.db",
        "state/packages-two/x.db",
        "work/x.db",
        "state/packages/shop-price/link/x.db",
        "state/packages/led.db",
        "state/packages/x.db",
        "state/packages/kei-task/task.sqlite",
        "state/packages/shop-price/../kei-task/task.sqlite",
    ],
)
def test_inside_an_attempt_only_databases_of_the_state_folder_are_opened(ground, name):
    (ground.packages / "shop-price").mkdir()
    (ground.packages / "shop-price/link").symlink_to(ground.work)
    (ground.packages / "led.db").symlink_to(ground.root / "state/state.db")
    place = ground.place(database=str(ground.root / name))

    with pytest.raises(OperatorError, match="the database of `shop-price` is not opened inside an attempt"):
        narrowed(attempt_of(ground), ground.spec(), place)
    with pytest.raises(OperatorError, match="is not opened"):
        narrowed(attempt_of(ground), ground.spec(), place._replace(packages=None))


def test_inside_an_attempt_a_database_of_the_state_folder_is_opened(ground):
    own = ground.packages / "shop-price"
    own.mkdir()
    place = ground.place(database=str(own / "shop.db"))

    assert narrowed(attempt_of(ground), ground.spec(), place).write == (str(ground.private), str(own))
    (ground.packages / "shop").mkdir()
    beside = ground.place(database=str(ground.packages / "shop/shop.db"))
    told = narrowed(attempt_of(ground), ground.spec(tables_of="shop"), beside)
    assert told.write == (str(ground.private), str(ground.packages / "shop"))


def test_a_package_around_private_files_is_not_called_inside_an_attempt(ground):
    (ground.folder / ".env").touch()
    attempt = replace(attempt_of(ground), out=(str(ground.folder / ".env"),))

    with pytest.raises(OperatorError, match=r"holds `.*\.env`"):
        narrowed(attempt, ground.spec(), ground.place())
    with pytest.raises(OperatorError, match="holds"):
        narrowed(attempt_of(ground), ground.spec(), ground.place(out=(str(ground.folder),)))


EFFECTS = [
    f"{op} {domain}" for op in ("read", "write", "network", "subprocess", "other") for domain in ("fs", "git", "x")
]
PATHS = st.lists(st.sampled_from(["/usr", "/usr/share", "/usr/lib", "/etc/hosts", "/var", "/nowhere"]), unique=True)


ATTEMPTS = st.builds(
    Confinement,
    write=PATHS.map(tuple),
    read=PATHS.map(tuple),
    hide=PATHS.map(tuple),
    network=st.sampled_from(["none", "open"]),
    execute=st.sampled_from([None, (), ("/usr/bin",)]),
    sockets=st.just(("/socket",)),
)


@how(max_examples=60, deadline=None)
@given(effects=st.sets(st.sampled_from(EFFECTS), max_size=3), attempt=ATTEMPTS)
def test_it_is_never_more_than_the_attempt_s(tmp_path_factory, effects, attempt):
    ground = _shared(tmp_path_factory)
    own = narrowed(Confinement(), ground.spec(), ground.place())

    told = narrowed(attempt, ground.spec(*effects), ground.place())

    assert set(told.write) <= {*own.write, *attempt.write}
    assert set(told.read) <= {*own.read, *attempt.read, *attempt.write}
    assert (told.sockets, told.network in ("none", attempt.network)) == ((), True)
    assert told.execute in ((), attempt.execute)
    for path in attempt.hide:
        opened = any(f"{path}/".startswith(f"{each}/") for each in (*told.read, *told.write))
        assert path in told.hide or not opened


def _shared(factory):
    root = factory.getbasetemp() / "shared"
    if root not in _SHARED:
        _SHARED[root] = Ground(root)
    return _SHARED[root]


_SHARED = {}


# Held by the kernel

TOUCH = {
    "reads": ("read fs", "return {'told': open(input['path']).read()}"),
    "writes": ("write fs", "open(input['path'], 'a').write('more'); return {'told': 'note'}"),
    "starts": ("subprocess x", "return {'told': os.popen('echo note').read().strip() or open('/refused')}"),
}


@LEVELS
@pytest.mark.parametrize("name", TOUCH)
def test_only_what_is_declared_can_be_done(ground, machine, name):
    effect, body = TOUCH[name]
    note = ground.work / "note"
    note.write_text("note")

    refused = ground.call(machine, body=body, path=str(note))
    kept = note.read_text()
    told = ground.call(machine, effect, body=body, path=str(note))

    assert isinstance(refused, str)
    assert kept == "note"
    assert told == {"told": "note"}


@full
def test_relative_paths_lead_to_the_folder_that_is_opened(ground):
    body = "return {'told': os.getcwd()}"

    assert ground.call(MACHINE, "read fs", body=body) == {"told": str(ground.work)}
    assert ground.call(MACHINE, body=body) == {"told": "/"}


@full
def test_a_folder_behind_a_link_is_entered_by_its_real_name(ground):
    (ground.root / "link").symlink_to(ground.work)
    spec = ground.spec("read fs", body="return {'told': os.getcwd()}")

    with ground.crew() as crew:
        told = crew.call(replace(ground.order(spec), cwd=str(ground.root / "link")))

    assert told.output == {"told": str(ground.work)}


@full
def test_home_and_temporary_files_are_always_its_own(ground):
    body = "import tempfile; open(os.path.expanduser('~/x'), 'w').close(); return {'told': tempfile.mkdtemp()}"

    made = ground.call(MACHINE, body=body)["told"]

    assert Path(made).is_dir()
    assert Path(made).parent == ground.private / "tmp"


@full
def test_a_crew_keeps_one_sandbox_for_each_atom_until_it_changes(ground):
    asked = []

    def confinement(spec):
        asked.append(spec)
        return declared_profile(spec, ground.place())

    body = "open('made', 'w').close(); return {}"
    spec, writes = ground.spec(body=body), ground.spec("write fs")
    with ConfinedCrew(MACHINE, confinement, lambda _: None) as crew:
        first = [crew.call(ground.order(spec)).error is None for _ in range(2)]
        second = crew.call(ground.order(replace(writes, spec_sha="0" * 64))).error is None

    assert (first, second, len(asked)) == ([False, False], True, 2)


@full
def test_workers_of_few_atoms_are_kept(ground, monkeypatch):
    monkeypatch.setattr(atom_crew, "CREWS", 1)
    body = "sys.calls = getattr(sys, 'calls', 0) + 1; return {'told': sys.calls}"
    one, other = ground.spec(body=body), ground.spec(body=body)
    other = replace(other, manifest=replace(other.manifest, atom="tool::other"))

    with ground.crew() as crew:
        told = [crew.call(ground.order(spec)).output["told"] for spec in (one, one, other, other, one)]

    assert told == [1, 2, 1, 2, 1]


@LEVELS
def test_a_worker_stays_warm_unless_it_leaves_something_behind(ground, machine):
    leave = "input.get('leave') and (os.fork() or __import__('time').sleep(60) or os._exit(0))"
    body = f"sys.calls = getattr(sys, 'calls', 0) + 1; {leave}; return {{'told': sys.calls}}"
    spec = ground.spec(body=body)

    with ground.crew(machine) as crew:
        told = [crew.call(ground.order(spec, **given)).output for given in ({}, {}, {"leave": 1}, {})]

    assert told == [{"told": 1}, {"told": 2}, {"told": 3}, {"told": 1}]


@full
def test_what_waits_for_its_turn_can_be_ended_alone(ground):
    spec = ground.spec(body="import time; open(os.environ['HOME'] + '/up', 'w').close(); time.sleep(60)")
    told = {}

    def call(crew, name):
        told[name] = crew.call(replace(ground.order(spec), invocation_id=name))

    with ground.crew(most=1) as crew:
        runs, waits = (threading.Thread(target=call, args=(crew, name)) for name in ("runs", "waits"))
        runs.start()
        assert eventually((ground.private / "home/up").exists)
        waits.start()
        assert eventually(lambda: crew.cancel("waits") or not waits.is_alive())
        assert runs.is_alive()
        crew.cancel("runs")
        runs.join()
        later = crew.call(ground.order(ground.spec(body="return {}")))
        crew.cancel()
        never = crew.call(ground.order(spec))

    assert {name: each.exit_code for name, each in told.items()} == {"runs": 130, "waits": 130}
    assert (later.error, never.exit_code) == (None, 130)


@full
def test_a_stream_is_held_too(ground):
    body = "yield {}\n    yield {'made': open(input['path'], 'w')}"
    spec = ground.spec(body=body)
    spec = replace(spec, manifest=replace(spec.manifest, kind="stream"))

    with ground.crew() as crew:
        stream = crew.follow(ground.order(spec, path=str(ground.work / "made")))
        items = list(stream)

    assert (items, stream.answer.error.kind) == ([{}], "atom")
    assert not (ground.work / "made").exists()


def test_a_program_that_is_missing_and_a_profile_that_cannot_be_made_are_told(ground):
    def refuse(spec):
        raise OperatorError(f"`{spec.id}` is not for you")

    spec = ground.spec()
    program = replace(spec, function=None, package=replace(spec.package, language="program"))
    with ground.crew() as crew, pytest.raises(MissingProgram):
        crew.call(ground.order(program))
    with ConfinedCrew(MACHINE, refuse, lambda _: None) as crew, pytest.raises(OperatorError, match="not for you"):
        crew.call(ground.order(spec))


@LEVELS
def test_a_program_answers_under_the_same_rules(ground, machine):
    program = ground.root / "bin" / "shop-price"
    write(program, f"#!{shutil.which('sh')}\ncat >/dev/null\n/bin/true && echo '{{\"told\": 1}}'\n").chmod(0o755)
    place = ground.place(find_program=lambda _: str(program))

    def call(*effects):
        spec = replace(ground.spec(*effects), function=None)
        spec = replace(spec, package=replace(spec.package, language="program"))
        with ConfinedCrew(machine, lambda each: declared_profile(each, place), lambda _: str(program)) as crew:
            return crew.call(ground.order(spec))

    refused = call()
    assert (refused.error.kind, refused.said.count("Permission denied")) == ("io", 2)
    assert call("subprocess x").output == {"told": 1}


def test_the_interpreter_in_use_is_readable(ground):
    read = declared_profile(ground.spec(), ground.place()).read

    assert any(sys.executable == each or sys.executable.startswith(f"{each}/") for each in read) or sys.prefix == "/usr"
