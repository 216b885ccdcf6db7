"""The cell of one attempt: its gate, its road to the model and the sandbox around both, open while the harness runs."""

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec.structs import replace

from keisei.adapters.port import Adapter, Order, Place
from keisei.adapters.upstream import PROXIES, inside
from keisei.records.adapter import AdapterConfig
from keisei.records.confinement import Confinement, Level, Limits
from keisei.records.error import OperatorError, Refused, WorldFault
from keisei.records.intent import Budget
from keisei.records.launch import Launch
from keisei.records.relay import Allowance, Price, Upstream
from keisei.records.role import RoleAtoms
from keisei.records.task_spec import TaskSpec
from keisei.rules.policy import Policy
from keisei.sandbox.confine import Confined, confine
from keisei.sandbox.reach import program_path, program_reads
from keisei.sandbox.relay import Relay
from keisei.wiring.atom_door import Door, DoorOrder, Doorway, open_doorway
from keisei.wiring.atom_grant import Granted
from keisei.wiring.canary import Nest, prove_hook
from keisei.wiring.confinement import RELAY_PORT, Bounds, Road, confined_to
from keisei.wiring.ear import Ear
from keisei.wiring.execute import Cell, Hold
from keisei.wiring.gatehouse import Admitted
from keisei.wiring.key import server_of
from keisei.wiring.shop import GATE_LOG, RELAY_LOG
from keisei.wiring.site import Site
from keisei.wiring.sockets import runtime_folder
from keisei.wiring.store import make_folder
from keisei.wiring.watchman import GATE_DIED, Watchman
from keisei.wiring.yard import Yard

HARNESSES: Final[Mapping[str, str]] = {"claude-code": "claude", "codex": "codex", "hermes-agent": "hermes"}
"""How each kind calls itself to the gate."""
ATOMS: Final = "atoms"
"""Of the attempt's folder that it does not see: what atoms write for themselves."""
ATOMS_LOG: Final = "atoms.log"
"""Likewise: what the process that answers for atoms has to say."""
KNOWS_PRICES: Final = ("claude-code",)
"""Kinds that keep to a limit in money by themselves."""


class Plan(NamedTuple):
    """What a cell is opened for."""

    attempt_id: str
    adapter: Adapter
    order: Order
    """Without guard, address and confinement: the cell adds them."""
    site: Site
    spec: TaskSpec
    policy: Policy
    level: Level
    network: str
    artifacts: Path
    budget: Budget | None
    hold: Hold
    """By what a rehearsal is held."""
    silence_s: float | None = None
    """How long it may print nothing."""
    secrets: tuple[str, ...] = ()
    """Values that must not be written down."""
    upstream: Upstream | None = None
    """The model's server; None for the one that the adapter's table names."""
    atoms: Granted = MappingProxyType({})
    """Atoms that the agent may call; without any there is no server for them."""
    tools: RoleAtoms = RoleAtoms()
    """How they are offered."""


@contextmanager
def open_cell(yard: Yard, plan: Plan) -> Iterator[Cell]:
    """Everything an agent needs, and nothing else. Raises KeiseiError where a part does not stand or does not hold.

    Closing it takes away the token, the relay and the sandbox's own leavings; the logs stay in the attempt's folder.
    """
    with ExitStack() as stack:
        native = plan.adapter.gate == "native"
        doorway = stack.enter_context(open_doorway(yard.settings)) if native and plan.atoms else None
        admitted = _admitted(yard, plan, doorway, stack) if native else None
        is_served = (lambda: True) if doorway is None else doorway.is_served
        watch = Watchman(yard, admitted, plan.site.folder, is_served)
        way = _way(yard, plan, watch, stack) if native else Way(None, Road(None, None), None, dict(plan.order.env), "")
        order = _order(plan, admitted, way, None if doorway is None else doorway.door)
        told = plan.adapter.plan(order)
        if not isinstance(told, Launch):
            raise Refused(f"adapter `{plan.order.config.adapter_id}` starts no program", "it cannot be confined")
        told = replace(anchored(told), silence_s=plan.silence_s)
        bounds = _bounds(yard, plan, admitted, order, told)
        if doorway is not None:
            door = doorway.door
            bounds = bounds._replace(reads=(*bounds.reads, *door.reads), sockets=(*bounds.sockets, door.socket))
        confinement = confined_to(bounds, way.road)
        if doorway is not None and admitted is not None:
            doorway.answer(_told(yard, plan, admitted, doorway.door, confinement), plan.site.folder / ATOMS_LOG)
        confined = _held(told, confinement=confinement, yard=yard, stack=stack)
        if admitted is not None:
            bare = replace(confinement, forward=None, limits=Limits(processes=None))  # it has no use for a model
            also = partial(_held, confinement=bare, yard=yard, stack=stack)
            nest = Nest(plan.site.room, plan.site.cwd, _few(way.env), lambda launch: also(launch).launch)
            _prove(yard, admitted, plan.policy, nest)
        yield Cell(
            launch=confined.launch,
            told=told,
            layers=(*(("hooks",) if native else ()), *confined.layers, *(("relay",) if way.relay else ())),
            level=confined.level,
            admitted=admitted,
            relay=way.relay,
            watch=watch,
            secrets=tuple(
                each for each in (admitted and admitted.token, way.token, doorway and doorway.door.token) if each
            ),
        )


