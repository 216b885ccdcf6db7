"""Commits, read from their objects."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone

from kei_git_read.context import Data
from kei_git_read.repository import LISTING, Repository

PERSON = re.compile(rb"(.*?) ?<([^>]*)>(?: (-?\d{1,15}) ([+-]\d{4}))?.*", re.DOTALL)
HEADER = re.compile(rb"([0-9a-f]{40,64}) (\w+) (\d+)")
LONGEST_BODY = 65_536
LATEST = 253_402_214_400
"""The last moment that has a year of four digits, less a day for the zone."""


def commits(repository: Repository, ids: Sequence[str]) -> list[Data]:
    """The commits, in this order. What is missing of the end was too large to be told."""
    ran = repository.said("cat-file", "--batch", "--buffer", lines=ids, most=LISTING)
    return [_commit(name, content) for name, content in _objects(ran.out)]


def _objects(said: bytes) -> Iterator[tuple[str, bytes]]:
    """Every object that was said to its end."""
    place = 0
    while (end := said.find(b"\n", place)) >= 0 and (found := HEADER.fullmatch(said[place:end])):
        size = int(found[3])
        if end + size + 1 >= len(said):
            return
        yield found[1].decode(), said[end + 1 : end + 1 + size]
        place = end + size + 2


def _commit(name: str, content: bytes) -> Data:
    head, _, message = content.partition(b"\n\n")
    fields: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        fields.setdefault(key, []).append(value)  # a line that goes on begins with a blank: its key is empty
    text = _decoded(message, fields.get(b"encoding", [b"utf-8"])[0]).strip("\n")
    subject, _, body = text.partition("\n\n")
    body = body.strip("\n")
    return {
        "id": name,
        "parents": [each.decode("ascii", "replace") for each in fields.get(b"parent", ())],
        "tree": fields.get(b"tree", [b""])[0].decode("ascii", "replace"),
        "author": _person(fields.get(b"author", [b""])[0]),
        "committer": _person(fields.get(b"committer", [b""])[0]),
        "subject": " ".join(subject.split("\n"))[:LONGEST_BODY],
        "body": body[:LONGEST_BODY],
        "truncated": max(len(body), len(subject)) > LONGEST_BODY,
    }


def _decoded(raw: bytes, encoding: bytes) -> str:
    try:
        text = raw.decode(encoding.decode("ascii"), "replace")
    except (LookupError, ValueError, UnicodeError):
        text = raw.decode("utf-8", "replace")
    return text.encode("utf-8", "replace").decode("utf-8")


def _person(raw: bytes) -> Data:
    """Who and when; a line that says neither is told as the name. `date` is null where it cannot be."""
    found = PERSON.fullmatch(raw)
    if found is None:
        return {"name": raw.decode("utf-8", "replace"), "email": "", "date": None}
    name, email = (found[place].decode("utf-8", "replace") for place in (1, 2))
    return {"name": name, "email": email, "date": _moment(found[3], found[4])}


def _moment(seconds: bytes | None, zone: bytes | None) -> str | None:
    if seconds is None or zone is None or not 0 <= int(seconds) < LATEST:
        return None
    minutes = int(zone[1:3]) * 60 + int(zone[3:5])
    offset = timedelta(minutes=-minutes if zone[:1] == b"-" else minutes)
    moment = datetime.fromtimestamp(int(seconds), UTC)
    return (moment.astimezone(timezone(offset)) if abs(offset) < timedelta(days=1) else moment).isoformat()


def stats(repository: Repository, ids: Sequence[str]) -> dict[str, Data]:
    """How much each commit changed against its first parent: files, lines added and removed."""
    words = ("-r", "-z", "--numstat", "--root", "--no-renames", "--diff-merges=first-parent", "--no-ext-diff")
    ran = repository.said("diff-tree", "--stdin", *words, "--no-textconv", lines=ids)
    found = {each: {"files": 0, "insertions": 0, "deletions": 0} for each in ids}
    here = found[ids[0]] if ids else {}
    for record in ran.out.split(b"\0"):
        added, tab, rest = record.partition(b"\t")
        if not tab:
            here = found.get(record.decode("ascii", "replace").strip(), here)
            continue
        here["files"] += 1
        here["insertions"] += _count(added) or 0
        here["deletions"] += _count(rest.partition(b"\t")[0]) or 0
    return found


def _count(raw: bytes) -> int | None:
    """A number of lines; None for a binary file."""
    return int(raw) if raw.isdigit() else None
