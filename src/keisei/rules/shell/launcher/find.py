"""find and fd: every command line of `-exec` and its kin, with the paths that are not known yet."""

from collections.abc import Mapping

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.found import SPREAD, Found
from keisei.rules.shell.launcher.launch import Hand, Launch, Words


def _find(words: Words) -> Launch | None:
    """`-exec` and its kin; `{}` becomes a path below the starting point that nobody knows yet."""
    starts = _starting_points(words)
    if len(starts) * sum(word.startswith(("-exec", "-ok")) for word in words) > SPREAD:
        starts = [UNKNOWN]
    found = Found(transparent=False)
    at = 1
    while at < len(words):
        word = words[at]
        at += 1
        if word not in {"-exec", "-execdir", "-ok", "-okdir"}:
            continue
        end = at
        while end < len(words) and words[end] != ";" and not (words[end] == "+" and words[end - 1] == "{}"):
            end += 1
        if word.endswith("dir"):
            found.chdir = f"{starts[0]}/{UNKNOWN}" if len(starts) == 1 else UNKNOWN
        for start in ["."] if word.endswith("dir") else starts:
            found.argv(
                part.replace("{}", f"{start}/{UNKNOWN}" if start != "/" else f"/{UNKNOWN}") for part in words[at:end]
            )
        at = end + 1
    return found.launch()


def _starting_points(words: Words) -> list[str]:
    """Where find begins: the operands before the expression; the current folder where none is named."""
    at = 1
    while at < len(words) and (
        words[at] in {"-H", "-L", "-P", "-E", "-X", "-d", "-s", "-x"} or words[at].startswith("-O") or words[at] == "-D"
    ):
        at += 2 if words[at] == "-D" else 1
    end = at
    while end < len(words) and words[end][:1] not in {"-", "("} and words[end] != "!":
        end += 1
    if end == at:
        return ["."]
    return [word.rstrip("/") or "/" for word in words[at:end]]


def _fd(words: Words) -> Launch | None:
    found = Found(transparent=False)
    at = 1
    while at < len(words):
        word = words[at]
        at += 1
        if word not in {"-x", "-X", "--exec", "--exec-batch"} and not word.startswith(("--exec=", "--exec-batch=")):
            continue
        end = next((index for index in range(at, len(words)) if words[index] == ";"), len(words))
        first = (word.partition("=")[2],) if "=" in word else ()
        line = (*first, *words[at:end])
        found.argv(_filled_word(part) for part in line)
        if line and line[0] and not any("{" in part for part in line):
            found.argvs[-1:] = [(*line, f"./{UNKNOWN}")]
        at = end + 1
    return found.launch()


def _filled_word(word: str) -> str:
    for marker in ("{//}", "{/.}", "{/}", "{.}", "{}"):
        word = word.replace(marker, f"./{UNKNOWN}")
    return word


HANDS: Mapping[str, Hand] = {
    "find": _find,
    "fd": _fd,
    "fdfind": _fd,
}
