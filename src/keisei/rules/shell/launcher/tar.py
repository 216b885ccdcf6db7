"""tar: the programs its options name, with or without a dash."""

from collections.abc import Mapping

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.found import Found
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.option import Scan, parsed
from keisei.rules.shell.launcher.role import read_roles

TAR = (
    "-bCgHKLNTVXfD= -I=:sh -F=:sh --to-command=:sh --use-compress-program=:sh --info-script=:sh --new-volume-script=:sh"
    " --rsh-command=:sh --rmt-command=:sh --checkpoint-action=:checkpoint --file= --directory= --exclude= --files-from="
    " --blocking-factor= --listed-incremental= --transform= --xform= --mtime= --owner= --group= --mode= --checkpoint?"
    " --totals? --suffix= --starting-file= --label= --exclude-from= --tape-length= --newer= --format="
)


def _tar(words: Words) -> Launch | None:
    """Also with its first options bundled without a dash: `tar cIf zstd out.tar`."""
    if len(words) > 1 and words[1][:1] not in {"-", UNKNOWN, ""}:
        words = (words[0], *_unbundled(words[1], words[2:]))
    found = Found(transparent=False)
    read_roles(Scan(words, TAR, frozenset({"permute", "lenient"})), "tar", found)
    return found.launch()


def _unbundled(letters: str, rest: Words) -> Words:
    arity = parsed(TAR).arity
    options: list[str] = []
    at = 0
    for letter in letters:
        options.append(f"-{letter}")
        if arity.get(f"-{letter}", 0) > 0 and at < len(rest):
            options.append(rest[at])
            at += 1
    return (*options, *rest[at:])


HANDS: Mapping[str, Hand] = {
    "tar": _tar,
}
