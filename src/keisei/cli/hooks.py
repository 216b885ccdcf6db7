"""`keisei hooks`: the gate in the settings of a harness you start yourself."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from keisei.cli.output import emit_json, json_option, table
from keisei.cli.surroundings import settings
from keisei.records.error import OperatorError

if TYPE_CHECKING:
    from keisei.hooks.place import Around, Place
    from keisei.hooks.status import Status

F = TypeVar("F", bound=Callable[..., Any])

group = click.Group(
    "hooks", help="The gate in the settings of Claude Code and Codex: install, status, uninstall, canary."
)


def _scope(command: F) -> F:
    """`--project` and `--user`; the last one wins."""
    user = click.option("--user", "scope", flag_value="user", help="The settings of your user.")
    project = click.option("--project", "scope", flag_value="project", help="The settings of this project.")
    return project(user(command))


HARNESS = click.Choice(("claude", "codex"))


@group.command("install")
@click.argument("harness", type=HARNESS)
@_scope
@click.option("--task", type=click.Path(path_type=Path), help="Judge by the role of this task file.")
@click.option("--print", "printed", is_flag=True, help="Print the settings and write nothing.")
def install(harness: str, scope: str | None, task: Path | None, printed: bool) -> int:
    """Put the gate into a harness's settings; the project's, unless --user.

    Every tool call is then judged: by the capabilities that KEI_CAPABILITY_NAME names, and without it none, or with
    --task by the whole role of a task. What fails in between is a refusal.
    """
    from keisei.hooks.install import HARNESS as KNOWN
    from keisei.hooks.install import install as put

    command = _command(harness, task, _root() if (scope or "project") == "project" else None)
    if printed:
        emit_json(KNOWN[harness].snippet(command))
        if harness == "codex":
            click.echo("note: Codex skips a hook until it is trusted; without --print, install sees to that", err=True)
        return 0
    place = _place(harness, scope or "project")
    changed = put(place, command)
    click.echo(f"{'installed in' if changed else 'already installed in'} {_shown(place)}")
    _warn(_status(place))
    return 0


@group.command("uninstall")
@click.argument("harness", type=HARNESS)
@_scope
def uninstall(harness: str, scope: str | None) -> int:
    """Take the gate out of a harness's settings; the project's, unless --user. Everything else stays as it is."""
    from keisei.hooks.install import uninstall as take

    place = _place(harness, scope or "project")
    changed = take(place)
    click.echo(f"{'uninstalled from' if changed else 'not installed in'} {_shown(place)}")
    return 0


@group.command("status")
@click.argument("harness", type=HARNESS, required=False)
@_scope
@json_option
def status(harness: str | None, scope: str | None, as_json: bool) -> int:
    """Tell where the gate is installed, and whether the harness will run it.

    Exit 0 if it is installed and everything that is installed is effective, 2 otherwise.
    """
    harnesses = (harness,) if harness else ("claude", "codex")
    scopes = (scope,) if scope else ("project", "user")
    found = [_status(_place(each, where)) for each in harnesses for where in scopes]
    if as_json:
        emit_json([_json(each) for each in found])
    else:
        rows = [(each.place.harness, each.place.scope, each.state, _shown(each.place)) for each in found]
        table(("harness", "scope", "state", "file"), rows)
        for each in found:
            _warn(each)
    states = {each.state for each in found} - {"absent"}
    return 0 if states == {"installed"} else 2


def _json(status: "Status") -> dict[str, Any]:
    return {
        "harness": status.place.harness,
        "scope": status.place.scope,
        "path": str(status.place.path),
        "state": status.state,
        "command": status.command,
        "reasons": [reason._asdict() for reason in status.reasons],
    }


def _warn(status: "Status") -> None:
    from keisei.records.problem import tidy

    for reason in status.reasons:
        click.echo(f"warning: {status.place.harness} {status.place.scope}: {tidy(reason.text)}", err=True)
        click.echo(f"  hint: {tidy(reason.hint)}", err=True)


def _around() -> "Around":
    from keisei.hooks.place import Around

    try:
        return Around(Path.cwd(), settings().home, os.environ)
    except FileNotFoundError as error:
        message = "the working directory does not exist any more"
        raise OperatorError(message, "change to a folder that exists") from error


def _place(harness: str, scope: str) -> "Place":
    from keisei.hooks.place import place_of

    return place_of(harness, scope, _around())


def _status(place: "Place") -> "Status":
    from keisei.hooks.status import status as told

    return told(place, _around(), _found("keisei"))


def _shown(place: "Place") -> str:
    from keisei.library.source import shown_path
    from keisei.records.problem import printable

    return printable(shown_path(place.path))


def _root() -> Path:
    """The project a hook is installed for: what an agent does with `cd` later must not move it."""
    from keisei.wiring.alone import repository

    return repository().resolve()


def _command(harness: str, task: Path | None, project: Path | None) -> str:
    """The hook that works without a service: one program, started for every call, bound to its project."""
    from keisei.adapters.hook_command import limited, shell_form

    timeout = shutil.which("timeout")
    if task is None:
        checks = (_program("kei-capability"), "check", *(("--in", str(project)) if project is not None else ()))
        return shell_form(limited(checks, timeout), only_with="KEI_CAPABILITY_NAME")
    if not os.path.isfile(task):  # noqa: PTH113 - Path.is_file raises for a name that is too long
        raise OperatorError(f"there is no task file `{task}`", "name the file that says what the work is")
    bound = ("--worktree", str(project)) if project is not None else ()
    judges = (_program("keisei"), "gate", "check", "--task", str(task.absolute()), "--harness", harness, *bound)
    return shell_form(limited(judges, timeout))


def _program(name: str) -> str:
    found = _found(name)
    if found is None:
        raise OperatorError(f"the program `{name}` is not beside this keisei", "install keisei as a package")
    return found


def _found(name: str) -> str | None:
    """The program that belongs to the keisei that is running, else the one on the path."""
    beside = Path(sys.executable).parent / name
    return str(beside) if os.access(beside, os.X_OK) else shutil.which(name)


@group.command("canary")
@click.argument("harness", type=HARNESS)
@click.option("--program", type=click.Path(path_type=Path), help="The harness's program; by default the one on PATH.")
@json_option
def canary(harness: str, program: Path | None, as_json: bool) -> int:
    """Prove that the gate fires in a harness: one call it must refuse, one it must allow. No real model is asked."""
    from keisei.cli.canary import fire, found

    sung = fire(harness, found(harness, program), settings())
    if as_json:
        emit_json({**sung._asdict(), "seconds": round(sung.seconds, 3), "holds": sung.holds})
    else:
        refused = "refused what it must" if sung.refused else "DID NOT REFUSE what it must"
        allowed = "allowed what it may" if sung.allowed else "DID NOT ALLOW what it may"
        click.echo(f"{harness} ({sung.program}): {refused}, {allowed}; {sung.seconds:.1f} s")
        if not sung.holds:
            click.echo(f"  {sung.detail or 'the harness made no call and gave no reason'}", err=True)
    return 0 if sung.holds else 2
