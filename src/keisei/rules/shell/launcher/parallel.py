"""GNU parallel: shell text for every argument, or for all of them where they are many or not known."""

from collections.abc import Mapping
from shlex import quote

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.found import SPREAD, Found
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.option import Scan
from keisei.rules.shell.launcher.role import read_roles

PARALLEL = (
    "-kquXmrtv0pVxD -jNnLIadSCJPsEUT= -i? -e? -l? --arg-file= --jobs= --max-procs= --colsep= --delay= --joblog="
    " --results="
    " --timeout= --retries= --workdir=:dir --wd=:dir --tmpdir= --tagstring= --env= --halt= --load= --memfree= --nice="
    " --sshlogin=:remote --sshloginfile=:remote --slf=:remote --block= --recstart= --recend= --id= --rpl= --trim="
    " --max-args="
    " --max-lines= --max-replace-args= --max-chars= --transferfile= --return= --basefile= --seqreplace="
    " --compress-program=:sh"
    " --decompress-program=:sh --profile= --limit=:sh --template= --arg-sep= --arg-file-sep= --delimiter= --eof?"
    " --replace="
    " --semaphorename= --semaphoretimeout= --filter= --shellquote:stop --memsuspend= --tempdir= --open-tty --pipe:pipe"
    " --pipepart:pipe --pipe-part:pipe --spreadstdin:pipe --cat:pipe --fifo:pipe --shebang --quote --keep-order"
    " --ungroup"
    " --xargs --no-run-if-empty --verbose --null --eta --bar --progress --dry-run --semaphore:sem --fg --bg"
    " --citation:stop"
    " --will-cite --linebuffer --line-buffer --lb --group --no-notice --tag --plus --cleanup --onall --nonall --files"
    " --shuf"
    " --compress --ctrlc --hostgroups --tmux --link --tty --silent --resume --resume-failed --wait --joblog= --ssh=:sh"
    " --sql= --sqlmaster= --sqlworker= --sqlandworker= --header= --number-of-cpus:stop --version:stop --help:stop"
    " --bibtex:stop"
)
PLAIN = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@%_+=:,./-")
"""Characters that mean nothing to a shell."""
MARKERS = ("{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}", "{+/}", "{1}", "{2}", "{3}")
SOURCES = frozenset({":::", "::::", ":::+", "::::+"})


def _parallel(words: Words) -> Launch | None:
    """GNU parallel: a template and its arguments, which are shell text; without a template they are the commands."""
    scan = Scan(words, PARALLEL, frozenset())
    if scan.has("stop"):
        return None
    found = Found(transparent=False)
    read_roles(scan, "parallel", found)
    markers = [given.value for given in scan.given if given.name == "-I" and given.value]
    for rest in scan.rests():
        _spread(scan, rest, (*MARKERS, *markers), found)
    return found.launch()


def _sem(words: Words) -> Launch | None:
    return _parallel((words[0], "--semaphore", *words[1:]))


def _spread(scan: Scan, rest: Words, markers: Words, found: Found) -> None:
    cut = next((index for index, word in enumerate(rest) if word in SOURCES or word == "--"), len(rest))
    template, text = rest[:cut], " ".join(rest[:cut])
    values = _values(rest[cut:])
    from_file = bool(scan.names() & {"-a", "--arg-file"})
    if not template and values is not None and scan.dashed and not rest[:1]:
        values = None
    if not template:
        if values is None and not from_file and cut == len(rest):
            found.reads_script = True
        elif values is None or from_file:
            found.hide("parallel runs commands from a file")
        for value in values or ():
            found.script(value)
    elif scan.has("pipe") or scan.has("sem"):
        found.script(text)
    elif values is not None and len(values) <= SPREAD:
        for value in values:
            found.script(_filled(text, markers, quote(value)))
    elif cut == len(rest) and not from_file and not _holds(text, markers) and set(text) <= PLAIN | {" "}:
        found.argv(template)
        found.appends_stdin = True
    else:
        found.script(_filled(text, markers, UNKNOWN))


def _values(sources: Words) -> Words | None:
    """The arguments after one `:::`; None where they come from elsewhere or in combinations."""
    if not sources or sources[0] not in {":::", "--"} or any(word in SOURCES for word in sources[1:]):
        return None
    return sources[1:]


def _holds(text: str, markers: Words) -> bool:
    return any(marker in text for marker in markers)


def _filled(text: str, markers: Words, value: str) -> str:
    if not _holds(text, markers):
        return f"{text} {value}"
    for marker in markers:
        text = text.replace(marker, value if marker in {"{}", "{1}"} or marker not in MARKERS else UNKNOWN)
    return text


HANDS: Mapping[str, Hand] = {
    "parallel": _parallel,
    "sem": _sem,
}
