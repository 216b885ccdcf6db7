"""The door: one place where errors become words and exit codes.

0 done, 1 yours to fix, 2 refused or failed by contract, 3 needs a person, 4 budget, 5 timeout, 70 our bug,
127 a program is missing, 130 interrupted.
"""

import contextlib
import os
import sys
from importlib import import_module
from pathlib import Path

import click

from keisei.records.error import AuthorError, KeiseiError
from keisei.records.problem import printable

EXITS = {
    0: "done",
    1: "yours to fix: usage, a file, IO",
    2: "refused, or failed by contract",
    3: "needs a person",
    4: "budget or quota",
    5: "timeout",
    70: "our bug; a report file is written",
    127: "a program is missing",
    130: "interrupted",
}


def run(command: str, name: str, *, usage: int, failure: int | None = None) -> int:
    """Run a click command and return its exit code. Never shows a traceback."""
    module, attribute = command.split(":")
    try:
        with _quiet_pipe():
            target: click.Command = getattr(import_module(module), attribute)
            result = target.main(prog_name=name, standalone_mode=False)
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        error.show(sys.stderr)
        return usage
    except (click.Abort, KeyboardInterrupt):
        return 130
    except KeiseiError as error:
        say_error(error)
        return 1 if failure is None else failure
    except OSError as error:
        place = f" {error.filename}" if error.filename else ""
        complain(f"{(error.strerror or str(error)).lower()}:{place or ' while reading or writing'}")
        return 1 if failure is None else failure
    except Exception:  # noqa: BLE001 - whatever is left is our bug, and a person must not read a traceback for it
        return _our_bug()


@contextlib.contextmanager
def _quiet_pipe():  # type: ignore[no-untyped-def]  # noqa: ANN202 - a context manager of nothing
    """A reader that went away, as `head` does, is not an error."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(message: str, hint: str | None = None) -> None:
    """An error for people, on stderr."""
    click.echo(f"{click.style('error:', fg='red', bold=True)} {printable(message)}", err=True)
    if hint:
        click.echo(f"  hint: {printable(hint)}", err=True)


def say_error(error: KeiseiError) -> None:
    """An error of ours as people read it; the problems of files one below the other."""
    if isinstance(error, AuthorError):
        for problem in error.problems:
            click.echo(problem.render(), err=True)
    else:
        complain(error.message, error.hint)


def _our_bug() -> int:
    import tempfile
    import traceback

    report = traceback.format_exc()
    try:
        handle, path = tempfile.mkstemp(prefix="keisei-report-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"keisei {' '.join(sys.argv[1:])}\nPython {sys.version}\n\n{report}")
        complain("this is a bug in keisei", f"the details are in {Path(path)}; please attach them to a bug report")
    except OSError:
        complain("this is a bug in keisei", report.strip().splitlines()[-1])
    return 70
