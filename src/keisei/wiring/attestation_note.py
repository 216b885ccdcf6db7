"""The note on a landed commit: its attestations, under refs/notes/keisei, which travel where somebody pushes them.

A note is only ever added to: lines that somebody else has written stay, and a line that is there already is not
written twice. The reference is exchanged only where it still stands where it was seen, so that nobody's note is lost.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from keisei.records.error import KeiseiError, OperatorError, Refused, WorldFault
from keisei.records.id import AttemptId
from keisei.wiring.attestation import Archive, Gathered, attested, gather
from keisei.workspace.checkpoint import common_dir_of
from keisei.workspace.forward import WHO
from keisei.workspace.git import asked, checked, complaint, shared
from keisei.workspace.merge import named
from keisei.workspace.ref import NOTES

TRIES: Final = 5
NO_NOTE: Final = 1
"""How git says that there is no note; whatever else it says is none to be written over."""
LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a note that are read; somebody has filled a larger one with something else."""
SHA256: Final = 64
CONFIG: Final = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
"""What a folder says whose objects have names of 64 digits."""


def attach(archive: Archive, gathered: Gathered) -> tuple[str, int]:
    """Have the landed commit of an attempt carry its attestations. The commit, and how many lines were new.

    Raises Refused where nothing has landed or nothing can be attested, OperatorError without a repository, and
    WorldFault where git does not take it.
    """
    commit = landed_commit(gathered)
    return commit, add_lines(repository(archive), commit, attested(archive, gathered))


def landed_commit(gathered: Gathered) -> str:
    """The commit. Raises Refused where the attempt has not landed."""
    made = [each for each in gathered.rows if each.kind == "landing_made"]
    commit = made[-1].text("after") if made else None
    if commit is None:
        hint = "`keisei land list` shows what waits; `keisei evidence export` needs no landing"
        raise Refused(f"attempt {gathered.attempt.attempt_id} has not landed: there is no commit for a note", hint)
    return commit


def repository(archive: Archive) -> str:
    """The git folder of the project. Raises OperatorError where there is none."""
    root = archive.home.root
    found = common_dir_of(root) if root is not None else None
    if found is None:
        raise OperatorError("there is no repository here", "go to the folder of a project that is in one")
    return found


def note_lines(common_dir: str, commit: str) -> list[bytes]:
    """The lines of the note on a commit; none where there is no note. Raises WorldFault."""
    return _text(common_dir, commit).splitlines()


def add_lines(common_dir: str, commit: str, lines: Sequence[bytes]) -> int:
    """Add what is not there yet; how many lines that were. Raises WorldFault."""
    for _ in range(TRIES):
        tip = _tip(common_dir)
        text = _text(common_dir, commit)
        known = set(text.splitlines())
        new = [each for each in lines if each not in known]
        if not new:
            return 0
        if text and not text.endswith(b"\n"):
            text += b"\n"
        made = _made(common_dir, tip, commit, b"".join((text, *(each + b"\n" for each in new))))
        words = ("update-ref", "--no-deref", NOTES, made, tip or "0" * len(commit))
        done = asked(words, {"GIT_DIR": common_dir}, common_dir)
        if done.code == 0:
            return len(new)
        if _tip(common_dir) == tip:  # nobody else has moved it
            raise WorldFault(f"`{NOTES}` cannot be moved: {complaint(done)}", f"`git show-ref {NOTES}`", retryable=True)
    raise WorldFault(f"`{NOTES}` moved {TRIES} times under the note", "`keisei evidence attach` again", retryable=True)


def _tip(common_dir: str) -> str | None:
    """What the notes stand on; None where there are none. Raises WorldFault for a name of another reference."""
    if asked(("symbolic-ref", "--quiet", NOTES), {"GIT_DIR": common_dir}, common_dir).code == 0:
        raise WorldFault(f"`{NOTES}` is only another name of a reference", f"`git symbolic-ref --delete {NOTES}`")
    words = ("rev-parse", "--verify", "--quiet", f"{NOTES}^{{commit}}")
    found = asked(words, {"GIT_DIR": common_dir}, common_dir)
    return named(found.out.decode("ascii", "replace").strip()) if found.code == 0 else None


def _text(common_dir: str, commit: str) -> bytes:
    """The note on a commit; empty where there is none. Raises WorldFault where that cannot be found out."""
    words: tuple[str, ...] = ("notes", f"--ref={NOTES}", "list", named(commit))
    done = asked(words, {"GIT_DIR": common_dir}, common_dir)
    if done.code == NO_NOTE:
        return b""
    words = ("cat-file", "blob", named(checked(words, done).decode("ascii", "replace").strip()))
    done = asked(words, {"GIT_DIR": common_dir}, common_dir, most=LARGEST)
    if done.cut:
        raise WorldFault(f"the note on {commit[:12]} is larger than {LARGEST} bytes", "look at it with `git notes`")
    return checked(words, done)


def _made(common_dir: str, tip: str | None, commit: str, text: bytes) -> str:
    """The notes with one more: git itself makes them, in a folder of the moment that shares only the objects."""
    blob = shared(common_dir, "hash-object", "-w", "--stdin", "-t", "blob", given=[text]).decode("ascii").strip()
    with tempfile.TemporaryDirectory(prefix="keisei-note-", ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        for name in ("objects", f"{NOTES}/.."):
            Path(os.path.normpath(place / name)).mkdir(parents=True, exist_ok=True)
        (place / "HEAD").write_text("ref: refs/heads/none\n")
        (place / "config").write_text(CONFIG if len(commit) == SHA256 else "")
        if tip is not None:
            (place / NOTES).write_text(f"{tip}\n")
        where = {**WHO, "GIT_DIR": folder, "GIT_OBJECT_DIRECTORY": f"{common_dir}/objects"}
        add = ("notes", f"--ref={NOTES}", "add", "-f", "-C", named(blob), named(commit))
        checked(add, asked(add, where, common_dir))
        look = ("rev-parse", "--verify", f"{NOTES}^{{commit}}")
        return named(checked(look, asked(look, where, common_dir)).decode("ascii").strip())


def attach_landed(archive: Archive, attempt_id: AttemptId) -> str | None:
    """The note after a landing: why there is none, or None. Never raises: the landing has happened, whatever comes."""
    try:
        attempt = archive.store.attempt(attempt_id)
        if attempt is not None:
            attach(archive, gather(archive, attempt))
    except Exception as error:  # noqa: BLE001 - as above
        return error.message if isinstance(error, KeiseiError) else f"{type(error).__name__}: {error}"
    return None
