"""Capabilities checked: the three artefacts are there, can be judged with, and say one thing."""

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from keisei.contracts.words import nearest
from keisei.library.catalog import Catalog
from keisei.library.document import Document
from keisei.library.load import Loaded
from keisei.library.shelf import Found
from keisei.library.source import inside, is_file, read_source
from keisei.records.capability import CapabilityManifest, GatePart, VerifyPart
from keisei.records.error import AuthorError, OperatorError
from keisei.records.problem import Problem
from keisei.rules.scope import glob_fault

WORDS = 200
LISTS = frozenset({"files-whitelist", "files-denylist", "bash-patterns-allowed", "tools-allowed"})
"""Lists of the task and the role that a gate may take its patterns from."""
RULES = {
    "command": ("check", "test", "warnings"),
    "diff": ("scope", "no-writes", "git-state", "git-scope", "dependencies", "length", "deletions", "rules"),
    "report": ("fields", "severity", "verdict", "merge-result", "ledger-row", "fork-audit"),
}
"""The built-in predicates a verify may name, by its kind."""
NAME = re.compile(r"(?<![\w:-])(?:policy|scope|quality|safety|output|tools|verify)::[a-z][a-z0-9-]*")


def check_capability(catalog: Catalog, found: Found, loaded: Loaded) -> Iterator[Problem]:
    """Everything that would make the rule not hold, and what a reader would miss."""
    manifest: CapabilityManifest = loaded.record
    document = loaded.document
    yield from _name(manifest, found.name, document)
    if manifest.capability.alias is not None:
        yield from _alias(catalog, manifest, found.name, document)
        return
    yield from _head(manifest, document)
    yield from _text(manifest, document)
    if manifest.gate is not None:
        yield from _gate(catalog, manifest, manifest.gate, document)
    elif manifest.tests:
        message = "[[test]] vectors have no effect without a [gate]"
        yield document.problem("unused", ("test",), message, severity="warning")
    if manifest.verify is not None:
        yield from _verify(catalog, manifest, manifest.verify, document)
    yield from _patterns(manifest, document)
    yield from _parameters(manifest, document)


def _name(manifest: CapabilityManifest, name: str, document: Document) -> Iterator[Problem]:
    head = manifest.capability
    if head.name != name:
        message = f"name `{head.name}` differs from its folder, which says `{name}`"
        yield document.problem("bad-name", ("capability", "name"), message)
    elif head.category is not None and head.category != name.partition("::")[0]:
        message = f"category `{head.category}` differs from the name `{name}`"
        yield document.problem("bad-name", ("capability", "category"), message)


def _alias(catalog: Catalog, manifest: CapabilityManifest, name: str, document: Document) -> Iterator[Problem]:
    alias = manifest.capability.alias or ""
    try:
        if catalog.found("capability", alias) is None:
            hint = nearest(alias, list(catalog.names("capability")))
            yield document.problem("dangling", ("capability", "alias"), f"capability `{alias}` does not exist", hint)
        else:
            catalog.aliases(name)
    except AuthorError as error:
        yield from error.problems
    except OperatorError as error:
        yield document.problem("dangling", ("capability", "alias"), error.message, error.hint)
    for part in ("restricts", "gate", "verify", "text"):
        if getattr(manifest, part) is not None:
            message = f"an alias stub has nothing but its head; [{part}] contradicts it"
            yield document.problem("contradiction", (part,), message)


def _head(manifest: CapabilityManifest, document: Document) -> Iterator[Problem]:
    for key in ("category", "version", "description"):
        if not getattr(manifest.capability, key):
            message = f"missing key `{key}`"
            yield document.problem("missing-key", ("capability",), message, severity="warning")


def _text(manifest: CapabilityManifest, document: Document) -> Iterator[Problem]:
    relative = manifest.text.path if manifest.text else "text.md"
    place = ("text", "path") if manifest.text else ("capability", "name")
    path, problem = _artefact(document, relative, place)
    if problem is not None or path is None:
        yield from (problem,) if problem else ()
        return
    try:
        source = read_source(path)
    except AuthorError as error:
        yield from error.problems
        return
    words = len(source.text.split())
    if words == 0:
        yield Problem(code="empty-text", path=source.shown, line=1, column=1, message="the fragment is empty")
    if words > WORDS:
        message = f"the fragment has {words} words; the limit is {WORDS}"
        yield Problem(code="text-too-long", path=source.shown, line=1, column=1, message=message)
    for number, line in enumerate(source.text.split("\n"), start=1):
        for match in NAME.finditer(line):
            if match[0] != manifest.capability.name:
                message = f"the fragment refers to `{match[0]}`; fragments stand alone"
                yield Problem(
                    code="text-refers",
                    path=source.shown,
                    line=number,
                    column=match.start() + 1,
                    message=message,
                    severity="warning",
                )


