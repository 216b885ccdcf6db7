"""Constitutions: what an agent's SOUL.md and PURPOSE.md say now, and what the operator has accepted of them.

Accepted is what the newest ledger row says, by hash; the texts of those hashes are kept in the project's state folder.
"""

import hashlib
import os
import re
import tempfile
import unicodedata
from contextlib import suppress
from datetime import datetime
from difflib import unified_diff
from pathlib import Path
from typing import Final

from msgspec import Struct

from keisei.engine.ports import Ledger
from keisei.library.agent import Papers, paper_path, read_papers
from keisei.library.load import Loaded
from keisei.library.source import Source, read_source
from keisei.records.agent import AgentFile
from keisei.records.error import AuthorError, OperatorError, Refused
from keisei.records.form import JsonObject
from keisei.records.ledger import LedgerEntry
from keisei.records.move import EntryQuery, NewEntry
from keisei.wiring.store import make_folder

KIND: Final = "constitution_accepted"
"""The ledger rows that say so; their subject is the agent."""
FOLDER: Final = "constitutions"
"""Below the state folder: a file for each text, named after its sha256."""
AROUND: Final = 3
"""Lines that stay the same and are told around a change."""
LARGEST: Final = 65_536
"""Bytes of a paper; both stand in every prompt of the agent."""
LONGEST_VERSION: Final = 64
LONGEST_REASON: Final = 2000
LONGEST: Final = 1500
"""Lines that differ and are still compared one by one; beyond that the old goes and the new comes as a whole."""


class Paper(Struct, frozen=True, kw_only=True):
    """One of the two documents, as it is now."""

    path: str
    """Relative to the agent's folder."""
    sha256: str
    """Of its bytes."""
    text: str
    """What it says."""


class Constitution(Struct, frozen=True, kw_only=True):
    """Both documents, as they are now."""

    soul: Paper
    """Identity, values, way of speaking."""
    purpose: Paper
    """Goals, and what it judges itself by."""
    version: str
    """As agent.toml has it."""


class Acceptance(Struct, frozen=True, kw_only=True):
    """What an operator has accepted, and when."""

    agent_id: str
    """Whose."""
    soul_sha256: str
    """The soul that was read."""
    purpose_sha256: str
    """The purpose that was read."""
    version: str | None
    """The version it bore."""
    actor: str
    """Who accepted it."""
    accepted_at: datetime
    """When."""
    seq: int
    """Its place in the ledger."""
    proposal: int | None = None
    """The row of the proposal that it follows; None for what stood in the files."""

    def covers(self, now: Constitution) -> bool:
        """Whether what stands in the files is what was accepted."""
        return (self.soul_sha256, self.purpose_sha256) == (now.soul.sha256, now.purpose.sha256)


def constitution(loaded: Loaded) -> Constitution | None:
    """What an agent's files say now; None where it has no constitution. Raises AuthorError for unreadable papers."""
    papers = read_papers(loaded)
    return None if papers is None else _told(loaded, papers)


def _told(loaded: Loaded, papers: Papers) -> Constitution:
    file: AgentFile = loaded.record
    soul, purpose = (_paper(loaded, key, source) for key, source in papers._asdict().items())
    return Constitution(soul=soul, purpose=purpose, version=file.constitution.version if file.constitution else "")


def _paper(loaded: Loaded, key: str, source: Source) -> Paper:
    path = paper_path(loaded.record, key)
    return Paper(path=path, sha256=hashlib.sha256(source.raw).hexdigest(), text=source.text)


def acceptance(ledger: Ledger, agent_id: str) -> Acceptance | None:
    """What was accepted last; None where nothing was. Rows that were written by hand count for nothing."""
    rows = ledger.find_entries(EntryQuery(kind=KIND, subject=agent_id, source="engine", limit=1))
    return _acceptance(rows[0]) if rows else None


def standing(now: Constitution | None, known: Acceptance | None) -> str:
    """`accepted`, `changed`, `new` or `none`: what the files say beside what the operator accepted.

    Papers that were accepted and are gone have changed too: attempts under them do not run.
    """
    if known is None:
        return "none" if now is None else "new"
    return "accepted" if now is not None and known.covers(now) else "changed"


def _acceptance(row: LedgerEntry) -> Acceptance:
    told = row.body
    version, proposal = told.get("version"), told.get("proposal")
    return Acceptance(
        agent_id=row.subject,
        soul_sha256=str(told.get("soul_sha256")),
        purpose_sha256=str(told.get("purpose_sha256")),
        version=None if version is None else str(version),
        actor=row.actor,
        accepted_at=row.recorded_at,
        seq=row.seq,
        proposal=proposal if isinstance(proposal, int) else None,
    )


