"""Atoms edited: one that is there as a draft, and a changed draft as the files that change, and no others.

What the draft does not speak of stays as it is: other keys of the frontmatter, their order, and the comments of
everything that is not changed.
"""

import os
import re
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from keisei.library.atom_request import AtomRequest
from keisei.library.atom_rust import module_of
from keisei.library.atom_spec import placed, summary
from keisei.library.document import parse, parse_frontmatter
from keisei.library.json_schema import canonical_text
from keisei.library.line_end import plain_ends, whole_lines, with_its_ends
from keisei.library.package import Package
from keisei.library.placement import NewFile
from keisei.library.schema_row_draft import draft_of, shaped, side_of
from keisei.library.source import Source, read_raw, read_source
from keisei.library.template import JSON_WORDS, one_line, prose, written
from keisei.records.atom import AtomManifest, SideEffect
from keisei.records.draft import AtomDraft, EffectDraft, ErrorDraft
from keisei.records.error import AuthorError

SIDES: Final = ("input", "output")
NO_PROSE: Final = re.compile(r"\s*(```|~~~|[-*+]\s|\d+[.)]\s|\||<!--|>)")
COMMENT: Final = re.compile(r"""[^"'#]*?(\s+#.*)$""")
"""A comment behind a value that has no quotes, in which a `#` might be none."""


class Edited(NamedTuple):
    """An atom that is there, with everything that editing it needs."""

    draft: AtomDraft
    """It, as a draft that changes nothing."""
    package: Package
    page: Source
    manifest: AtomManifest
    data: dict[str, Any]
    """Its frontmatter as written."""
    body: str
    texts: dict[str, str]
    """Its other files by their path in the package, as they are: both schemas, and the function where there is one."""
    paths: dict[str, str]
    """`input`, `output` and, where there is one, `code`: which of them is what."""
    schemas: dict[str, dict[str, Any]]
    """Both schemas, by `input` and `output`."""


def read_edited(package: Package, verb: str) -> Edited:
    """The atom. Raises AuthorError where one of its files cannot be read, or is a symlink: it is not rewritten then."""
    found = package.found()
    atom = placed(package, verb, _own_file)
    page, manifest = atom.loaded.document.source, atom.manifest
    folder = os.path.relpath(package.atoms, package.folder)
    paths = {side: os.path.normpath(f"{folder}/{getattr(manifest, side).schema}") for side in SIDES}
    snake = verb.replace("-", "_")
    code = f"{folder}/{snake}.py" if package.language == "python" else f"src/atoms/{module_of(verb)}.rs"
    if os.path.lexists(package.folder / code):
        paths["code"] = code
    texts = {path: _own_file(package.folder / path).text for path in paths.values()}
    document, body = parse_frontmatter(page)
    schemas = {side: _schema(package.folder / paths[side], texts[paths[side]]) for side in SIDES}
    draft = _draft(manifest, package, body, schemas, texts.get(paths.get("code", "")))
    return Edited(
        msgspec.structs.replace(draft, backend=found.metadata.backend),
        package,
        page,
        manifest,
        document.data,
        body,
        texts,
        paths,
        schemas,
    )


def _own_file(path: Path) -> Source:
    """The file, which is no symlink. Raises AuthorError."""
    read_raw(path, os.O_NOFOLLOW)
    return read_source(path)


def _draft(
    manifest: AtomManifest, package: Package, body: str, schemas: dict[str, dict[str, Any]], code: str | None
) -> AtomDraft:
    return AtomDraft(
        package=package.name,
        verb=manifest.atom.partition("::")[2],
        kind=manifest.kind,
        description=summary(body),
        language="python" if package.language == "python" else "rust",
        input=draft_of(schemas["input"], side_of(manifest.atom, "input")),
        output=draft_of(schemas["output"], side_of(manifest.atom, "output")),
        errors=tuple(
            ErrorDraft(code=each.code, http_analog=each.http_analog, description=each.description)
            for each in manifest.errors
        ),
        effects=tuple(EffectDraft(op=each.op, domain=each.domain) for each in manifest.side_effects),
        idempotent=manifest.idempotent,
        timeout_ms=manifest.timeout_ms,
        stability=manifest.stability,
        keywords=manifest.keywords,
        code=code,
        body=body,
        edits=manifest.atom,
    )


def _schema(path: Path, text: str) -> dict[str, Any]:
    """Raises AuthorError for what is no object."""
    document = parse(Source(path, path.name, text.encode(), text))
    if not isinstance(document.data, dict):
        raise AuthorError([document.problem("bad-schema", (), "a schema is an object")])
    return document.data


# --- what changes -----------------------------------------------------------------------------------------------------


def plan_edit(edited: Edited, draft: AtomDraft, request: AtomRequest) -> list[NewFile]:
    """The files that change, the page last; none where nothing does. `request` is the draft, checked."""
    name, was, was_id = edited.package.name, edited.draft, edited.manifest.atom
    sides = {"input": (draft.input, was.input, request.input_schema)}
    sides["output"] = (draft.output, was.output, request.output_schema)
    new = {
        side: made if made is None or now.rows is None else shaped(made, edited.schemas[side], side_of(was_id, side))
        for side, (now, then, made) in sides.items()
        if now != then
    }
    texts = {edited.paths[side]: canonical_text(schema) for side, schema in new.items() if schema is not None}
    if request.code is not None and "code" in edited.paths:
        texts = {edited.paths["code"]: whole_lines(request.code), **texts}
    page = os.path.relpath(edited.page.path, edited.package.folder)
    text = _page(edited, draft, request, new)
    planned = [(path, text, edited.texts[path]) for path, text in texts.items()]
    planned.append((page, text, edited.page.text))
    kept = [(path, with_its_ends(now, before), before) for path, now, before in planned]
    return [NewFile(path=f"{name}/{path}", content=now, was=before) for path, now, before in kept if now != before]


