"""Output: what a program printed, as lines a person would see, and the one that tells most. Never raises."""

import re
from collections import Counter
from typing import Final

from keisei.records.problem import printable

LONGEST: Final = 4000
"""Characters of a line that is read; a longer one is data, and no runner's own words."""
LOOKED_AT: Final = 500
"""Characters of a line that are looked at to see whether it tells something."""
TAIL: Final = 30
"""Lines of an output's end that a finding quotes."""

_COLOUR: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_STEP: Final = re.compile(
    r" {2,}(?:Compiling|Checking|Finished|Fresh|Downloading|Downloaded|Updating|Locking|Blocking|Running|Building"
    r"|Doc-tests|Adding|Packaging) .*"
)
_PROGRESS: Final = re.compile(r".*\b[0-9]{1,3}%.*|[.\sFEsxXu]+(?:\[ *[0-9]{1,3}%\])?|collecting \.\.\..*|> .*")
_FRAME: Final = re.compile(
    r"Traceback \(most recent call last\):|stack backtrace:|note: .*|Caused by:"
    r'|\s+File ".*|\s+at .*|\s+[0-9]+: .*|goroutine [0-9]+ .*|\s*[|^~]+|\s+[~^]+\s*'
)
_RULE: Final = re.compile(r"[-=_*~─━⎯.#!+\s]+|([=_*─⎯!-])\1{2,} .*")
_STRONG: Final = re.compile(
    r"E {2,}\S|error\b|fatal\b|\[?ERROR\b|FAILED |FAIL |not ok |\S*(?:Error|Exception)\b|.*: (?:fatal )?error\b"
    r"|.* panicked at"
)
_TELLING: Final = re.compile(
    r"\b(?:error|errors|fatal|failed|failure|failing|FAIL|FAILED|panicked|undefined|exception|denied|refused)\b"
    r"|\bnot found\b|\bcannot\b|\w(?:Error|Exception)\b|^E +\S|^not ok ",
    re.IGNORECASE,
)
_PLACED: Final = re.compile(r"\S+?[:(][0-9]+(?:[:,][0-9]+)?\)?: ")
_HARMLESS: Final = re.compile(
    r"\b(?:0|no) (?:errors?|failed|failures?|failing)\b|\bwarning\b|# (?:todo|skip)\b", re.IGNORECASE
)

_FOLDER: Final = re.compile(r"(?<![\w.])/[^\s:'\"]*/")
_DIGITS: Final = 9
_SUM: Final = re.compile(
    r"(?<![\w.:/-])([0-9]+) (?:new )?(?:error|fail|fault|issue|offense|problem|violation|warning)", re.IGNORECASE
)
"""A number of faults, as checkers tell it at their end."""
_NUMBER: Final = re.compile(r"\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{7,64}\b|[0-9]+(?:[.,:][0-9]+)*")
_PLURAL: Final = re.compile(r"\b([a-z]{3,})s\b")


def lines(output: str) -> list[str]:
    """The lines without colours; of one that was written over, what stands there at last. Overlong ones are empty."""
    return [_line(each) for each in output.split("\n")]


def everything(output: str) -> list[str]:
    """Every line that says anything, overlong ones and those that were written over, too: nothing is hidden so."""
    return [line for each in re.split(r"[\r\n]", output) if (line := _bare(each)).strip()]


def telling(output: str) -> str:
    """The first line that says what is wrong, else the first that says anything; empty where nothing was printed."""
    said = [line for each in lines(output) if (line := each[:LOOKED_AT]).strip() and not _is_noise(line)]
    grave = [line for line in said if not _HARMLESS.search(line)]
    first = (next(filter(look, grave), "") for look in (_STRONG.match, _PLACED.match, _TELLING.search))
    return short(next(filter(None, (*first, *said[:1])), ""))


def tail(output: str) -> tuple[str, ...]:
    """The last lines that say anything, printable and short."""
    said = [line for line in lines(output) if line.strip()]
    return tuple(short(line, strip=False) for line in said[-TAIL:])


def short(text: str, most: int = 200, *, strip: bool = True) -> str:
    """One printable line of at most so many characters, with a mark where something is missing."""
    clean = printable(" ".join(text[: most * 8].split()) if strip else text[: most * 8].rstrip().expandtabs(4))
    return clean if len(clean) <= most else f"{clean[: most - 1]}…"


def essence(output: str) -> Counter[str]:
    """How often each line is there once numbers, folders and plurals are taken out; steps of cargo are not told."""
    return Counter(plain(line) for line in everything(output) if not _STEP.fullmatch(line))


def faults(output: str) -> int:
    """How many faults an output counts itself, all its sums together: `Found 3 errors`."""
    return sum(int(each[:_DIGITS]) for line in everything(output) for each in _SUM.findall(line))


def plain(line: str) -> str:
    """A line without what differs from run to run."""
    return _PLURAL.sub(r"\1", _NUMBER.sub("#", _FOLDER.sub("/", line))).strip()


def _line(raw: str) -> str:
    shown = raw.rstrip("\r")
    shown = shown[shown.rfind("\r") + 1 :]
    return _bare(shown) if len(shown) <= LONGEST else ""


def _bare(text: str) -> str:
    return (_COLOUR.sub("", text) if "\x1b" in text else text).rstrip()


def _is_noise(line: str) -> bool:
    return any(pattern.fullmatch(line) for pattern in (_STEP, _PROGRESS, _FRAME, _RULE))