def accept(  # noqa: PLR0913, PLR0917 - an order has this many parts
    loaded: Loaded, seen: tuple[str, str], ledger: Ledger, state: Path, actor: str, more: JsonObject | None = None
) -> Acceptance:
    """Accept what was seen: the sha256 of soul and purpose. One that is accepted already gets no second row.

    `more` stands in the row too, for example the proposal that is followed, and then there is always a row.

    Raises Refused where the files say something else by now, or there is no constitution; AuthorError for papers that
    cannot be read; OperatorError where the texts cannot be kept.
    """
    file: AgentFile = loaded.record
    agent_id, papers = file.identity.agent_id, read_papers(loaded)
    if papers is None:
        hint = "write SOUL.md, PURPOSE.md and `[constitution]` beside its identity"
        raise Refused(f"agent `{agent_id}` has no constitution", hint)
    now = _told(loaded, papers)
    if seen != (now.soul.sha256, now.purpose.sha256):
        message = f"the constitution of `{agent_id}` has changed since you read it"
        raise Refused(message, "read it again, and accept what it says now")
    known = acceptance(ledger, agent_id)
    if known is not None and known.covers(now) and known.version == now.version and not more:
        return known
    _check_size(papers)
    check_version(now.version)
    for source in papers:  # the texts first: a row never names what nobody has
        keep_text(state, source.raw)
    body = {
        "soul_sha256": now.soul.sha256,
        "purpose_sha256": now.purpose.sha256,
        "version": now.version,
        **(more or {}),
    }
    return _acceptance(ledger.append(NewEntry(kind=KIND, actor=actor, subject=agent_id, body=body)))


def _check_size(papers: Papers) -> None:
    """Raises Refused for a paper that no prompt should hold."""
    for key, source in papers._asdict().items():
        if len(source.raw) > LARGEST:
            raise Refused(f"the {key} has {len(source.raw)} bytes; {LARGEST} are the most", "say it in fewer words")


def check_version(version: str) -> None:
    """Raises Refused for what is no version."""
    if not (version.strip() and len(version) <= LONGEST_VERSION and version.isprintable()):
        message = f"a version has 1 to {LONGEST_VERSION} characters, all of them printable"
        raise Refused(message, "write a number such as 1.2.0, or a date")


def check_reason(reason: str) -> None:
    """Raises Refused for a reason that is too long, or that would do something to the terminal it is read on."""
    control = any(unicodedata.category(each) == "Cc" and each not in "\n\t" for each in reason)
    if len(reason) > LONGEST_REASON or control:
        message = f"a reason has at most {LONGEST_REASON} characters, and no control characters"
        raise Refused(message, "say why, in a sentence or two")


def keep_text(state: Path, text: bytes) -> str:
    """Keep a text under its sha256, for this user alone. Raises OperatorError."""
    digest, folder = hashlib.sha256(text).hexdigest(), state / FOLDER
    make_folder(folder)
    if kept_text(state, digest) is not None:
        return digest
    descriptor, temporary = tempfile.mkstemp(prefix=".new-", dir=folder)  # 0600 from the first moment
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(folder / digest)
    except OSError as error:
        with suppress(OSError):
            Path(temporary).unlink()
        message = f"the text cannot be kept in `{folder}`: {(error.strerror or str(error)).lower()}"
        raise OperatorError(message, "check the disk and the folder's permissions") from error
    return digest


def kept_text(state: Path, sha256: str) -> str | None:
    """A text by its hash; None where it is not kept on this machine, or is not that text any more."""
    if not (len(sha256) == hashlib.sha256().digest_size * 2 and sha256.isalnum() and sha256.isascii()):
        return None
    try:
        raw = read_source(state / FOLDER / sha256).raw
    except AuthorError:
        return None
    return raw.decode() if hashlib.sha256(raw).hexdigest() == sha256 else None


def changes(was: str, now: str) -> tuple[str, ...]:
    """The lines of a unified diff, without its head; none where nothing differs. Takes a bounded time."""
    old, new = was.split("\n"), now.split("\n")
    head, tail = _alike(old, new)
    first, last = max(0, head - AROUND), max(0, tail - AROUND)  # only what differs is compared, not a long document
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    if max(len(old), len(new)) > LONGEST:
        place = f"@@ -{first + 1},{len(old)} +{first + 1},{len(new)} @@"
        return (place, *(f"-{line}" for line in old), *(f"+{line}" for line in new))
    return tuple(_placed(line, first) for line in list(unified_diff(old, new, lineterm="", n=AROUND))[2:])


def _placed(line: str, first: int) -> str:
    """The head of a hunk with the places of the whole document."""
    if not line.startswith("@@ "):
        return line
    return re.sub(r"([-+])(\d+)", lambda found: f"{found[1]}{int(found[2]) + first}", line)


def _alike(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines are the same at the beginning, and how many of the others at the end."""
    most = min(len(old), len(new))
    head = next((index for index in range(most) if old[index] != new[index]), most)
    rest = most - head
    tail = next((index for index in range(rest) if old[-1 - index] != new[-1 - index]), rest)
    return head, tail
