"""The forge's journal: files placed with a receipt that is there before they are, and taken back by it.

Whoever is killed in between leaves a receipt that says so; the next one who writes or asks finishes what was begun.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from keisei.library.placing import place_files, taken
from keisei.records.error import KeiseiError, OperatorError, WorldFault
from keisei.wiring.forge_plan import Plan
from keisei.wiring.forge_receipt import PATIENCE_S, Receipts, Slip, slip_for
from keisei.wiring.forge_result import Receipt, Undone
from keisei.wiring.forge_stage import beside
from keisei.wiring.forge_undo import check_back, heal, is_gone, is_placed, take_back


class Journal:
    """What the forge has written into a project."""

    def __init__(self, folder: Path) -> None:
        """The folder is made when the first receipt is."""
        self._receipts = Receipts(folder)

    @contextmanager
    def turn(self, patience_s: float = PATIENCE_S) -> Iterator[None]:
        """One writer at a time, and nothing half-done before it. Raises WorldFault."""
        with self._receipts.turn(patience_s):
            self._heal()
            yield

    def place(self, plan: Plan, check: Callable[[Path], None]) -> Slip:
        """Write the files, all or none. Raises as `place_files` does; then everything is as it was."""
        there = [each.path for each in plan.files if each.was is None and os.path.lexists(plan.folder / each.path)]
        if there:  # and no receipt of what somebody else wrote, be it the same
            raise taken(there[0])
        try:
            slip = slip_for(plan, datetime.now(UTC).isoformat(timespec="seconds"))
        except OSError as error:
            raise OperatorError(f"`{plan.atom}` has changed meanwhile", "look again") from error
        self._receipts.save(slip)
        try:
            place_files(plan.folder, plan.files, check, beside(plan))
        except BaseException:
            self._settle(slip)
            raise
        with suppress(WorldFault):  # whoever comes next sees that it was written
            self._settle(slip)
            self._receipts.prune()
        return replace(slip, state="written")

    def undo(self, receipt_id: str) -> Undone:
        """Put back what was before. Raises OperatorError that names what somebody else changed; WorldFault."""
        slip = self._receipts.find(receipt_id)
        if is_gone(slip):
            self._receipts.remove(receipt_id)
            return Undone(atom=slip.atom, removed=(), restored=())
        try:
            return self._taken_back(slip)
        except OperatorError as error:
            if (later := self._later(slip)) is None:
                raise
            message = f"`{later.atom}` was written since, into the same package or files"
            raise OperatorError(message, f"take back `{later.atom}` of {later.at} first") from error

    def knows(self, receipt_id: str) -> bool:
        """Whether it can still be taken back. Never raises."""
        return any(each.receipt_id == receipt_id for each in self._receipts.all())

    def _taken_back(self, slip: Slip) -> Undone:
        check_back(slip)
        begun = replace(slip, state="undoing")
        with suppress(WorldFault):  # no room for that: who is killed now leaves it half-done, but nobody is stuck
            self._receipts.save(begun)
        try:
            undone = take_back(begun)
        except OperatorError:
            self._receipts.save(slip)
            raise
        self._receipts.remove(slip.receipt_id)
        return undone

    def _later(self, slip: Slip) -> Slip | None:
        """The last write that stands on this one: into the package it made, or into one of its files."""
        own = {each.path for each in slip.files}
        for each in self._receipts.all():
            is_beside = (each.folder, each.package) == (slip.folder, slip.package) and each.receipt_id > slip.receipt_id
            shares = slip.is_new_package or not own.isdisjoint(file.path for file in each.files)
            if is_beside and shares and is_placed(each):
                return each
        return None

    def listed(self) -> tuple[Receipt, ...]:
        """What can be taken back, the newest first. Never raises."""
        with suppress(KeiseiError), self.turn(0):
            pass  # somebody is writing, or the state folder cannot be written: then what is known is told
        return tuple(
            Receipt(
                receipt_id=each.receipt_id,
                atom=each.atom,
                at=each.at,
                folder=each.folder,
                files=tuple(file.path for file in each.files),
            )
            for each in self._receipts.all()
            if each.state == "written" or is_placed(each)
        )

    def _settle(self, slip: Slip) -> None:
        """Bring a receipt up to date with what stands there. Raises WorldFault."""
        if is_placed(slip):
            self._receipts.save(replace(slip, state="written"))
        else:
            self._receipts.remove(slip.receipt_id)

    def _heal(self) -> None:
        """Finish what somebody who was killed began. Raises WorldFault."""
        self._receipts.sweep()
        for slip in self._receipts.all():
            if slip.state == "pending":
                heal(slip)
                with suppress(WorldFault):  # no room to write that down: what stands there says it as well
                    self._settle(slip)
            elif slip.state == "undoing":
                try:
                    take_back(slip)
                except OperatorError:  # changed since: it is no longer ours to take back
                    self._receipts.save(replace(slip, state="written"))
                else:
                    self._receipts.remove(slip.receipt_id)
