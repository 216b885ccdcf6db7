"""Length: no touched file and no touched function over its limit.

Counted against the base: what was too long before and is not longer now is somebody else's debt, also where it was
moved to another file. Functions without a name of their own are compared in the order of their length.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from keisei.records.problem import printable
from keisei.records.verification import Difference, Outline, Planned, Reply
from keisei.records.worktree import Change
from keisei.rules.predicate.length_kind import is_source, uncounted
from keisei.rules.predicate.length_pair import FILES, Moved, Pair, pairs, sizes, unmoved
from keisei.rules.predicate.port import Contents

WITHOUT_PREPROCESSOR: Final = frozenset({"c", "cpp"})
"""Languages whose valid files a parser may not understand, because macros are text."""
NO_TEXT: Final = "no text"
SENTENCES: Final = 40
SHOWN: Final = 70
"""Characters of a path or a name in a sentence; of longer ones the end is shown."""


class Told(Struct, kw_only=True):
    """What was found on the way."""

    over: list[str] = field(default_factory=list)
    """Too long."""
    unread: list[str] = field(default_factory=list)
    """Functions that cannot be counted."""
    before: list[str] = field(default_factory=list)
    """Functions that could not be counted before either, or in a language where that proves nothing."""
    notes: list[str] = field(default_factory=list)
    """What was left out, and why."""

    def reply(self) -> Reply:
        """Too long rejects; what cannot be counted is unknown, and only warns where the candidate is not the cause."""
        if self.over:
            return Reply(status="violated", told=_sentences(self.over, self.unread, self.before, self.notes))
        if self.unread:
            return Reply(status="unknown", told=_sentences(self.unread, self.before, self.notes))
        if self.before:
            return Reply(status="unknown", severity="warn", told=_sentences(self.before, self.notes))
        return Reply(status="held", told=_sentences(self.notes))


def length(planned: Planned, difference: Difference, contents: Contents) -> Reply:
    """Held where no touched file or function is over its limit, or was so before. Raises what `contents` raises."""
    most_file, most_function = _limit(planned, "max-file-lines"), _limit(planned, "max-function-lines")
    if most_file is None or most_function is None:
        name = "max-file-lines" if most_file is None else "max-function-lines"
        said = _short(repr(planned.parameters.get(name)))
        return Reply(status="error", told=(f"`{name}` is {said}, and not a whole number from 1 on",))
    told = Told()
    changes = difference.merged if "merged" in planned.run_from else difference.candidate
    touched = pairs(_counted(changes, told), contents)
    moved = Moved(touched)
    for pair in touched:
        if pair.after is not None and is_source(pair.path, pair.after.language):
            _judge(pair, pair.after, (most_file, most_function), moved, told)
    return told.reply()


def _limit(planned: Planned, name: str) -> int | None:
    limit = planned.parameters.get(name)
    return limit if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0 else None


def _counted(changes: Sequence[Change], told: Told) -> list[Change]:
    """The changes whose lines say something; of the others it is told why they do not."""
    found = []
    for change in unmoved(changes):
        why = uncounted(change.path)
        if why is None:
            found.append(change)
        elif change.mode in FILES:
            told.notes.append(f"{_short(change.path)} is {why}; its lines are not counted")
    return found


def _judge(pair: Pair, after: Outline, most: tuple[int, int], moved: Moved, told: Told) -> None:
    if after.fault == NO_TEXT:
        told.notes.append(f"{_short(pair.path)} is no text; its lines are not counted")
        return
    was = pair.before.lines if pair.before is not None else moved.file(pair.path)
    if _is_over(after.lines, was, most[0]):
        told.over.append(f"{_short(pair.path)} {_compared(after.lines, was, most[0])}")
    if _is_readable(pair, after, told):
        _judge_functions(pair, most[1], moved, told)


def _judge_functions(pair: Pair, most: int, moved: Moved, told: Told) -> None:
    before = sizes(pair.before)
    for name, lengths in sizes(pair.after).items():
        known = before.get(name, [])
        for at, now in enumerate(lengths):
            was = known[at] if at < len(known) else None
            if _is_over(now, was, most) and not moved.function(name, now):
                told.over.append(f"`{_short(name)}` in {_short(pair.path)} {_compared(now, was, most)}")


def _is_over(now: int, was: int | None, most: int) -> bool:
    return now > most and (was is None or now > was)


def _compared(now: int, was: int | None, most: int) -> str:
    return f"has {now} lines; {most} are allowed" if was is None else f"has {now} lines, had {was}; {most} are allowed"


def _is_readable(pair: Pair, after: Outline, told: Told) -> bool:
    """Whether the functions can be counted; says so where they cannot."""
    if after.language is None:
        told.notes.append(f"{_short(pair.path)}: functions of this language are not understood; only lines are counted")
        return False
    if after.fault is None:
        return True
    sentence = f"the functions of {_short(pair.path)} cannot be counted: {printable(after.fault)}"
    if after.language in WITHOUT_PREPROCESSOR or (pair.before is not None and pair.before.fault is not None):
        told.before.append(sentence)
    elif pair.before is not None:
        told.over.append(f"{sentence}; those of the base can")
    else:
        told.unread.append(sentence)
    return False


def _short(text: str) -> str:
    text = printable(text)
    return text if len(text) <= SHOWN else f"…{text[1 - SHOWN :]}"


def _sentences(first: Sequence[str], *rest: Sequence[str]) -> tuple[str, ...]:
    """The first sentence says how many are like it; no more than a page of them."""
    more = f", and {len(first) - 1} more" if len(first) > 1 else ""
    told = [f"{first[0]}{more}", *first[1:]] if first else []
    return tuple([*told, *(sentence for group in rest for sentence in group)][:SENTENCES])
