"""Problems as SARIF 2.1.0, which code hosts and editors show beside the line."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from keisei.records.problem import CODES, Problem

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
BASE = "SRCROOT"


def sarif(problems: Iterable[Problem], version: str) -> dict[str, Any]:
    """One run with every problem. Rules are those that were broken, each with what it means and what to do."""
    told = list(problems)
    codes = sorted({problem.code for problem in told})
    driver = {"name": "keisei", "version": version, "rules": [_rule(code) for code in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {BASE: {"description": {"text": "The folder the check was run in."}}},
        "results": [_result(problem, codes.index(problem.code)) for problem in told],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> dict[str, Any]:
    explained = CODES[code]
    return {
        "id": code,
        "shortDescription": {"text": explained.title},
        "fullDescription": {"text": explained.meaning},
        "help": {"text": explained.remedy},
    }


def _result(problem: Problem, index: int) -> dict[str, Any]:
    text = f"{problem.message}\nHint: {problem.hint}" if problem.hint else problem.message
    place: dict[str, Any] = {"artifactLocation": _artifact(problem.path)}
    if problem.line is not None:
        column = {} if problem.column is None else {"startColumn": problem.column}
        place["region"] = {"startLine": problem.line, **column}
    return {
        "ruleId": problem.code,
        "ruleIndex": index,
        "level": problem.severity,
        "message": {"text": text},
        "locations": [{"physicalLocation": place}],
    }


def _artifact(path: str) -> dict[str, str]:
    """Relative to the folder the check was run in, where it stands below it."""
    file = Path(path)
    if file.is_absolute():
        return {"uri": "file://" + quote(path)}
    return {"uri": quote(file.as_posix()), "uriBaseId": BASE}