def _prove(yard: Yard, admitted: Admitted, policy: Policy, nest: Nest) -> None:
    """The canary. Raises WorldFault, which may pass where the gate was killed meanwhile: the next one may live."""
    try:
        prove_hook(admitted.hook, policy, nest)
    except WorldFault as fault:
        if yard.gatehouse.is_alive(admitted):
            raise
        raise WorldFault(GATE_DIED, retryable=True) from fault


class Way(NamedTuple):
    """How the harness reaches its model."""

    relay: Relay | None
    road: Road
    address: str | None
    env: dict[str, str]
    """What the harness gets, without what only the relay knows."""
    token: str


def has_own_network(yard: Yard, plan: Plan) -> bool:
    """Whether the attempt's network holds nothing but the road to its model."""
    return yard.machine.bwrap is not None and plan.network == "none"


def _few(env: Mapping[str, str]) -> dict[str, str]:
    return {name: env[name] for name in ("PATH", "LANG", "KEISEI_ATTEMPT_ID") if name in env}


def _held(launch: Launch, *, confinement: Confinement, yard: Yard, stack: ExitStack) -> Confined:
    """A program in this sandbox; whether the machine's level will do was asked before."""
    confined = confine(launch, confinement, yard.machine, "none")
    stack.callback(confined.close)
    return confined


def _admitted(yard: Yard, plan: Plan, doorway: Doorway | None, stack: ExitStack) -> Admitted:
    """The attempt's gate, which knows every secret that a call may hold."""
    harness, log = HARNESSES[plan.adapter.kind], plan.site.folder / GATE_LOG
    hidden = plan.secrets if doorway is None else (*plan.secrets, doorway.door.token)
    admitted = yard.gatehouse.admit(plan.policy, harness, plan.attempt_id, log, hidden)
    stack.callback(yard.gatehouse.dismiss, admitted)
    if doorway is not None:
        stack.callback(doorway.close)  # whoever asks the gate ends before it
    return admitted


def _way(yard: Yard, plan: Plan, watch: Watchman, stack: ExitStack) -> Way:
    config = plan.order.config
    upstream = plan.upstream or server_of(config, plan.order.env)
    token = secrets.token_urlsafe(24)
    socket = runtime_folder(yard.settings) / f"relay-{token[:8]}.sock" if has_own_network(yard, plan) else None
    log = plan.site.folder / RELAY_LOG
    relay = stack.enter_context(
        Relay(
            upstream,
            token,
            _allowance(yard, plan),
            socket=socket,
            log=log,
            closed=plan.network == "none",
            on_spent=watch.end,
            on_answer=Ear(watch.give_up).hear,
        )
    )
    address = f"http://127.0.0.1:{RELAY_PORT if socket else relay.port}"
    withheld = {*upstream.key_names, *PROXIES}
    kept = {name: value for name, value in plan.order.env.items() if name not in withheld}
    road = Road(None if socket is None else str(socket), relay.port)
    return Way(relay, road, address, kept | inside(config, address, token), token)


def _allowance(yard: Yard, plan: Plan) -> Allowance:
    """What may be spent. Raises OperatorError for a limit in money that nobody could keep before it is passed."""
    budget = plan.budget or Budget()
    if budget.max_cost_usd is not None and not yard.home.file.prices and plan.adapter.kind not in KNOWS_PRICES:
        raise OperatorError(
            f"the budget is in money, and what adapter `{plan.order.config.adapter_id}` costs is not known in time",
            'add `[prices."<model>"]` with input and output to keisei.toml, or limit tokens',
        )
    prices = {
        model: Price(input=each.input, output=each.output, cache_read=each.cache_read, cache_write=each.cache_write)
        for model, each in yard.home.file.prices.items()
    }
    return Allowance(max_tokens=budget.max_tokens, max_cost_usd=budget.max_cost_usd, prices=prices)


