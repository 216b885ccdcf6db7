"""Stages: a draft's files in a folder of their own, so that lint, comparisons and trials see them as if written."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from keisei.library.atom import judged
from keisei.library.atom_since import Past, check_since
from keisei.library.atom_spec import read_atom
from keisei.library.package import TABLES, read_package
from keisei.library.source import read_raw
from keisei.records.atom import AtomManifest
from keisei.records.error import AuthorError, OperatorError, WorldFault
from keisei.records.problem import Problem
from keisei.wiring.forge_plan import Plan
from keisei.wiring.forge_refer import referred
from keisei.wiring.forge_result import Breakage, LintProblem

SAVED: Final = "saved"
"""How messages call the atom as it is."""
MOST_FILES, LARGEST = 5_000, 64 * 1024 * 1024
"""Files and bytes of a package that are copied to try a draft."""
LEFT_OUT: Final = frozenset((".git", ".venv", "node_modules", "target", "__pycache__", ".pytest_cache"))


class Links(NamedTuple):
    """What a page may link to."""

    atoms: frozenset[str]
    rules: frozenset[str]


@contextmanager
def staged(plan: Plan, *, whole: bool = False) -> Iterator[Path]:
    """The package as it would be, as much of it as lint needs or all of it. Raises WorldFault, OperatorError."""
    try:
        with tempfile.TemporaryDirectory(prefix="keisei-forge-", ignore_cleanup_errors=True) as name:
            stage = Path(os.path.realpath(name)) / plan.package
            stage.mkdir()
            own = plan.folder / plan.package
            for each in _tree(own) if whole else beside(plan):
                _copy(own / each, stage / each)
            for file in plan.files:
                path = stage.parent / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.content.encode())
            yield stage
    except OSError as error:
        message = f"a draft cannot be staged: {(error.strerror or str(error)).lower()}"
        raise WorldFault(message, "check the folder for temporary files and its free space") from error


def beside(plan: Plan) -> list[str]:
    """Files of the package that lint needs beside those that are planned, relative to it."""
    own = plan.folder / plan.package
    if plan.is_new_package:
        return []
    planned = {each.path.partition("/")[2] for each in plan.files}
    names = [name for name in TABLES if (own / name).is_file()]
    texts = {each.path.partition("/")[2]: each.content for each in plan.files}
    names += referred(own, {**(plan.edited.texts if plan.edited is not None else {}), **texts})
    if plan.edited is not None:
        names += [*plan.edited.texts, plan.page]
    return [name for name in dict.fromkeys(names) if name not in planned]


def _tree(package: Path) -> Iterator[str]:
    """Every file of a package that is worth copying. Raises OperatorError for a package that is too large."""
    files = size = 0
    for folder, folders, names in os.walk(package):
        folders[:] = [each for each in folders if each not in LEFT_OUT and not each.startswith(".keisei-new-")]
        for name in names:
            path = Path(folder, name)
            files, size = files + 1, size + path.lstat().st_size
            if files > MOST_FILES or size > LARGEST:
                message = f"package `{package.name}` is too large to be copied for a trial"
                raise OperatorError(message, "write the atom, and run `keisei atom test`")
            yield os.path.relpath(path, package)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink() or source.is_file():
        shutil.copy2(source, target, follow_symlinks=False)


# --- what is seen there -----------------------------------------------------------------------------------------------


def manifest_in(stage: Path, page: str) -> AtomManifest | None:
    """The page's frontmatter; None where lint tells why there is none."""
    try:
        return read_atom(stage / page, read_package(stage)).manifest
    except AuthorError:
        return None


def lint(stage: Path, plan: Plan, links: Links) -> list[LintProblem]:
    """Everything that is wrong with the staged page and what it names; of a new package with its metadata too."""
    package = read_package(stage)
    wanted = stage / plan.page
    ids = links.atoms | {plan.atom}
    found = [
        problem
        for each in judged(package, ids, links.rules)
        for problem in each.problems
        if each.path == wanted or (plan.is_new_package and each.path.suffix == ".toml")
    ]
    return told(found, stage)


def told(problems: Sequence[Problem], stage: Path) -> list[LintProblem]:
    """Problems of staged files, by the paths they will have."""
    root = f"{stage.parent}/"
    return [
        LintProblem(
            path=os.path.abspath(each.path).removeprefix(root),  # noqa: PTH100 - it is below the stage
            line=each.line,
            column=each.column,
            code=each.code,
            severity=each.severity,
            message=each.message.replace(root, ""),
            hint=each.hint.replace(root, "") if each.hint else None,
        )
        for each in problems
    ]


def breakage(stage: Path, plan: Plan) -> Breakage | None:
    """What the edited atom no longer promises; None for a new one."""
    if plan.edited is None:
        return None
    own = plan.edited.package.folder

    def saved(path: Path) -> bytes | None:
        try:
            return read_raw(own / path.relative_to(stage))
        except (AuthorError, ValueError):
            return None

    past = Past(SAVED, (stage / plan.page,), saved)
    found = told(list(check_since([read_package(stage)], past)), stage)
    if any(each.severity == "error" for each in found):
        return Breakage(answer="breaking", changes=tuple(found))
    return Breakage(answer="undecided" if found else "compatible", changes=tuple(found))
