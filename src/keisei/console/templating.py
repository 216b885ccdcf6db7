"""Templating: pages for people. Everything is escaped; what agents wrote can neither command nor turn a line round."""

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from keisei.records.problem import printable

FOLDER: Final = Path(__file__).parent
STATIC: Final = FOLDER / "static"
UNUSUAL: Final = re.compile(r"[^\n\t -~]")
"""Characters that may not print; line ends and tabs stay."""
LONGEST: Final = 100_000
"""Characters of a JSON text that are shown."""
MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
KILO: Final = 1000


@cache
def environment() -> Environment:
    """The templates, compiled once."""
    from keisei.console.markdown import markdown  # noqa: PLC0415 - it escapes with what stands below

    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.policies["json.dumps_kwargs"] = {}  # what is edited in a form keeps its order
    made.globals["static"] = static
    made.filters |= {
        "plain": plain,
        "lines": lines,
        "moment": moment,
        "span": span,
        "size": size,
        "number": number,
        "money": money,
        "pretty": pretty,
        "short": short,
        "markdown": markdown,
    }
    return made


@cache
def static(name: str) -> str:
    """Where a file of ours is served; another content is another address, so browsers keep what they have."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def plain(text: object) -> str:
    """One line of text that somebody else wrote; what does not print is shown as it would be typed."""
    return printable("" if text is None else str(text))


def lines(text: object) -> str:
    """Text of many lines that somebody else wrote; escape sequences and turned lines are shown, not obeyed."""
    return ("" if text is None else str(text)).replace("\r\n", "\n").translate(SHOWN)


class _Shown(dict[int, str]):
    """Characters as they are shown, by their numbers. Asked for each, so that a megabyte takes no second."""

    def __missing__(self, code: int) -> str:
        shown = printable(chr(code))
        if code < OFTEN:
            self[code] = shown
        return shown


OFTEN: Final = 0x3000
"""Characters below are remembered: more would be kept for whoever writes them all."""
SHOWN: Final = _Shown({ord("\n"): "\n", ord("\t"): "\t"})


def short(text: object, most: int = 80) -> str:
    """The first line, cut."""
    first = ("" if text is None else str(text)).partition("\n")[0].rstrip("\r")
    told = plain(first[: most + 1])
    return told if len(told) <= most else f"{told[: most - 1]}…"


@pass_context
def moment(context: Context, at: datetime | None) -> Markup:
    """A moment for people: how long ago, the exact time on hover."""
    if at is None:
        return Markup('<span class="none">-</span>')
    exact = at.astimezone(UTC)
    shown = ago(context["now"] - exact)
    title = exact.strftime("%Y-%m-%d %H:%M:%S UTC")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(exact.isoformat(), title, shown)


def ago(past: timedelta) -> str:
    """A distance in words; ahead of now too."""
    seconds = past.total_seconds()
    if abs(seconds) < 1:
        return "now"
    told = span(abs(seconds))
    return f"{told} ago" if seconds > 0 else f"in {told}"


def span(seconds: float | None) -> str:
    """How long, in the two largest units at most."""
    if seconds is None:
        return "-"
    whole = int(seconds)
    if seconds < 1:
        return f"{seconds * KILO:.0f} ms"
    if whole < MINUTE_S:
        return f"{whole} s"
    if whole < HOUR_S:
        return f"{whole // MINUTE_S} min {whole % MINUTE_S} s" if whole < 10 * MINUTE_S else f"{whole // MINUTE_S} min"
    if whole < DAY_S:
        return f"{whole // HOUR_S} h {whole % HOUR_S // MINUTE_S} min"
    days = whole // DAY_S
    return f"{days} day" if days == 1 else f"{number(days)} days"


def size(count: int | None) -> str:
    """How many bytes."""
    if count is None:
        return "-"
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < KILO:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"  # noqa: PLR2004 - digits
        value /= KILO
    return f"{value:.1f} TB"


def number(count: int | None) -> str:
    """A count with thin groups."""
    return "-" if count is None else f"{count:,}"


def money(dollars: float | None) -> str:
    """An amount; unknown is never 0."""
    if dollars is None:
        return "unknown"
    return f"${dollars:,.2f}" if dollars >= 0.1 or dollars == 0 else f"${dollars:.4f}"  # noqa: PLR2004 - small sums


def pretty(value: Any) -> str:  # noqa: ANN401 - any JSON
    """JSON for people, and still JSON; cut where it is long, for what is nested deeply grows with every line."""
    import msgspec  # noqa: PLC0415 - few pages show JSON

    data = msgspec.to_builtins(value)
    pieces, room = [], LONGEST
    try:
        for piece in json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(data):
            pieces.append(piece[:room])
            room -= len(piece)
            if room < 0:
                return _typed(f"{''.join(pieces)}…")
    except RecursionError:
        return _typed(f"{msgspec.json.encode(data).decode()[:LONGEST]}…")
    return _typed("".join(pieces))


def _typed(text: str) -> str:
    """JSON whose characters all print."""
    return UNUSUAL.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text)


def render(template: str, **told: object) -> str:
    """A page."""
    return environment().get_template(template).render(**told)