def _page(edited: Edited, draft: AtomDraft, request: AtomRequest, new: dict[str, dict[str, Any] | None]) -> str:
    head = plain_ends(edited.page.text[: len(edited.page.text) - len(edited.body)])
    was = plain_ends(edited.body)
    body = was if draft.body is None or plain_ends(draft.body) == was else whole_lines(draft.body)
    if draft.description != edited.draft.description and body == was and draft.description.strip():
        body = _described(body, one_line(draft.description))
    for side, schema in new.items():
        if schema is not None:
            body = _shown_again(body, edited.data[side].get("example"), schema)
    changed = _changed(edited, draft, request, new)
    return (_rewritten(edited, head, changed) if changed else head) + body


def _shown_again(body: str, was: object, schema: dict[str, Any]) -> str:
    """The body with the new example where it shows the old one in a block of its own, as it does when it is made."""
    examples = schema.get("examples")
    if was is None or not isinstance(examples, list) or not examples:
        return body
    old, new = (f"```json\n{written(each, JSON_WORDS, 2)}\n```" for each in (was, examples[0]))
    return body.replace(old, new, 1)


def _described(body: str, sentence: str) -> str:
    """The body with another first paragraph; what is no prose (a list, a table, code) stays below it."""
    lines = body.split("\n")
    is_text = [bool(line.strip()) and not line.strip().startswith("#") for line in lines]
    begin = is_text.index(True) if True in is_text else len(lines)
    if begin < len(lines) and NO_PROSE.match(lines[begin]):
        return "\n".join([*lines[:begin], prose(sentence), "", *lines[begin:]])
    end = next((index for index in range(begin, len(lines)) if not is_text[index]), len(lines))
    return "\n".join([*lines[:begin], prose(sentence), *lines[end:]])


def _changed(
    edited: Edited, draft: AtomDraft, request: AtomRequest, new: dict[str, dict[str, Any] | None]
) -> dict[str, Any]:
    """The keys of the frontmatter that say something else now."""
    was, data = edited.draft, edited.data
    effects: tuple[SideEffect, ...] = request.effects or ()
    values = {
        "kind": (was.kind, draft.kind, request.kind),
        "errors": (was.errors, draft.errors, list(map(_data, request.errors))),
        "side_effects": (was.effects, draft.effects, list(map(_data, effects))),
        "idempotent": (was.idempotent, draft.idempotent, request.idempotent),
        "timeout_ms": (was.timeout_ms, draft.timeout_ms, request.timeout_ms),
        "stability": (was.stability, draft.stability, request.stability),
        "keywords": (was.keywords, draft.keywords, list(request.keywords)),
    }
    changed: dict[str, Any] = {
        key: value
        for key, (then, now, value) in values.items()
        if now is not None and then != now and value is not None
    }
    for side, schema in new.items():
        if schema is not None and (part := _part(data[side], schema)) != data[side]:
            changed[side] = part
    return changed


def _data(record: msgspec.Struct) -> dict[str, Any]:
    return {key: value for key, value in msgspec.to_builtins(record).items() if value is not None}


def _part(part: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """`input` or `output` of a page with what it copies of its schema."""
    told = dict(part)
    if "required" in told:
        told["required"] = schema.get("required", [])
    examples = schema.get("examples")
    if told.get("example") is not None and isinstance(examples, list) and examples:
        told["example"] = examples[0]
    return told


# --- the frontmatter --------------------------------------------------------------------------------------------------


def _rewritten(edited: Edited, head: str, changed: dict[str, Any]) -> str:
    """The frontmatter with these keys changed where they stand; written anew where that cannot be done surely."""
    wanted = {**edited.data, **changed}
    text = head
    for key, value in changed.items():
        text = _replaced(text, key, _key(key, value))
    try:
        source = Source(edited.page.path, edited.page.shown, text.encode(), text)
        if parse_frontmatter(source)[0].data == wanted:
            return text
    except AuthorError:
        pass
    return "---\n" + "".join(_key(key, value) for key, value in wanted.items()) + "---\n"


def _key(key: str, value: object) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return f"{key}:\n" + "".join(f"  - {written(each)}\n" for each in value)
    if isinstance(value, dict) and value:
        return f"{key}:\n" + "".join(f"  {name}: {written(each)}\n" for name, each in value.items())
    return f"{key}: {value if isinstance(value, str) and key in ('kind', 'stability') else written(value)}\n"


def _replaced(head: str, key: str, text: str) -> str:
    """The frontmatter with one key's lines replaced, comments behind them kept; at its end where it has none."""
    lines = head.splitlines(keepends=True)
    begin = next((index for index, line in enumerate(lines) if line.startswith(f"{key}:")), None)
    last = len(lines) - 1 - next(index for index, line in enumerate(reversed(lines)) if line.rstrip() == "---")
    if begin is None:
        return "".join([*lines[:last], text, *lines[last:]])
    end = next(index for index in range(begin + 1, last + 1) if index == last or re.match(r"[^\s#-]", lines[index]))
    while end > begin + 1 and re.match(r"\s*(#.*)?$", lines[end - 1]):
        end -= 1
    comment = COMMENT.match(lines[begin]) if end == begin + 1 and text.count("\n") == 1 else None
    text = text if comment is None else text.replace("\n", f"{comment[1]}\n")
    return "".join([*lines[:begin], text, *lines[end:]])
