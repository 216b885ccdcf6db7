"""The door: one place where errors become words and exit codes.

0 done, 1 yours to fix, 2 refused or failed by contract, 3 needs a person, 4 budget, 5 timeout, 70 our bug,
127 a program is missing, 130 interrupted.
"""

import os
import sys
from importlib import import_module
from pathlib import Path

import click

from keisei.records.error import AuthorError, KeiseiError
from keisei.records.problem import tidy
from keisei.settings import read_settings

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


def run(command: str, name: str, *, usage: int, failure: int = 1) -> int:
    """Run a click command and return its exit code. Never shows a traceback."""
    _open_what_is_closed()
    try:
        code = _called(command, name)
        sys.stdout.flush()
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        error.show(sys.stderr)
        return usage
    except (click.Abort, KeyboardInterrupt, EOFError):
        return 130
    except BrokenPipeError:  # a reader that went away, as `head` does, is not an error
        return _silenced(0)
    except KeiseiError as error:
        say_error(error)
        return failure
    except OSError as error:
        place = f" {error.filename}" if error.filename else ""
        complain(f"{(error.strerror or str(error)).lower()}:{place or ' while reading or writing'}")
        return _silenced(failure)
    except Exception:  # noqa: BLE001 - whatever is left is our bug, and a person must not read a traceback for it
        return _our_bug()
    return code


def _called(command: str, name: str) -> int:
    """The command's own exit code. click's `main` is left out, because it takes broken pipes for itself."""
    module, attribute = command.split(":")
    target: click.Command = getattr(import_module(module), attribute)
    if f"_{name.replace('-', '_').upper()}_COMPLETE" in os.environ:
        target.main(prog_name=name)
    try:
        with target.make_context(name, sys.argv[1:]) as context:
            result = target.invoke(context)
    except click.exceptions.Exit as exit_:
        result = exit_.exit_code
    return result if isinstance(result, int) else 0


def _open_what_is_closed() -> None:
    """A stream that was closed by the caller is None in Python; nobody below should have to think of that."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 - stays open
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - stays open
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - stays open


def _silenced(code: int) -> int:
    """Nothing more can be written; keep Python from trying when it shuts down."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return code


def complain(message: str, hint: str | None = None) -> None:
    """An error for people, on stderr."""
    mark = "error:" if read_settings().no_color else click.style("error:", fg="red", bold=True)
    click.echo(f"{mark} {tidy(message)}", err=True)
    if hint:
        click.echo(f"  hint: {tidy(hint)}", err=True)


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
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"keisei {' '.join(sys.argv[1:])}\nPython {sys.version}\n\n{report}")
        complain("this is a bug in keisei", f"the details are in {Path(path)}; please attach them to a bug report")
    except OSError:
        complain("this is a bug in keisei", report.strip().splitlines()[-1])
    return 70
