"""`keisei completion`."""

import click
from click.shell_completion import get_completion_class

HELP = """Print the completion script of a shell.

\b
bash:  eval "$(keisei completion bash)"
zsh:   eval "$(keisei completion zsh)"
fish:  keisei completion fish | source
"""


@click.command("completion", help=HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the completion script of a shell."""
    from keisei.cli.app import app

    script = get_completion_class(shell)
    if script is None:
        message = f"no completion for {shell}"
        raise click.UsageError(message)
    click.echo(script(app, {}, "keisei", "_KEISEI_COMPLETE").source())
    return 0
