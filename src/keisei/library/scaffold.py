"""Scaffold: new authored files, written all or not at all, never over an existing one."""

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keisei.library.catalog import Catalog
from keisei.library.shelf import SLUG
from keisei.library.source import inside, is_file
from keisei.records.capability import CapabilityManifest
from keisei.records.error import OperatorError, WorldFault
from keisei.records.form import Lineage

CATEGORIES = ("policy", "scope", "quality", "safety", "output", "tools", "verify")


def checked_name(name: str) -> tuple[str, str]:
    """Category and slug. Raises OperatorError for a name that cannot be a capability's."""
    category, separator, slug = name.partition("::")
    if not separator or not SLUG.fullmatch(slug) or category not in CATEGORIES:
        message = f"`{name}` is not a capability name"
        raise OperatorError(message, f"write `<category>::<slug>` with a category of {', '.join(CATEGORIES)}")
    return category, slug


def new_capability(folder: Path, name: str, description: str, lineage: Lineage) -> Path:
    """A capability with text, a pattern gate and a vector, ready to be filled in. Returns its folder."""
    category, slug = checked_name(name)
    manifest = f"""[capability]
name = "{name}"
category = "{category}"
version = "1.0"
description = {_quoted(description)}
rationale = "Why the rule exists."

[restricts]
tool-patterns = ['^forbidden-command( |$)']

[text]
path = "text.md"

[gate]
kind = "pattern"
severity = "block"
on-error = "deny"

[[test]]
tool = "Bash"
input = {{ command = "forbidden-command --now" }}
expect = "deny"

[[test]]
tool = "Bash"
input = {{ command = "ls" }}
expect = "allow"

[lineage]
parents = []
creator = {_quoted(lineage.creator or "unknown")}
created = {_quoted(lineage.created or "")}
"""
    text = f"## {slug.replace('-', ' ').capitalize()}\n\nYou MUST NOT run `forbidden-command`, because ...\n"
    return _written(folder, category, slug, {"capability.toml": manifest.encode(), "text.md": text.encode()})


def fork_capability(catalog: Catalog, source: str, name: str, folder: Path, lineage: Lineage) -> Path:
    """A copy under another name: name, category and lineage change, every artefact stays byte for byte."""
    category, slug = checked_name(name)
    loaded = catalog.loaded("capability", source)
    manifest: CapabilityManifest = loaded.record
    if manifest.capability.alias is not None:
        message = f"`{source}` is only an old name of `{manifest.capability.alias}`"
        raise OperatorError(message, f"fork `{manifest.capability.alias}`")
    origin = loaded.document.source.path.parent
    files = {
        str(path.relative_to(origin)): path.read_bytes()
        for path in sorted(origin.rglob("*"))
        if is_file(path) and inside(origin, str(path.relative_to(origin))) is not None
    }
    files["capability.toml"] = _renamed(loaded.document.source.text, source, name, lineage).encode()
    return _written(folder, category, slug, files, modes={path: (origin / path).stat().st_mode for path in files})


def _renamed(text: str, source: str, name: str, lineage: Lineage) -> str:
    """The manifest under its new name, with its own lineage; comments and everything else stay as they are."""
    import tomlkit  # noqa: PLC0415 - only a fork edits TOML

    document: Any = tomlkit.parse(text)
    document["capability"]["name"] = name
    if "category" in document["capability"]:
        document["capability"]["category"] = name.partition("::")[0]
    if "lineage" not in document:
        document["lineage"] = tomlkit.table()
    told = document["lineage"]
    for key in [each for each in told if each not in ("parents", "creator", "created", "fork_from")]:
        del told[key]
    told["parents"] = [source]
    told["creator"] = lineage.creator or "unknown"
    told["created"] = lineage.created or ""
    told.pop("fork_from", None)
    try:  # beside its siblings, and not behind a comment that belongs to the next table
        told.value._insert_after("created", "fork_from", tomlkit.item(source))  # noqa: SLF001 - there is no public way
    except (AttributeError, ValueError):
        told["fork_from"] = source
    return tomlkit.dumps(document)


def _written(
    folder: Path, category: str, slug: str, files: Mapping[str, bytes], modes: Mapping[str, int] | None = None
) -> Path:
    """All files in a folder that appears at once. Raises OperatorError where it exists, WorldFault where it cannot."""
    target = folder / category / slug
    if os.path.lexists(target):
        raise _taken(category, slug, target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        waiting = Path(tempfile.mkdtemp(prefix=f".{slug}-", dir=target.parent))
        try:
            for name, content in files.items():
                path = waiting / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                path.chmod((modes or {}).get(name, 0o644) & 0o777)
            waiting.chmod(0o755)
            waiting.rename(target)
        except BaseException:
            shutil.rmtree(waiting, ignore_errors=True)
            raise
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY):  # somebody else was quicker
            raise _taken(category, slug, target) from error
        message = f"cannot write {target}: {(error.strerror or str(error)).lower()}"
        raise WorldFault(message, "check the folder and its free space") from error
    return target


def _taken(category: str, slug: str, target: Path) -> OperatorError:
    message = f"`{category}::{slug}` already exists at {target}"
    return OperatorError(message, "choose another name, or remove the folder first")


def _quoted(text: str) -> str:
    plain = "".join(char if char.isprintable() else " " for char in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
