"""Help: every command explains itself, and the first page says what each is for."""

import click
import pytest

from keisei.cli.agent import runtime
from keisei.cli.app import COMMANDS, SECTIONS, app
from keisei.cli.capability import seed
from keisei.cli.forge import program as kei_forge
from keisei.cli.ledger import program as kei_ledger
from keisei.cli.migrate import group as kei_migrate
from keisei.cli.primitive import kei_milestone, kei_task
from keisei.cli.runtime import program as kei_runtime
from keisei.cli.sage import program as kei_sage
from keisei.cli.schema_lint import command as kei_schema_lint

DOORS = {
    "keisei": app,
    "kei-agent-runtime": runtime,
    "kei-capability": seed,
    "kei-forge": kei_forge,
    "kei-ledger": kei_ledger,
    "kei-migrate": kei_migrate,
    "kei-milestone": kei_milestone,
    "kei-runtime": kei_runtime,
    "kei-sage": kei_sage,
    "kei-schema-lint": kei_schema_lint,
    "kei-task": kei_task,
}


def paths(command, words=()):
    """Every command of a tree, by its words."""
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from paths(command.get_command(context, name), (*words, name))


EVERY = [(door, words) for door, command in DOORS.items() for words in paths(command)]


@pytest.mark.parametrize(("door", "words"), EVERY, ids=[" ".join((door, *words)) for door, words in EVERY])
def test_a_command_explains_itself_within_100_columns(shell, door, words):
    shell.setenv("COLUMNS", 300)

    done = shell.run(*words, "--help", command=door)

    assert done.code == 0
    assert done.err == ""
    assert done.out.startswith(f"Usage: {' '.join((door, *words))} ")
    assert max(map(len, done.out.splitlines())) <= 100
    assert "\\b" not in done.out
    assert "Traceback" not in done.out


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("columns", [80, 100])
def test_the_first_page_fits_one_screen(shell, door, columns):
    shell.setenv("COLUMNS", columns)

    lines = shell.run("--help", command=door).out.splitlines()

    assert len(lines) <= 63
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("words", [[], ["role"], ["schema"]], ids=["keisei", "role", "schema"])
def test_a_short_h_is_help_too(shell, words):
    assert shell.run(*words, "-h").out == shell.run(*words, "--help").out


def test_every_command_of_the_table_has_a_line_that_stands_alone(shell):
    done = shell.run("--help")

    first = next(iter(SECTIONS))
    listed = [line for line in done.out.split(f"{first}:\n")[1].splitlines() if line.startswith("  ")]
    assert sorted(line.split()[0] for line in listed) == sorted(COMMANDS)
    assert all(line.endswith(".") for line in listed)


def test_no_words_at_all_show_the_help_and_count_as_a_mistake(shell):
    done = shell.run()

    assert done.err.startswith("Usage: keisei ")
    assert done.code == 1


def test_the_help_of_completion_shows_one_shell_a_line(shell):
    lines = [line.strip() for line in shell.run("completion", "--help").out.splitlines()]

    assert 'bash:  eval "$(keisei completion bash)"' in lines
    assert 'zsh:   eval "$(keisei completion zsh)"' in lines
    assert "fish:  keisei completion fish | source" in lines
