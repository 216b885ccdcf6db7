"""CLI: keisei <noun> <verb>, one module per noun, and the seed-named commands as thin aliases.

Owns: words on the terminal, exit codes. Touches: stdout, stderr, files a command was asked to write. Leaves to others:
everything else. The imports here are almost none, because `keisei --version` pays for them.
"""

import os
import sys


def main() -> int:
    """`keisei`."""
    if sys.argv[1:] in (["--version"], ["-V"]) and _say_version():
        return 0
    if sys.argv[1:3] == ["gate", "check"]:  # a hook: whatever is wrong with it refuses
        return _run("keisei.cli.app:app", "keisei", usage=2, failure=2)
    return _run("keisei.cli.app:app", "keisei", usage=1)


def _say_version() -> bool:
    """Answer with no import. False where nothing could be written: the door meets that again, and says so."""
    from keisei import __version__

    try:
        sys.stdout.write(f"keisei {__version__}\n")
        sys.stdout.flush()
    except (OSError, AttributeError):
        return False
    return True


def kei_agent_runtime() -> int:
    """`kei-agent-runtime`, with the originals' exit codes."""
    return _run("keisei.cli.agent:runtime", "kei-agent-runtime", usage=2)


def kei_capability() -> int:
    """`kei-capability`, with the originals' exit codes: every failure is 2. `check` is a hook: the short way."""
    only = sys.argv[1:] == ["check"] or (sys.argv[1:3] == ["check", "--in"] and len(sys.argv) == 4)  # noqa: PLR2004
    if only and not os.environ.get("KEI_CAPABILITY_NAME"):
        return 0  # a hook that judges by no capability is asked at every call, and must cost nothing
    if sys.argv[1:2] == ["check"] and not {"-h", "--help"} & set(sys.argv[2:]):
        from keisei.cli.check import main as check

        return check(sys.argv[2:])
    return _run("keisei.cli.capability:seed", "kei-capability", usage=2, failure=2)


def kei_forge() -> int:
    """`kei-forge`: alone the forge in a page, as in the originals; with a verb that verb."""
    return _run("keisei.cli.forge:program" if sys.argv[1:] else "keisei.cli.forge:command", "kei-forge", usage=1)


def kei_ledger() -> int:
    """`kei-ledger`, with the originals' exit codes."""
    return _run("keisei.cli.ledger:program", "kei-ledger", usage=1)


def kei_runtime() -> int:
    """`kei-runtime`: atoms. A plain list is asked for often, and must be quick."""
    if sys.argv[1:2] == ["list-atoms"]:
        from keisei.cli.atom_list import short_list

        code = short_list(sys.argv[2:])
        if code is not None:
            return code
    return _run("keisei.cli.runtime:program", "kei-runtime", usage=1)


def kei_sage() -> int:
    """`kei-sage`: what is authored, found, ranked, related and drawn."""
    return _run("keisei.cli.sage:program", "kei-sage", usage=1)


def kei_schema_lint() -> int:
    """`kei-schema-lint`, with the originals' exit codes."""
    return _run("keisei.cli.schema_lint:command", "kei-schema-lint", usage=2)


def kei_migrate() -> int:
    """`kei-migrate`: the databases of packages."""
    return _run("keisei.cli.migrate:group", "kei-migrate", usage=1)


def kei_task() -> int:
    """`kei-task`: to-dos. Its verbs come from its schemas."""
    return _run("keisei.cli.primitive:kei_task", "kei-task", usage=1)


def kei_milestone() -> int:
    """`kei-milestone`: milestones of to-dos."""
    return _run("keisei.cli.primitive:kei_milestone", "kei-milestone", usage=1)


def _run(command: str, name: str, *, usage: int, failure: int = 1) -> int:
    try:
        from keisei.cli.door import run

        return run(command, name, usage=usage, failure=failure)
    except KeyboardInterrupt:  # while the first modules are read: the door is not there yet
        return 130
