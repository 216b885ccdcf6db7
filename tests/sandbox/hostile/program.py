"""What a hostile program is: what it tries, which layers stop it, and where its effect would be seen."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from keisei.records.confinement import Limits
from keisei.records.launch import Exit
from tests.sandbox.hostile.rig import HOSTILE, Rig

Layer = Literal[
    "namespace", "landlock", "seccomp", "capabilities", "protect", "network", "limits", "launcher", "keeper"
]
"""What can be switched off alone: see `layers.confined`."""
Effect = Callable[[Rig, Exit], bool]
"""Whether it has come about, seen from outside: on the disk or in another process, never in what the program says."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """One attempt to get out."""

    name: str
    """What it is called in the tests and in the documentation."""
    tries: str
    """What it tries, in a few words."""
    stopped_by: tuple[Layer, ...]
    """Layers of the full level. Each of them alone stops it; where all are off, the effect is there."""
    source: str
    """Python; see `layers.PRELUDE` for what it finds. A text that begins with `#!sh` is for the shell."""
    effect: Effect
    """What must not happen."""
    landlock: str | None
    """What stops it where there is no namespace; None where nothing does."""
    needs: tuple[str, ...] = ()
    """What stands outside: names of methods of Rig."""
    network: Literal["none", "open"] = "none"
    """The network it is given."""
    limits: Limits = field(default_factory=Limits)
    """What it may use up."""
    root_only: bool = False
    """The effect takes root, so an ordinary user has no control to compare with."""
    user_stops: tuple[Layer, ...] | None = None
    """`stopped_by` for an ordinary user, where it differs.

    Bubblewrap brings a user namespace then; and a runner that is root has capabilities, which keep out who has none.
    """
    user_landlock: str | None = ""
    """`landlock` for an ordinary user; empty where it is the same."""
    keeper: bool = False
    """It runs below a keeper."""


def wrote(*names: str) -> Effect:
    """One of these files of the rig carries the mark of a hostile program."""
    return lambda rig, _: any(HOSTILE.encode() in rig.bytes_of(name) for name in names)


def gone(name: str) -> Effect:
    """This file of the rig is not where it was."""
    return lambda rig, _: not rig.path(name).exists()


def appeared(name: str) -> Effect:
    """This path of the rig, which was not there, is."""
    return lambda rig, _: rig.path(name).exists() or rig.path(name).is_symlink()


def took_secret(rig: Rig, _: Exit) -> bool:
    """The program has put the secret where it may write: it has read it."""
    return rig.secret.encode() in rig.bytes_of("own/loot")


def acted(kind: str) -> Effect:
    """A server outside did what it was asked."""
    return lambda rig, _: rig.path(f"acted/{kind}").exists()


def runner_is_dead(rig: Rig, _: Exit) -> bool:
    """The process that stands in for the runner does not answer any more."""
    return rig.ask_runner() is None


def runner_is_changed(rig: Rig, _: Exit) -> bool:
    """The process that stands in for the runner finds the mark of a hostile program in its memory."""
    return HOSTILE in (rig.ask_runner() or "")
