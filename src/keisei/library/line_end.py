"""Line ends: text is worked on with the plain ones, and written with those its file has."""

from itertools import takewhile


def plain_ends(text: str) -> str:
    """Text whose lines end as they do here."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def whole_lines(text: str) -> str:
    """Text as a new file holds it: lines end as they do here, the last one too."""
    plain = plain_ends(text)
    return plain if not plain or plain.endswith("\n") else f"{plain}\n"


def with_its_ends(text: str, before: str) -> str:
    """Text with plain ends, written over `before`: that itself where it says the same, else with ends as it has them.

    Lines above the first change and below the last one end as they did, all others as most do.
    """
    if whole_lines(text) == whole_lines(before):
        return before
    if "\r" not in before:
        return text
    end = "\r\n" if 2 * before.count("\r\n") > before.count("\n") else "\n"
    was, now = before.splitlines(keepends=True), text.splitlines(keepends=True)
    above = _alike(was, now)
    below = min(_alike(was[::-1], now[::-1]), len(was) - above, len(now) - above)
    middle = [line.replace("\n", end) for line in now[above : len(now) - below]]
    return "".join([*was[:above], *middle, *was[len(was) - below :]])


def _alike(was: list[str], now: list[str]) -> int:
    """How many lines from the beginning say the same."""
    pairs = zip(was, now, strict=False)
    return sum(1 for _ in takewhile(lambda pair: plain_ends(pair[0]) == pair[1], pairs))
