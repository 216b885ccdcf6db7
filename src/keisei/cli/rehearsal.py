"""Rehearsals need a model that plays a script; runners are handed the one that users test their roles with."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from keisei.wiring.yard import Model


accept_weaker_option = click.option(
    "--accept-weaker",
    is_flag=True,
    help="Run agents although this machine confines them less than their role requires.",
)


def rehearsal(script: Any) -> "AbstractContextManager[Model]":  # noqa: ANN401 - the scripted model's own types
    """A scripted model on loopback; imported only when a harness is proved."""
    from keisei.testing.model import ScriptedModel

    return ScriptedModel(script)
