"""Counts of go test: plain, with -v, and with -json.

Plain, it names packages and failures only: a package that passes is one, and the counts say that they are coarse.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec import DecodeError, Struct, json

from keisei.rules.test_tally import Counts

_TEST: Final = re.compile(r" *--- (PASS|FAIL|SKIP): (\S+) \([0-9.]{1,20}s\)")
_RUN: Final = re.compile(r"=== RUN +\S+")
_OK: Final = re.compile(r"ok  \t(\S+)\t(?:[0-9.]{1,20}s|\(cached\))((?:\t| \[).*)?")
_FAIL: Final = re.compile(r"FAIL\t(\S+)(?:\t[0-9.]{1,20}s| \[(?:build|setup) failed\])")


class _Event(Struct, frozen=True):
    """A line of -json, as far as it counts."""

    Action: str
    Package: str
    Test: str | None = None


def plain(lines: Sequence[str]) -> Iterator[Counts]:
    """Every package that ends, with the tests that are named before its end."""
    seen: dict[str, list[str]] = {"PASS": [], "FAIL": [], "SKIP": []}
    verbose = False
    for raw in lines:
        line = raw.lstrip("\x16")
        if test := _TEST.fullmatch(line):
            seen[test[1]].append(test[2])
        elif _RUN.fullmatch(line):
            verbose = True
        elif ended := (_OK.fullmatch(line) or _FAIL.fullmatch(line)):
            if "[no tests to run]" not in line:
                yield _package(ended[1], seen, "ok" if line.startswith("ok") else "FAIL", verbose=verbose)
            seen, verbose = {"PASS": [], "FAIL": [], "SKIP": []}, False


def _package(name: str, seen: dict[str, list[str]], end: Literal["ok", "FAIL"], *, verbose: bool) -> Counts:
    failing = tuple(f"{name} {test}" for test in seen["FAIL"])
    whole = end == "FAIL" and not failing
    return Counts(
        passed=len(seen["PASS"]) if verbose or end == "FAIL" else 1,
        failed=len(failing),
        skipped=len(seen["SKIP"]),
        errors=1 if whole else 0,
        failing=(name,) if whole else failing,
        coarse=not verbose and not whole,
    )


def events(lines: Sequence[str]) -> Iterator[Counts]:
    """Every package that ends, with the tests of it that ended before."""
    seen: dict[str, dict[str, list[str]]] = {}
    for line in lines:
        event = _event(line) if line.startswith("{") and '"Package":"' in line else None
        if event is None or event.Action not in {"pass", "fail", "skip"}:
            continue
        tests = seen.setdefault(event.Package, {"pass": [], "fail": [], "skip": []})
        if event.Test:
            tests[event.Action].append(event.Test)
        else:
            del seen[event.Package]
            yield _ended(event.Package, tests, event.Action)


def _ended(name: str, tests: dict[str, list[str]], end: str) -> Counts:
    failing = tuple(f"{name} {test}" for test in tests["fail"])
    whole = end == "fail" and not failing
    return Counts(
        passed=len(tests["pass"]),
        failed=len(failing),
        skipped=len(tests["skip"]),
        errors=1 if whole else 0,
        failing=(name,) if whole else failing,
    )


def _event(line: str) -> _Event | None:
    try:
        return json.decode(line, type=_Event)
    except (DecodeError, UnicodeError, RecursionError):
        return None
