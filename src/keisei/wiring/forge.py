"""The forge: drafts of atoms looked at, tried, written whole or not at all, and taken back.

One engine for the pages of the console, the command line and `kei-forge`.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property
from os.path import realpath
from pathlib import Path
from typing import Any

from keisei.graph.index import FILE
from keisei.library.atom_spec import read_atom
from keisei.library.package import Package, atom_files, read_package
from keisei.library.package_place import place_in, real_folders
from keisei.library.schema_row_draft import inferred_draft, rows_draft, schema_in, side_of
from keisei.records.atom import AtomManifest
from keisei.records.atom_spec import AtomRow
from keisei.records.confinement import Machine
from keisei.records.draft import AtomDraft, SchemaDraft
from keisei.records.error import AuthorError, OperatorError, WorldFault
from keisei.settings import Settings
from keisei.wiring import catalog, project_layer
from keisei.wiring.account import actor
from keisei.wiring.atom_runtime import AtomRuntime, open_runtime, working_directory
from keisei.wiring.atoms import Shelf, open_shelf
from keisei.wiring.forge_check import postconditions
from keisei.wiring.forge_journal import Journal
from keisei.wiring.forge_new import FORGE
from keisei.wiring.forge_plan import Plan, edited_atom, plan_draft, planned_files
from keisei.wiring.forge_receipt import Slip
from keisei.wiring.forge_result import (
    LintProblem,
    Look,
    PackageChoice,
    Packages,
    Postcondition,
    Receipt,
    TriedOut,
    Undone,
    Written,
)
from keisei.wiring.forge_stage import Links, breakage, lint, manifest_in, staged
from keisei.wiring.forge_try import tried_out
from keisei.wiring.forge_words import in_words, neighbours
from keisei.wiring.store import project_home

Probe = Callable[[], Machine]


class Forge:
    """The forge of a project, or of a folder of packages that is named. Any thread may use it."""

    def __init__(
        self, settings: Settings, *, start: Path | None = None, folder: Path | None = None, probe: Probe | None = None
    ) -> None:
        """Raises OperatorError where there is no project and no folder is named, AuthorError for a broken project."""
        self._settings, self._probe = settings, probe
        self._start = (start or working_directory()).absolute()
        layer = project_layer(self._start)
        own = None if layer is None else layer.place("package")
        place = own if folder is None else self._start / folder
        if place is None:
            message = "there is no project here to put an atom into"
            raise OperatorError(message, "go where keisei.toml stands, or name a folder of packages")
        self.folder = place
        """The folder of packages, absolute."""
        self._is_own = own is not None and realpath(own) == realpath(place)
        self._home = project_home(settings, self._start)
        self._journal = Journal(self._home.folder / FORGE)
        self._pages: dict[str, tuple[AtomRow, AtomManifest]] = {}

    # --- looking ------------------------------------------------------------------------------------------------------

    def look(self, draft: AtomDraft) -> Look:
        """What the draft would become and what is wrong with it. A bad draft raises nothing; a full disk WorldFault."""
        plan = self._plan(draft)
        if not plan.files and plan.edited is None:
            return _empty_look(plan)
        with staged(plan) as stage:
            found = lint(stage, plan, self._links(plan))
            manifest = manifest_in(stage, plan.page)
            broken = breakage(stage, plan) if manifest is not None else None
        apart = [] if manifest is None else neighbours(manifest, self._manifests())
        severities = [*(each.severity for each in plan.problems), *(each.severity for each in found)]
        return Look(
            atom=plan.atom,
            ready=bool(plan.files) and "error" not in severities,
            digest=plan.digest,
            problems=plan.problems,
            lint=tuple(found),
            files=planned_files(plan),
            words=() if manifest is None else in_words(manifest, apart),
            neighbours=tuple(apart),
            breakage=broken,
        )

    def edit(self, atom: str) -> AtomDraft:
        """An atom of the project as a draft that changes nothing. Raises MissingAtom, AuthorError, OperatorError."""
        return edited_atom(atom, self._shelf, self.folder).draft

    def packages(self) -> Packages:
        """The packages that atoms can go to, and where a new one would stand. Never raises."""
        places = [place_in("project", f"{self.folder}/{name}") for name in real_folders(str(self.folder))]
        found = tuple(_choice(Path(each.folder)) for each in places if each is not None)
        return Packages(folder=str(self.folder), packages=found)

    def infer(self, example: object, side: str, atom: str = "package::verb") -> SchemaDraft:
        """What an example suggests, as rows where they can say it, else raw. Raises OperatorError for no example."""
        return inferred_draft(example, side_of(atom, side))

    def as_rows(self, draft: SchemaDraft, side: str, atom: str) -> SchemaDraft:
        """The same as rows. Raises OperatorError that names what rows cannot say, or what is wrong with the draft."""
        return rows_draft(_schema(draft, side, atom), side_of(atom, side))

    def as_raw(self, draft: SchemaDraft, side: str, atom: str) -> SchemaDraft:
        """The same as raw JSON. Raises OperatorError for what is wrong with the draft."""
        return SchemaDraft(raw=_schema(draft, side, atom))

    # --- trying -------------------------------------------------------------------------------------------------------

    def try_out(self, draft: AtomDraft, value: Any = None) -> TriedOut:  # noqa: ANN401 - any JSON
        """Call the drafted atom in the sandbox: with a value, or with its examples. Nothing of the project is changed.

        Raises OperatorError and WorldFault where nothing can be tried on this machine.
        """
        plan = self._plan(draft)
        wrong = tuple(each for each in plan.problems if each.severity == "error")
        if wrong or (not plan.files and plan.edited is None):
            return TriedOut(ok=False, isolation="none", examples=(), problems=wrong)
        with staged(plan, whole=True) as stage:
            found = [each for each in lint(stage, plan, self._links(plan)) if each.severity == "error"]
            if found:
                return TriedOut(ok=False, isolation="none", examples=(), lint=tuple(found))
            with open_runtime(self._settings, actor=actor(), roots=(stage.parent,), start=self._start) as runtime:
                return tried_out(runtime, plan.atom, self._machine, value)

    # --- writing ------------------------------------------------------------------------------------------------------

    def write(self, draft: AtomDraft, *, keep: bool = False, seen: str | None = None) -> Written:
        """Write everything or nothing, then look whether it holds; where it does not it is taken back unless `keep`.

        `seen` is the digest of what was looked at: nothing else is written. Raises OperatorError for a draft that is
        not ready, for something in the way and for a lost race, WorldFault where it cannot be written; then nothing
        has changed.
        """
        with self._journal.turn():
            plan = self._plan(draft)
            _check(plan, seen)
            links = self._links(plan)
            slip = self._journal.place(plan, lambda stage: _refuse(lint(stage, plan, links)))
        held = self._held(plan, slip, links)  # others may write meanwhile
        is_violated = any(each.status == "violated" for each in held)
        is_undone = is_violated and not keep and self._is_taken_back(slip)
        return Written(
            atom=plan.atom,
            status="undone" if is_undone else "kept" if is_violated else "written",
            receipt_id=None if is_undone else slip.receipt_id,
            files=tuple(each.path for each in plan.files),
            postconditions=held,
        )

    def _held(self, plan: Plan, slip: Slip, links: Links) -> tuple[Postcondition, ...]:
        """What holds of it. Where somebody interrupts that, or it cannot be asked, everything is as it was."""
        try:
            with self._runtime() as runtime:
                return tuple(postconditions(plan, runtime, self._machine, links))
        except BaseException:
            self._is_taken_back(slip)
            raise

    def _is_taken_back(self, slip: Slip) -> bool:
        """Take it back. False where somebody else changed it meanwhile, or writes for long: then its receipt stays."""
        try:
            self.undo(slip.receipt_id)
        except OperatorError:
            return not self._journal.knows(slip.receipt_id)  # somebody else took it back
        except WorldFault as error:
            if not error.retryable:
                raise
            return False
        return True

    # --- taking back --------------------------------------------------------------------------------------------------

    def receipts(self) -> tuple[Receipt, ...]:
        """What can be taken back, the newest first. Never raises."""
        return self._journal.listed()

    def undo(self, receipt_id: str) -> Undone:
        """Put back what was before. Raises OperatorError that names a file which somebody else changed; WorldFault."""
        with self._journal.turn():
            return self._journal.undo(receipt_id)

    # --- what is there ------------------------------------------------------------------------------------------------

    def _plan(self, draft: AtomDraft) -> Plan:
        return plan_draft(draft, self.folder, self._shelf)

    @cached_property
    def _everything(self) -> Shelf:
        return open_shelf(self._settings, index_path=self._home.folder / FILE, start=self._start)

    @property
    def _shelf(self) -> Shelf:
        """The atoms of the project, or of the folder that is named."""
        named = not self._is_own and self.folder.is_dir()
        return open_shelf(self._settings, roots=(self.folder,)) if named else self._everything

    def _runtime(self) -> AbstractContextManager[AtomRuntime]:
        roots = () if self._is_own else (self.folder,)
        return open_runtime(self._settings, actor=actor(), roots=roots, start=self._start)

    @cached_property
    def _machine(self) -> Machine:
        from keisei.sandbox.machine import probe  # noqa: PLC0415 - who only looks confines nothing

        return (self._probe or probe)()

    def _manifests(self) -> list[AtomManifest]:
        """The frontmatter of every atom that can be read; a page is read again when it changes."""
        found: dict[str, tuple[AtomRow, AtomManifest]] = {}
        for row in self._everything.rows()[0]:
            known = self._pages.get(row.atom)
            try:
                manifest = known[1] if known is not None and known[0] is row else _manifest(row)
            except AuthorError:
                continue
            found[row.atom] = (row, manifest)
        self._pages = found
        return [manifest for _, manifest in found.values()]

    def _links(self, plan: Plan) -> Links:
        """What the page may link to; looked up only where it links to something."""
        page = next((each.content for each in plan.files if each.path.endswith(f"/{plan.page}")), None)
        text = page if page is not None else plan.edited.page.text if plan.edited is not None else ""
        if "[[" not in text:
            return Links(frozenset(), frozenset())
        atoms = {row.atom for row in (*self._everything.rows()[0], *self._shelf.rows()[0])}
        return Links(frozenset(atoms), frozenset(catalog(self._settings, start=self._start).rules))


def _manifest(row: AtomRow) -> AtomManifest:
    """The frontmatter of a page, and nothing else of its atom. Raises AuthorError."""
    manifest: AtomManifest = read_atom(Path(row.path), Package("", Path(), None, (), Path())).manifest
    return manifest


def _empty_look(plan: Plan) -> Look:
    return Look(
        atom=plan.atom,
        ready=False,
        digest=plan.digest,
        problems=plan.problems,
        lint=(),
        files=(),
        words=(),
        neighbours=(),
        breakage=None,
    )


def _check(plan: Plan, seen: str | None) -> None:
    """Raises OperatorError for a plan that is not to be written."""
    wrong = [each for each in plan.problems if each.severity == "error"]
    if wrong:
        told = "; ".join(f"{each.field}: {each.message}" for each in wrong[:3])
        raise OperatorError(f"the draft is not ready: {told}", wrong[0].hint)
    if not plan.files:
        raise OperatorError("nothing would change", "change something first")
    if seen is not None and seen != plan.digest:
        raise OperatorError("what would be written is not what was looked at", "look again")


def _refuse(found: list[LintProblem]) -> None:
    """Raises OperatorError where lint would not be green."""
    errors = [each for each in found if each.severity == "error"]
    if errors:
        told = "; ".join(dict.fromkeys(f"{each.path}:{each.line}: {each.message}" for each in errors[:3]))
        hint = next((each.hint for each in errors if each.hint), "change the draft; a look shows the files")
        raise OperatorError(f"lint would not be green: {told}", hint)


def _schema(draft: SchemaDraft, side: str, atom: str) -> dict[str, Any]:
    schema, problems = schema_in(draft, side_of(atom, side))
    if problems or schema is None:
        told = problems[0].message if problems else "nothing says what it is"
        raise OperatorError(f"the {side} {told}", problems[0].hint if problems else "add a row, or paste an example")
    return schema


def _choice(folder: Path) -> PackageChoice:
    package = read_package(folder)
    backend, problem = "", None
    try:
        backend = package.found().metadata.backend
    except AuthorError as error:
        problem = error.problems[0].message
    return PackageChoice(
        name=package.name,
        folder=str(folder),
        language="python" if package.language == "python" else "rust",
        backend=backend,
        verbs=tuple(path.stem for path in atom_files(package)),
        problem=problem,
    )
