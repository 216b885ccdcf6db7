"""`keisei mcp`: atoms as tools of any client that speaks the Model Context Protocol."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
import msgspec

from keisei.cli.desk import actor, refusing
from keisei.cli.surroundings import kit_root_option, root_option, say, settings
from keisei.records.error import MissingAtom, OperatorError

if TYPE_CHECKING:
    from keisei.mcp.client import Client
    from keisei.mcp.grant import Grant
    from keisei.wiring.atom_runtime import AtomRuntime
    from keisei.wiring.atoms import Shelf
    from keisei.workers.crew import Crew

F = TypeVar("F", bound=Callable[..., Any])
Profile = Literal["lean", "full"]
PORT = 4315
GRACE_S = 1.0
"""Between asking an atom to end and ending it: a client that hangs up waits for nobody."""


@click.group()
def group() -> None:
    """Atoms as tools for agents and editors, over the Model Context Protocol: serve, config."""


def grant_options(command: F) -> F:
    """What is offered."""
    options = (
        click.option(
            "--profile",
            type=click.Choice(["lean", "full"]),
            default="lean",
            show_default=True,
            help="A few tools that reach every atom, or each atom as a tool of its own.",
        ),
        click.option("--packages", multiple=True, metavar="A,B", help="Only these packages; may be given again."),
        click.option(
            "--write",
            multiple=True,
            metavar="PATTERN",
            help="Also atoms that change something: an id, `package::*` or `*`; may be given again.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@group.command("serve")
@click.option("--stdio", is_flag=True, help="On standard input and output; the default.")
@click.option("--http", is_flag=True, help="On a port of this machine, for whoever has the token.")
@click.option("--port", type=click.IntRange(0, 65535), show_default=str(PORT), help="With --http; 0 is any.")
@click.option("--token-file", type=click.Path(path_type=Path), help="With --http: the token; by default one is made.")
@grant_options
@root_option
@kit_root_option
def serve(  # noqa: PLR0913 - a command has its options
    *,
    stdio: bool,
    http: bool,
    port: int | None,
    token_file: Path | None,
    profile: Profile,
    packages: tuple[str, ...],
    write: tuple[str, ...],
    roots: tuple[Path, ...],
    kit_root: Path | None,
) -> None:
    """Serve atoms to a client. Only those that read, unless --write names others; a call has its ledger row.

    On standard input the client is whoever started this; it ends when that hangs up. With --http it listens on
    127.0.0.1, and clients send `Authorization: Bearer TOKEN`.
    """
    from keisei.wiring.atom_runtime import open_runtime

    _check_way(stdio=stdio, http=http, port=port, token_file=token_file)
    grant = grant_of(profile, packages, write)
    with refusing(), open_runtime(settings(), actor=actor(), roots=roots, kit_root=kit_root) as runtime:
        check(grant, runtime.shelf)
        with _crew(runtime) as crew:
            if http:
                _http(runtime, grant, crew, PORT if port is None else port, token_file)
            else:
                _stdio(runtime, grant, crew)


@group.command("config")
@click.argument("client", type=click.Choice(["claude", "codex", "json"]))
@grant_options
@root_option
def config(
    client: "Client", profile: Profile, packages: tuple[str, ...], write: tuple[str, ...], roots: tuple[Path, ...]
) -> None:
    """Print what a client's settings need: `.mcp.json` of Claude Code, `config.toml` of Codex, or plain JSON."""
    from keisei.mcp.client import UNTOLD, snippet
    from keisei.wiring.atoms import open_shelf

    with refusing():
        check(grant_of(profile, packages, write), open_shelf(settings(), roots=roots))
    words = ["--profile", profile] if profile != "lean" else []
    words += [word for name in packages for word in ("--packages", name)]
    words += [word for pattern in write for word in ("--write", pattern)]
    words += [word for root in roots for word in ("--root", str(root.absolute()))]
    program = str(Path(shutil.which("keisei") or sys.argv[0]).absolute())
    click.echo(snippet(client, (program, "mcp", "serve", *words), os.environ, lean=profile == "lean"))
    if client == "json" and os.environ.get(UNTOLD):
        say(f"{UNTOLD} is not printed: give it to the client in a way that keeps it secret")


def _check_way(*, stdio: bool, http: bool, port: int | None, token_file: Path | None) -> None:
    """Raises OperatorError for options of which one would be ignored."""
    if stdio and http:
        raise OperatorError("--stdio and --http do not go together", "start one server for each")
    for name, given in (("--port", port), ("--token-file", token_file)):
        if given is not None and not http:
            raise OperatorError(f"{name} goes with --http", "on standard input there is neither port nor token")


def grant_of(profile: Profile, packages: tuple[str, ...], write: tuple[str, ...]) -> "Grant":
    """What the options grant. Raises OperatorError where a pattern names no atoms, or nothing a package."""
    from keisei.mcp.grant import Grant
    from keisei.records.role import RoleAtoms

    for pattern in write:
        try:
            msgspec.convert({"allowed": [pattern]}, RoleAtoms)  # a role names atoms in the same words
        except msgspec.ValidationError:
            raise OperatorError(f"`{pattern}` names no atoms", "write an id, `package::*` or `*`") from None
    names = tuple(name for given in packages for name in given.split(",") if name)
    if packages and not names:
        raise OperatorError("--packages names no package", "write `--packages A,B`")
    return Grant(profile=profile, packages=names or None, write=write)


def check(grant: "Grant", shelf: "Shelf") -> None:
    """Raises KeiseiError for a package that is not there, and for a pattern by which nothing may be changed."""
    from keisei.mcp.rows import shown
    from keisei.rules.atom_tool import named

    for name in grant.packages or ():
        try:
            shelf.package(name)
        except MissingAtom as error:
            raise OperatorError(f"there is no package `{shown(name)}`", error.hint) from None
    offered = [row.atom for row in shelf.rows()[0] if grant.names(row.atom)] if grant.write else []
    for pattern in grant.write:
        if pattern != "*" and not any(named(each, (pattern,)) for each in offered):
            raise OperatorError(
                f"`{pattern}` names no atom that is offered here", "`keisei atom list` shows all there are"
            )


@contextmanager
def _crew(runtime: "AtomRuntime") -> Iterator["Crew"]:
    """Processes that end quickly once nobody wants their answers."""
    from keisei.sandbox.process import open_process
    from keisei.workers.crew import Crew

    with Crew(open_process, runtime.program, sys.executable, most=runtime.most, grace_s=GRACE_S) as crew:
        yield crew


def _stdio(runtime: "AtomRuntime", grant: "Grant", crew: "Crew") -> None:
    from keisei.mcp.desk import Desk
    from keisei.mcp.sdk import build_late, skip_fronts

    skip_fronts()
    build_late()
    from keisei.mcp.stdio import serve as serve_stdio

    serve_stdio(Desk(runtime, grant, workers=crew))


def _http(runtime: "AtomRuntime", grant: "Grant", crew: "Crew", port: int, token_file: Path | None) -> None:
    from keisei.mcp.desk import Desk
    from keisei.mcp.http import HOST, PATH, listen
    from keisei.mcp.http import serve as serve_http
    from keisei.mcp.token import made_token, read_token

    path = token_file or made_token(runtime.home.folder)
    token = read_token(path)
    with listen(port) as line:
        click.echo(f"http://{HOST}:{line.getsockname()[1]}{PATH}  token: {path}")
        tools = runtime.tools._replace(secrets=(*runtime.tools.secrets, token))
        serve_http(Desk(runtime, grant, workers=crew, tools=tools), line, token)
