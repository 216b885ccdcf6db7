"""Launches: what every adapter that starts a program asks of an order, and how its launch is put together."""

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

from keisei.adapters.port import Guard, Order
from keisei.records.adapter import AdapterConfig, Harness, Program
from keisei.records.error import Refused
from keisei.records.launch import Launch
from keisei.rules.adapter import bypasses, objections, switched_off

LONGEST = 96 * 1024
"""Bytes of one argument or variable; the kernel takes 128 kB, with its name and a margin."""
MOST = 1024 * 1024
"""Bytes of all of them together; the kernel takes 2 MB where nobody lowered the limit."""
TRANSCRIPT = 64 * 1024 * 1024
"""Bytes of output that are kept of a harness: its last line is the one that counts."""
QUIET = {"TZ": "UTC"}
"""What a harness gets unless the order says otherwise: limits that it prints as a clock time are then in UTC."""
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_MODEL = re.compile(r"[^\s-][^\x00-\x20\x7f]{0,199}")

Config = TypeVar("Config", bound=Struct)


def config_of(order: Order, kind: type[Config]) -> Config:
    """The order's table as the kind that the adapter knows. Raises Refused for another adapter's."""
    if not isinstance(order.config, kind):
        raise Refused(f"adapter `{order.config.adapter_id}` is of another kind", "ask `adapter_of` for its own adapter")
    return order.config


def is_trusted(order: Order, config: Harness) -> bool:
    """Whether the harness's own prompts are given up, said openly.

    Raises Refused where only the sandbox says so, and for no sandbox at all that nobody accepted for this run.
    """
    autonomy = getattr(config, "autonomy", None)
    trusted = autonomy is not None and autonomy.profile == "trusted-vm"
    if config.sandbox == "danger-full-access" and not trusted:
        raise _refused(config, "sandbox `danger-full-access` needs `autonomy.profile = trusted-vm`")
    if config.sandbox == "danger-full-access" and not order.accept_weaker:
        raise _refused(config, "sandbox `danger-full-access` gives up confinement", "start with `--accept-weaker`")
    return trusted


def guard_of(order: Order) -> Guard:
    """The gate of a harness with tools. Raises Refused where there is none, or a variable would switch it off."""
    config = order.config
    kind = str(config.__struct_config__.tag)
    if order.guard is None:
        raise Refused(f"adapter `{config.adapter_id}` has tools and no gate", "hand in the gate's settings")
    for name in switched_off(kind, order.env):
        raise _refused(config, f"the variable `{name}` switches the gate's hook off", "take it out of env and env_file")
    return order.guard


def model_of(order: Order) -> str | None:
    """The model, which is one plain word. Raises Refused for what a command line could take for something else."""
    if order.model is not None and not _MODEL.fullmatch(order.model):
        raise Refused(
            f"the model `{order.model[:80]}` is not a plain name", "name a model without spaces and dashes first"
        )
    return order.model


def session_of(order: Order) -> str | None:
    """The session to go on with. Raises Refused for what is not an id."""
    if order.resume is not None and not _SESSION.fullmatch(order.resume):
        raise Refused(f"the session `{order.resume[:80]}` is not an id", "begin a new one")
    return order.resume


def anew(order: Order) -> None:
    """Raises Refused where an order wants to go on with a session and the harness has none."""
    if order.resume is not None:
        raise Refused(f"adapter `{order.config.adapter_id}` cannot go on with a session", "begin a new one")


def launch_of(  # noqa: PLR0913 - a launch has this many sides
    order: Order,
    config: Program,
    argv: Sequence[str],
    *,
    stdin: bytes | None = None,
    env: Mapping[str, str] | None = None,
    output_cap: int = TRANSCRIPT,
) -> Launch:
    """The launch; `env` stands for the order's. Raises Refused for arguments that are missing, forbidden, too long."""
    _check_arguments(config, argv)
    whole = dict(order.env if env is None else env)
    _check_size(config, argv, whole)
    timeout_s = config.timeout_ms / 1000
    return Launch(argv=tuple(argv), cwd=order.cwd, env=whole, stdin=stdin, timeout_s=timeout_s, output_cap=output_cap)


def _check_arguments(config: Program, argv: Sequence[str]) -> None:
    for place, reason, hint in objections(str(config.__struct_config__.tag), config.extra_args):
        raise _refused(config, f"`{config.extra_args[place]}` {reason} and may not stand in extra_args", hint)
    autonomy = getattr(config, "autonomy", None)
    for argument in getattr(autonomy, "required_args", ()):
        if bypasses(argument) and getattr(autonomy, "profile", None) != "trusted-vm":
            raise _refused(config, f"`{argument}` gives up a guard", 'say it openly: `profile = "trusted-vm"`')
        if argument not in argv:
            raise _refused(config, f"the launch lacks the required argument `{argument}`", "put it into extra_args")


def _check_size(config: Program, argv: Sequence[str], env: Mapping[str, str]) -> None:
    sizes = 0
    for name, value in (*((f"argument {number}", each) for number, each in enumerate(argv)), *env.items()):
        if "\0" in value or "\0" in name or "=" in name:
            raise _refused(config, f"`{name}` holds a character that no program can be given", "take it out")
        size = len(value.encode("utf-8", "surrogatepass"))
        if size > LONGEST:
            raise _refused(config, f"`{name}` has {size} bytes, more than {LONGEST}", "hand it over as a file")
        sizes += size + len(name) + 2
    if sizes > MOST:
        raise _refused(config, f"arguments and variables have {sizes} bytes, more than {MOST}", "hand over files")


def _refused(config: AdapterConfig | Program, reason: str, hint: str | None = None) -> Refused:
    return Refused(f"adapter `{config.adapter_id}`: {reason}", hint)
