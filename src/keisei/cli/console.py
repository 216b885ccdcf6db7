"""`keisei console`: the pages of one project, served on this machine; and the links that let people in."""

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import kit_root_option, say, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from keisei.console.service import Ready
    from keisei.wiring.store import Home

PORT = 4314
MINUTES = 10


def served_options(command: "Callable[..., Any]") -> "Callable[..., Any]":
    """Where it is served and who can reach it."""
    options = (
        click.option("--host", help="The address to listen on; by default 127.0.0.1, this machine alone."),
        click.option("--allow-remote", is_flag=True, help="Listen beyond this machine; needs TLS or a proxy."),
        click.option("--tls-cert", type=click.Path(path_type=Path), help="A certificate chain, PEM."),
        click.option("--tls-key", type=click.Path(path_type=Path), help="Its key, PEM, without a pass phrase."),
        click.option("--behind-proxy", metavar="ORIGIN", help="A proxy serves it with TLS as https://NAME."),
        click.option("--name", "names", multiple=True, help="A name browsers call it by; may be given again."),
        click.option("--read-only", is_flag=True, help="Nobody can order anything here."),
        kit_root_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group("console", invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 is any that is free.")
@served_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object when it answers.")
@click.pass_context
def group(context: click.Context, /, port: int, as_json: bool, **how: Any) -> int:  # noqa: ANN401 - the options above
    """Serve this project's pages until stopped: what needs you, what runs, what came of it, and the forge.

    Prints a link that lets one browser in, once. `keisei up` serves it too, beside the runner.
    """
    if context.invoked_subcommand is not None:
        if port != PORT or as_json or any(how.values()):
            raise click.UsageError(f"options go behind `{context.invoked_subcommand}`, and these are not its own.")
        return 0
    return serve(port, "", as_json, **how)


def serve(port: int, place: str, as_json: bool, *, kit_root: Path | None, read_only: bool, **where: Any) -> int:  # noqa: ANN401 - as above
    """Serve until stopped; `place` is the page that the first link leads to."""
    from keisei.console.address import HOST, address
    from keisei.console.service import Way, log_to_stderr, serve_console
    from keisei.wiring.atom_runtime import working_directory

    host = where.pop("host") or HOST
    way = Way(address(host, port, **where), kit_root, read_only)
    log_to_stderr()
    serve_console(settings(), working_directory(), way, lambda ready: _tell(ready, place, as_json))
    return 0


def _tell(ready: "Ready", place: str, as_json: bool) -> None:
    link = f"{ready.link}{f'&to={place}' if place else ''}"
    told = {"event": "ready", "url": ready.url, "link": link}
    text = (
        json.dumps(told) if as_json else f"console  {link}\n         works once, for {MINUTES} minutes; Ctrl-C ends it"
    )
    with suppress(OSError, ValueError):  # a reader that went away does not end a console
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


@group.command("link")
@click.option("--viewer", is_flag=True, help="For somebody who looks and does not order.")
@click.option("--minutes", type=click.IntRange(1, 1440), default=MINUTES, show_default=True, help="How long it waits.")
@json_option
def link(viewer: bool, minutes: int, as_json: bool) -> int:
    """Print a link that lets one browser into the console, once."""
    from keisei.console.service import new_link

    role: Literal["operator", "viewer"] = "viewer" if viewer else "operator"
    text, runs = new_link(_home().folder, role, minutes)
    if as_json:
        emit_json({"link": text, "role": role, "minutes": minutes, "runs": runs})
    else:
        click.echo(text)
    if not runs:
        say("no console of this project runs on this machine: `keisei up` or `keisei console` starts one")
    return 0


@group.command("token")
@click.option("--viewer", is_flag=True, help="The one that only looks.")
def token(viewer: bool) -> int:
    """Print the token that programs send: `Authorization: Bearer TOKEN`. Keep it secret."""
    from keisei.console.key import open_keys

    keys = open_keys(_home().folder)
    click.echo(keys.viewer if viewer else keys.operator)
    return 0


@group.command("rotate")
@json_option
def rotate(as_json: bool) -> int:
    """Make tokens and keys anew: every session, link and token of before ends at once."""
    from keisei.console.key import rotate as rotate_keys

    rotate_keys(_home().folder)
    if as_json:
        emit_json({"rotated": True})
    else:
        click.echo("tokens are new; every session and link of before has ended")
    return 0


@group.command("openapi")
def openapi() -> int:
    """Print the OpenAPI document of /api/v1."""
    from keisei.console.openapi import document

    emit_json(document())
    return 0


def _home() -> "Home":
    from keisei.wiring.atom_runtime import working_directory
    from keisei.wiring.store import project_home

    return project_home(settings(), working_directory())
