"""Plans of the forge: a draft as the files it would change, and where they go. Nothing is written."""

import difflib
import hashlib
import os
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from keisei.library.atom_edit import Edited, plan_edit, read_edited
from keisei.library.atom_new import plan_atom
from keisei.library.atom_request import AtomRequest, home_of
from keisei.library.draft_restored import restored
from keisei.library.package import read_package
from keisei.library.package_place import is_real_folder
from keisei.library.placement import NewFile
from keisei.records.draft import AtomDraft, FieldProblem
from keisei.records.error import AuthorError, KeiseiError, MissingAtom, OperatorError
from keisei.wiring.atoms import Shelf
from keisei.wiring.forge_judge import judged
from keisei.wiring.forge_result import PlannedFile

LONGEST_DIFF: Final = 200_000
"""Characters of two files that are still compared line by line."""


class Plan(NamedTuple):
    """What a draft would change."""

    atom: str
    folder: Path
    """The folder of packages."""
    files: tuple[NewFile, ...]
    problems: tuple[FieldProblem, ...]
    is_new_package: bool
    """The package is not there yet."""
    edited: Edited | None = None
    """The atom as it is, where one is edited."""

    @property
    def package(self) -> str:
        """The package's name."""
        return self.atom.partition("::")[0]

    @property
    def page(self) -> str:
        """The page, relative to the package."""
        if self.edited is not None:
            return os.path.relpath(self.edited.page.path, self.edited.package.folder)
        return self.files[-1].path.partition("/")[2]

    @property
    def digest(self) -> str:
        """Of what would be written, and of what stands there."""
        return hashlib.sha256(msgspec.json.encode(self.files)).hexdigest()


def plan_draft(draft: AtomDraft, folder: Path, shelf: Shelf) -> Plan:
    """The plan, with everything that is wrong with the draft. Never raises for a bad draft."""
    edited, found = (None, []) if draft.edits is None else _edited(draft, shelf, folder)
    place = folder if edited is None else edited.package.folder.parent
    if edited is not None:
        draft = restored(draft, edited.draft)
    atom, request, problems = judged(draft, place)
    problems = (*problems, *found)
    is_new = edited is None and not os.path.lexists(place / draft.package)
    if request is None or (edited is None and draft.edits is not None):
        return Plan(atom, place, (), problems, is_new)
    try:
        files = tuple(plan_edit(edited, draft, request) if edited is not None else _new(request, shelf))
    except _Known as known:
        return Plan(atom, place, (), (*problems, known.problem), is_new)
    except (KeiseiError, OSError) as error:
        return Plan(atom, place, (), (*problems, _told("package", error)), is_new, edited)
    return Plan(atom, place, files, problems, is_new, edited)


class _Known(Exception):
    """A field that keeps anything from being planned."""

    def __init__(self, problem: FieldProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def _told(field: str, error: Exception) -> FieldProblem:
    if isinstance(error, AuthorError):
        first = error.problems[0]
        return FieldProblem(field=field, message=f"{first.path}: {first.message}", hint=first.hint)
    hint = error.hint if isinstance(error, KeiseiError) else "check the folder and its permissions"
    return FieldProblem(field=field, message=error.message if isinstance(error, KeiseiError) else str(error), hint=hint)


def _new(request: AtomRequest, shelf: Shelf) -> list[NewFile]:
    """The files of a new atom. Raises _Known, and what planning raises."""
    name, _, verb = request.atom.partition("::")
    for folder in (request.folder.parent, request.folder):
        if folder.is_symlink():
            raise OperatorError(f"`{folder}` is a symlink", "name the real folder")
    if not os.path.lexists(request.folder / name):
        _check_free(shelf, name)
    try:
        home = home_of(request)
    except OperatorError as error:
        field = next((each for each in ("language", "backend") if f"has the {each} " in error.message), "package")
        raise _Known(_told(field, error)) from error
    if not home.is_new and os.path.lexists(request.folder / name / home.atoms / f"{verb}.md"):
        message = f"there is an atom `{request.atom}` already"
        raise _Known(FieldProblem(field="verb", message=message, hint="choose another verb, or edit that atom"))
    files = plan_atom(request)
    for each in files:
        if each.was is None and os.path.lexists(request.folder / each.path):
            message = f"`{each.path}` already exists"
            raise _Known(FieldProblem(field="verb", message=message, hint="choose another verb, or remove it first"))
    return files


def _check_free(shelf: Shelf, package: str) -> None:
    """Raises _Known where a package of that name is elsewhere: one in the project would hide all of its atoms."""
    try:
        found = shelf.package(package)
    except MissingAtom:
        return
    except AuthorError as error:
        raise _Known(_told("package", error)) from error
    message = f"package `{package}` is at `{found.folder}`; one in this project would hide all of its atoms"
    raise _Known(FieldProblem(field="package", message=message, hint="choose another name"))


def _edited(draft: AtomDraft, shelf: Shelf, folder: Path) -> tuple[Edited | None, list[FieldProblem]]:
    atom = f"{draft.package}::{draft.verb}"
    if draft.edits != atom:
        message = f"an atom that is edited keeps its name, `{draft.edits}`"
        hint = "make a new atom, and deprecate this one"
        return None, [FieldProblem(field="verb", message=message, hint=hint)]
    try:
        return edited_atom(atom, shelf, folder), []
    except KeiseiError as error:
        return None, [_told("edits", error)]


def edited_atom(atom: str, shelf: Shelf, folder: Path) -> Edited:
    """An atom of the project. Raises MissingAtom, AuthorError, OperatorError for one that is not the project's own."""
    spec = shelf.atom(atom)
    package = Path(spec.package.folder)
    inside = os.path.realpath(folder)
    if not f"{package}/".startswith(f"{inside}/"):
        message = f"`{atom}` is not this project's own: it stands in `{package}`"
        raise OperatorError(message, "make an atom of your own, in a package of another name")
    if not is_real_folder(str(package)):
        raise OperatorError(f"`{package}` is a symlink", "edit it where it really stands")
    return read_edited(read_package(package), spec.verb)


def planned_files(plan: Plan) -> tuple[PlannedFile, ...]:
    """The files with their differences."""
    return tuple(
        PlannedFile(path=each.path, content=each.content, was=each.was, diff=unified(each)) for each in plan.files
    )


def unified(file: NewFile) -> str:
    """A unified diff of one file."""
    if len(file.content) + len(file.was or "") > LONGEST_DIFF:
        return f"(the file is too large to be compared: {len(file.content)} characters)\n"
    was = (file.was or "").splitlines(keepends=True)
    now = file.content.splitlines(keepends=True)
    before = f"a/{file.path}" if file.was is not None else "/dev/null"
    lines = difflib.unified_diff(was, now, before, f"b/{file.path}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
