"""The stage of a demo: its project, its models and its store, and the engine that carries one task after the other."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Final, NamedTuple

from keisei.demo.place import Place
from keisei.demo.project import ADAPTER, build, quoted, write_key
from keisei.demo.script import FIELDS, ROLE, TASK, WRITES, Agent, Part, model_script, parts
from keisei.engine.intake import Origin, accept, read_intent
from keisei.engine.ports import Store
from keisei.records.confinement import Level
from keisei.records.id import TaskId
from keisei.sandbox.confine import level_for
from keisei.settings import Settings
from keisei.testing.model import ScriptedModel
from keisei.wiring.fresh import new_id
from keisei.wiring.hall import project_shop, runner_options, shop_runner
from keisei.wiring.registry import defaults_of
from keisei.wiring.runner import Line, Runner
from keisei.wiring.shop import Shop
from keisei.wiring.store import Home, open_home_store, project_home


class Kind(NamedTuple):
    """What a kind of harness is told of its model."""

    variable: str
    """Where it reads the model's address."""
    path: str
    key: str
    """Where it reads the key."""
    style: str
    model: str | None = None
    """The model it has to be asked for."""


KINDS: Final[Mapping[str, Kind]] = {
    "claude-code": Kind("ANTHROPIC_BASE_URL", "", "ANTHROPIC_API_KEY", "claude-like"),
    "codex": Kind("OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY", "codex-like", "scripted"),
}


class Cast(NamedTuple):
    """Who plays the agents."""

    kind: str
    command: str
    """The program, absolute."""


class Holding(NamedTuple):
    """How surely this machine confines agents, and what is missing for more."""

    level: Level
    faults: tuple[str, ...]
    landlock: int


class Stage:
    """Everything of one demo, open."""

    def __init__(self, place: Place, cast: Cast, base: str) -> None:
        self.place, self.cast = place, cast
        self.base: str = base
        """The commit that main begins with."""
        self.settings: Settings = place.settings()
        self.home: Home = project_home(self.settings, place.main)
        self.store: Store = open_home_store(self.settings, self.home)
        self.troubles: list[str] = []
        """What runners had to complain of."""

    @cached_property
    def holding(self) -> Holding:
        """What holds agents here, found by doing it."""
        yard = self._shop().yard
        if yard is None:
            return Holding("none", (), 0)
        level, fault = level_for(yard.machine, "none")
        return Holding(level, (*((fault,) if fault else ()), *yard.machine.faults), yard.machine.landlock)

    def play(self, agent: Agent) -> TaskId:
        """Queue the agent's task and run it until nothing is left to do: its end, and its landing."""
        shop = self._shop()
        task = accept(
            read_intent(self._intent(agent)),
            shop.registry(),
            defaults_of(self.home),
            origin=Origin(),
            task_id=TaskId(new_id()),
            now=self.store.now(),
        )
        self.store.enqueue([task])
        options = runner_options(shop.runner, jobs=1, once=False, until_idle=True)
        _finish(shop_runner(shop, options, self._heard))
        return task.task.task_id

    def _shop(self) -> Shop:
        return project_shop(self.settings, self.home, self.store, accept_weaker=True, rehearsal=ScriptedModel)

    def _intent(self, agent: Agent) -> dict[str, object]:
        payload = {
            "task": {"role": ROLE},
            "scope": {"files-whitelist": list(WRITES)},
            "output": {"report-fields-required": list(FIELDS)},
            "body": {"text": TASK},
        }
        intent = {
            "task_type": "agent-task",
            "source": "demo",
            "subject": f"{agent}: {TASK}",
            "payload": payload,
            "requested_profile_id": "demo",
            "requested_adapter_id": agent,
            "requested_model": KINDS[self.cast.kind].model,
            "max_attempts": 1,
        }
        return {name: value for name, value in intent.items() if value is not None}

    def _heard(self, line: Line) -> None:
        if line.event == "trouble":
            self.troubles.append(line.detail)


@contextmanager
def opened(place: Place, cast: Cast) -> Iterator[Stage]:
    """A stage with its models on loopback, closed afterwards."""
    kind = KINDS[cast.kind]
    with ExitStack() as stack:
        models = {
            agent: stack.enter_context(ScriptedModel(model_script(part, cast.kind)))
            for agent, part in parts(place).items()
        }
        write_key(place, kind.key)
        adapters = [_adapter(place, cast, agent, model.url) for agent, model in models.items()]
        base = build(place, "".join(adapters), kind.style)
        stage = Stage(place, cast, base)
        stack.callback(stage.store.close)
        yield stage


def _adapter(place: Place, cast: Cast, agent: Agent, url: str) -> str:
    kind = KINDS[cast.kind]
    return ADAPTER.format(
        name=agent,
        kind=cast.kind,
        command=quoted(cast.command),
        keys=quoted(str(place.keys)),
        variable=kind.variable,
        url=f"{url}{kind.path}",
    )


def _finish(runner: Runner) -> None:
    """Run to the end. Whoever interrupts this ends everything that was started, before the interruption goes on.

    It waits for an event and not for the thread: a `join` that is interrupted takes the thread for ended.
    """
    faults: list[BaseException] = []
    ended = threading.Event()
    threading.Thread(target=_kept, args=(runner, faults, ended), name="demo", daemon=True).start()
    try:
        ended.wait()
    finally:
        if not ended.is_set():
            runner.stop()
            runner.stop()
            ended.wait()
    for fault in faults:
        raise fault


def _kept(runner: Runner, faults: list[BaseException], ended: threading.Event) -> None:
    try:
        runner.run()
    except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
        faults.append(error)
    finally:
        ended.set()


def part_of(stage: Stage, agent: Agent) -> Part:
    """What an agent plays there."""
    return parts(stage.place)[agent]
