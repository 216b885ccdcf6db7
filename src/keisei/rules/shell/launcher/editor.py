"""Editors: the commands of vim in options and files, and what vim and ed read from standard input."""

from collections.abc import Mapping

from keisei.rules.shell.launcher.found import Found
from keisei.rules.shell.launcher.launch import Hand, Launch, Words


def _vim(words: Words) -> Launch | None:
    """Commands of `-c`, `--cmd` and `+`, files of `-S` and `-u`, and what is typed."""
    found = Found(transparent=False)
    texts: list[str] = []
    at = 1
    while at < len(words) and words[at] != "--":
        word = words[at]
        at += 1
        following = words[at] if at < len(words) else ""
        if word in {"-c", "--cmd", "-S", "-u", "-s"}:
            at += 1
            if word in {"-c", "--cmd"}:
                texts.append(following)
            elif word == "-s" or (word == "-u" and following in {"NONE", "NORC", "DEFAULTS"}):
                at -= word == "-s"
            else:
                found.code_file("vim", following)
        elif word.startswith("+") and not word[1:].isdigit() and not word.startswith("+/") and word != "+":
            texts.append(word[1:])
        elif word.startswith(("-c", "-S")):
            texts += [word[2:]] if word[1] == "c" else []
            if word[1] == "S":
                found.code_file("vim", word[2:])
        elif word in {"--version", "--help", "-h"}:
            return None
    found.code = [("vim", text) for text in texts]
    found.reads_code = found.reads_code or "vim"
    return found.launch()


def _ed(words: Words) -> Launch | None:
    found = Found(transparent=False)
    found.reads_code = "ed"
    for word in words[1:]:
        if word.startswith("!"):
            found.script(word[1:])
    return found.launch()


HANDS: Mapping[str, Hand] = {
    "vim": _vim,
    "ed": _ed,
}
