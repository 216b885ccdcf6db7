"""`keisei forge`: make an atom in a page; the same engine is `keisei atom new` and `kei-forge::create-atom`."""

from typing import Any

import click

from keisei.cli.console import MINUTES, serve, served_options
from keisei.cli.output import emit_json
from keisei.cli.primitive import Program
from keisei.cli.surroundings import settings

PORT = 8747
PAGE = "/forge"


@click.command("forge", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 is any that is free.")
@served_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object when it answers.")
def command(port: int, as_json: bool, **how: Any) -> int:  # noqa: ANN401 - the options above
    """Open the forge: form on the left, every file on the right, tried in the sandbox, written all or nothing.

    Where the project's console runs already it prints a link into that one; else, and with any option of how to serve,
    it serves one until stopped.
    """
    from keisei.console.origin import known_origin
    from keisei.console.service import new_link
    from keisei.wiring.atom_runtime import working_directory
    from keisei.wiring.store import project_home

    home = project_home(settings(), working_directory())
    if port == PORT and not any(how.values()) and known_origin(home.folder) is not None:
        link = f"{new_link(home.folder, 'operator', MINUTES)[0]}&to={PAGE}"
        if as_json:
            emit_json({"event": "link", "link": link})
        else:
            click.echo(f"forge    {link}")
        return 0
    return serve(port, PAGE, as_json, **how)


program = Program("kei-forge")
program.add_command(command, "serve")
