"""Mutations: what hands, merges and hostile agents do to a file."""

import random
import re
from collections.abc import Callable

VALUES = (
    b"""0 -1 1.5 true null '' "x" [] {} [[]] {"a":1} {a=1} ~ nan 1e999 2026-02-30 2026-04-22T15:30:00Z *a !!set{a} """
    b"""999999999999999999999999999999 "\\ud800" "\\u0000" """
).split()
BYTES = [
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\r",
    b"\t",
    b"\x1b[2J",
    b"\x7f",
    b"\xe2\x80\xa8",
    b"\xf0\x9f\x98\x80",
]
MARKS = b"\"'[]{}=:,#-&*!|>%@`\\\n. "


def _drop_line(raw: bytes, dice: random.Random) -> bytes:
    lines = raw.splitlines(keepends=True)
    lines.pop(dice.randrange(len(lines)))
    return b"".join(lines)


def _duplicate_line(raw: bytes, dice: random.Random) -> bytes:
    lines = raw.splitlines(keepends=True)
    lines.insert(dice.randrange(len(lines)), dice.choice(lines))
    return b"".join(lines)


def _swap_lines(raw: bytes, dice: random.Random) -> bytes:
    lines = raw.splitlines(keepends=True)
    one, two = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


def _another_value(raw: bytes, dice: random.Random) -> bytes:
    places = list(re.finditer(rb"(?<=[=:] )[^\n,{\[]+", raw))
    if not places:
        return raw
    place = dice.choice(places)
    return raw[: place.start()] + dice.choice(VALUES) + raw[place.end() :]


def _another_key(raw: bytes, dice: random.Random) -> bytes:
    places = list(re.finditer(rb"[A-Za-z_-]+(?=\"?\s*[=:])", raw))
    if not places:
        return raw
    place = dice.choice(places)
    name = dice.choice([place[0] + b"s", place[0][1:], place[0].replace(b"-", b"_"), b'""', b"a.b.c", b"__proto__"])
    return raw[: place.start()] + name + raw[place.end() :]


def _insert_bytes(raw: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(raw) + 1)
    return raw[:at] + dice.choice(BYTES) + raw[at:]


def _truncate(raw: bytes, dice: random.Random) -> bytes:
    return raw[: dice.randrange(len(raw) + 1)]


def _flip_character(raw: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(raw))
    return raw[:at] + bytes([dice.choice(MARKS)]) + raw[at + 1 :]


def _repeat_part(raw: bytes, dice: random.Random) -> bytes:
    start = dice.randrange(len(raw))
    end = dice.randrange(start, min(len(raw), start + 200) + 1)
    return raw[:end] + raw[start:end] * dice.randrange(1, 4) + raw[end:]


MUTATIONS: list[Callable[[bytes, random.Random], bytes]] = [
    _drop_line,
    _duplicate_line,
    _swap_lines,
    _another_value,
    _another_key,
    _insert_bytes,
    _truncate,
    _flip_character,
    _repeat_part,
]


def mutated(raw: bytes, dice: random.Random) -> bytes:
    """The file after one to three mutations."""
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        raw = dice.choice(MUTATIONS)(raw, dice) if raw else raw
    return raw
