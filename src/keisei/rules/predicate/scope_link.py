"""Where links of a candidate lead. A link is written once and gives everything behind it a second name."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from keisei.records.worktree import Change
from keisei.rules.predicate.port import Contents

LINK: Final = "120000"
LONGEST: Final = 4096
"""Bytes of a target: more than any system walks."""
HOPS: Final = 40
"""Links that one path goes through; a system gives up there, too."""
ABSOLUTE: Final = re.compile(r"[/\\]|[A-Za-z]:")

Links = Mapping[str, str | None]
"""Targets by the path of their link; None for a target that nothing can be said of."""


def read_links(changes: Iterable[Change], contents: Contents) -> Links:
    """The targets of links that are new or changed. Raises WorldFault."""
    return {change.path: _target(contents.read(change.blob, LONGEST)) for change in changes if change.mode == LINK}


def _target(data: bytes | None) -> str | None:
    if not data or b"\0" in data:
        return None
    return data.decode("utf-8", "backslashreplace")


def is_absolute(target: str) -> bool:
    """Whether a target does not begin where its link is, on this system or on another."""
    return ABSOLUTE.match(target) is not None


def readings(target: str) -> tuple[str, ...]:
    """The target as it is, and as a system reads it whose separators are backslashes."""
    return (target, target.replace("\\", "/")) if "\\" in target else (target,)


def lead(path: str, target: str, links: Links) -> str | None:
    """The path a link leads to, `..` and links of the candidate walked; None where it leads out, or nowhere."""
    walked, waiting, hops = path.split("/")[:-1], _reversed(target), 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            if not walked:
                return None
            walked.pop()
            continue
        here = "/".join((*walked, part))
        if here not in links:
            walked.append(part)
            continue
        onward, hops = links[here], hops + 1
        if onward is None or is_absolute(onward) or hops > HOPS:
            return None
        waiting += _reversed(onward)
    return "/".join(walked)


def _reversed(target: str) -> list[str]:
    return [part for part in reversed(target.split("/")) if part not in ("", ".")]
