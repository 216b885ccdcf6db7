"""The table of the documentation: `python -m tests.sandbox.hostile.table` prints it."""

from tests.sandbox.hostile.catalogue import FAMILIES
from tests.sandbox.hostile.program import Layer, Program

_TITLES = {
    "paths": "Writing elsewhere",
    "reads": "Reading what is not its own",
    "repository": "Making git or the harness act later",
    "processes": "Reaching other processes",
    "sockets": "Asking somebody outside",
    "network": "Using the network although it has none",
    "kernel": "Gaining rights in the kernel",
    "limits": "Using up the machine",
}
_HEAD = "| program | what it tries | stopped at `full` by | stopped at `landlock` by |\n|---|---|---|---|"


def table() -> str:
    """One part for each family, in Markdown."""
    parts = []
    for family, programs in FAMILIES.items():
        rows = "\n".join(_row(each) for each in programs)
        parts.append(f"### {_TITLES[family]}\n\n{_HEAD}\n{rows}\n")
    return "\n".join(parts)


def _row(program: Program) -> str:
    name = f"`{program.name}`" + (" (root)" if program.root_only else "")
    return f"| {name} | {program.tries} | {_full(program)} | {_lower(program)} |"


def _full(program: Program) -> str:
    return _by_user(_listed(program.stopped_by), _listed(program.user_stops or program.stopped_by))


def _lower(program: Program) -> str:
    user = program.landlock if program.user_landlock == "" else program.user_landlock
    return _by_user(program.landlock or "**nothing**", user or "**nothing**")


def _by_user(root: str, user: str) -> str:
    return root if root == user else f"{user}; root: {root}"


def _listed(layers: tuple[Layer, ...]) -> str:
    return ", ".join(layers)


if __name__ == "__main__":
    print(table())  # noqa: T201 - that is what it is for