def _artefact(document: Document, relative: str, place: tuple[str, ...]) -> tuple[Path | None, Problem | None]:
    """The file a manifest declares, or the problem with it."""
    path = inside(document.source.path.parent, relative)
    if path is None:
        return None, document.problem("outside", place, f"`{relative}` leads out of the capability's folder")
    if not is_file(path):
        return None, document.problem("missing-file", place, f"`{relative}` is missing")
    return path, None


def _gate(catalog: Catalog, manifest: CapabilityManifest, gate: GatePart, document: Document) -> Iterator[Problem]:
    kind = gate.kind
    if kind is None:
        yield from _compiled(catalog, manifest, "gate", gate.rust_module, document)
        return
    if kind == "script" and gate.path is not None:
        _, problem = _artefact(document, gate.path, ("gate", "path"))
        yield from (problem,) if problem else ()
    restricts = manifest.restricts
    needed = {"pattern": "tool_patterns", "paths": "paths", "tools": "tools_denied"}.get(kind)
    if needed and gate.patterns_from is None and not (restricts and getattr(restricts, needed)):
        key = needed.replace("_", "-")
        message = f"a gate of kind `{kind}` needs [restricts] {key}, or patterns-from"
        yield document.problem("no-gate-kind", ("gate", "kind"), message)
    accepted = LISTS | set(manifest.parameterized.accepts if manifest.parameterized else ())
    if gate.patterns_from is not None and gate.patterns_from not in accepted:
        message = f"patterns-from `{gate.patterns_from}` is neither a list of the task or role nor in `accepts`"
        yield document.problem(
            "unknown-parameter", ("gate", "patterns-from"), message, nearest(gate.patterns_from, accepted)
        )


def _verify(
    catalog: Catalog, manifest: CapabilityManifest, verify: VerifyPart, document: Document
) -> Iterator[Problem]:
    kind = verify.kind
    if kind is None:
        yield from _compiled(catalog, manifest, "verify", verify.rust_module, document)
    elif kind == "script" and verify.path is not None:
        _, problem = _artefact(document, verify.path, ("verify", "path"))
        yield from (problem,) if problem else ()
    elif kind == "command" and not (verify.command or verify.rule):
        yield document.problem(
            "no-gate-kind", ("verify", "kind"), "a verify of kind `command` needs `command` or `rule`"
        )
    elif verify.rule is not None and verify.rule not in RULES.get(kind, ()):
        known = RULES.get(kind, ())
        message = f"no predicate of kind `{kind}` is called `{verify.rule}`"
        hint = nearest(verify.rule, known) or f"known: {', '.join(known) or 'none'}"
        yield document.problem("wrong-value", ("verify", "rule"), message, hint)
    elif kind in ("diff", "report") and not verify.rule:
        yield document.problem("no-gate-kind", ("verify", "kind"), f"a verify of kind `{kind}` needs `rule`")


def _compiled(
    catalog: Catalog, manifest: CapabilityManifest, part: str, module: str | None, document: Document
) -> Iterator[Problem]:
    """A part without a kind names a compiled module of the originals: the kit must have a rule of that name."""
    name = manifest.capability.name
    forked = manifest.lineage.fork_from if manifest.lineage else None
    shipped = catalog.shipped("capability", name) or (forked and catalog.shipped("capability", forked))
    if module is None:
        message = f"[{part}] declares neither `kind` nor `path`"
        yield document.problem("no-gate-kind", (part,), message)
    elif shipped is None:
        message = f"`{module}` is a compiled module, and no built-in capability is called `{name}`"
        yield document.problem(
            "no-gate-kind", (part, "rust-module"), message, "declare `kind`, with what that kind needs"
        )


def _patterns(manifest: CapabilityManifest, document: Document) -> Iterator[Problem]:
    restricts = manifest.restricts
    if restricts is None:
        return
    for index, pattern in enumerate(restricts.tool_patterns):
        yield from pattern_problem(document, ("restricts", "tool-patterns", index), pattern)
    for index, glob in enumerate(restricts.paths):
        yield from glob_problem(document, ("restricts", "paths", index), glob)


def pattern_problem(document: Document, place: tuple[str | int, ...], pattern: str) -> Iterator[Problem]:
    """The complaint about a regular expression that does not compile."""
    try:
        with warnings.catch_warnings(action="error"):
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError, FutureWarning) as error:
        yield document.problem("bad-pattern", place, f"`{pattern}` is not a regular expression: {error}")


def glob_problem(document: Document, place: tuple[str | int, ...], glob: str) -> Iterator[Problem]:
    """The complaint about a glob that cannot be judged."""
    fault = glob_fault(glob)
    if fault is not None:
        yield document.problem("bad-glob", place, f"`{glob}` {fault}")


def _parameters(manifest: CapabilityManifest, document: Document) -> Iterator[Problem]:
    parameterized = manifest.parameterized
    if parameterized is None:
        return
    for name in parameterized.defaults:
        if name not in parameterized.accepts:
            place = ("parameterized", "defaults", name)
            message = f"`{name}` has a default and is not in `accepts`"
            yield document.problem("unknown-parameter", place, message, nearest(name, parameterized.accepts), at="key")