def _told(yard: Yard, plan: Plan, admitted: Admitted, door: Door, confinement: Confinement) -> DoorOrder:
    """What the process that answers for atoms is told of this attempt."""
    room = plan.site.folder / ATOMS
    make_folder(room)
    cwd = plan.site.cwd if plan.site.leased is None else Path(plan.site.leased.worktree.path)
    return DoorOrder(
        attempt_id=plan.attempt_id,
        token=door.token,
        atoms=tuple(sorted(each.atom for each in plan.atoms.values())),
        write=plan.tools.write,
        profile=plan.tools.tools,
        gate_socket=admitted.socket,
        gate_token=admitted.token,
        root=None if yard.home.root is None else str(yard.home.root),
        cwd=os.path.realpath(cwd),
        room=os.path.realpath(room),
        confinement=confinement,
        machine=yard.machine,
        secrets=(*plan.secrets, admitted.token, door.token),
    )


def _order(plan: Plan, admitted: Admitted | None, way: Way, door: Door | None) -> Order:
    order = replace(
        plan.order,
        env=way.env,
        confined=plan.level != "none",
        model_address=way.address,
        max_cost_usd=None if plan.budget is None else plan.budget.max_cost_usd,
    )
    if admitted is None:
        return order
    place = Place(
        room=str(plan.site.room.resolve()),
        worktree=str(plan.site.cwd if plan.site.leased is None else plan.site.leased.worktree.path),
        model=plan.order.model,
        model_address=way.address,
        server=None if door is None else door.command,
        server_env={} if door is None else door.env,
    )
    guard = plan.adapter.guard(admitted.hook, place)
    if guard is not None and plan.adapter.home is not None:
        lay_out(plan.site.room / plan.adapter.home, guard.files)
    return replace(order, guard=guard)


def lay_out(home: Path, files: Mapping[str, str]) -> None:
    """Write the harness's own files into its private home."""
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def anchored(told: Launch) -> Launch:
    """The same program by its absolute path, with a PATH that leads nowhere else wherever it is looked up.

    It starts in a worktree: an empty or relative part of the PATH would have a file of the repository run in place of
    the program that was proved.
    """
    parts = told.env.get("PATH", os.defpath).split(os.pathsep)
    path = os.pathsep.join(part for part in parts if Path(part).is_absolute())
    found = program_path(told.argv[0], path)
    return replace(told, argv=(found or told.argv[0], *told.argv[1:]), env={**told.env, "PATH": path})


def _fixed(yard: Yard, plan: Plan, order: Order) -> tuple[str, ...]:
    """The files that hang the gate in: a program that a call starts must not take it out for the next sub-agent.

    Landlock alone cannot close a file in a folder that stays open, and the harness has to write its home.
    """
    if order.guard is None or plan.adapter.home is None or yard.machine.bwrap is None:
        return ()
    home = plan.site.room.resolve() / plan.adapter.home
    return tuple(str(home / name) for name in order.guard.files)


def _bounds(yard: Yard, plan: Plan, admitted: Admitted | None, order: Order, told: Launch) -> Bounds:
    config: AdapterConfig = plan.order.config
    reads = program_reads(told.argv[0], told.env.get("PATH", ""))
    if admitted is not None:
        reads = (*reads, admitted.client, *(each for each in admitted.hook[:-3] if each.startswith("/")))
    return Bounds(
        cwd=plan.site.cwd if plan.site.leased is None else Path(plan.site.leased.worktree.path),
        worktree=None if plan.site.leased is None else plan.site.leased.worktree,
        spec=plan.spec,
        outside=plan.site.folder,
        room=plan.site.room,
        artifacts=plan.artifacts,
        sandbox=getattr(config, "sandbox", None),
        network="open" if plan.network == "open" else "none",
        project=yard.sandbox,
        reads=reads,
        sockets=() if admitted is None else (admitted.socket,),
        private=yard.private(getattr(config, "env_file", None)),
        fixed=_fixed(yard, plan, order),
    )
