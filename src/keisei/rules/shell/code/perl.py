"""Perl code: what it starts and touches."""

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.dialect import Dialect
from keisei.rules.shell.code.language import Language, kinds
from keisei.rules.shell.code.result import Code
from keisei.rules.shell.code.scan import Scan, scanned

_NAMED = r"[$@%]?[A-Za-z_]\w*(?:::\w+)*[?!]?"


def _perl_extra(scan: Scan, at: int) -> None:
    token = scan.tokens[at]
    if token.kind != "word":
        return
    name = token.text.rpartition("::")[2]
    if name in {"unlink", "rmdir"} and not scan.receiver(at) and scan.arguments(at) is None and not _is_key(scan, at):
        scan.found.delete(UNKNOWN)
    elif name == "open" and not scan.receiver(at):
        _perl_open(scan, at)
    elif token.text != name and token.text.startswith(("CORE::", "POSIX::", "IPC::", "File::")):
        kind, arguments = scan.language.table.get(name), scan.arguments(at)
        if kind and arguments is not None:
            scan.act(kind, arguments)
    elif name in {"eval", "do"} and not scan.receiver(at):
        _perl_eval(scan, at, name)


def _is_key(scan: Scan, at: int) -> bool:
    after = scan.tokens[at + 1].text if at + 1 < len(scan.tokens) else ""
    return after in {"=>", "}", ","} or (at > 0 and scan.tokens[at - 1].text in {"sub", "->", "{", "&"})


def _perl_open(scan: Scan, at: int) -> None:
    """`open` in its forms: a mode by itself, a mode inside the path, a pipe."""
    arguments = scan.arguments(at) or []
    values = [scan.fold(one) for one in arguments[1:]]
    mode = values[0] if values else None
    if not isinstance(mode, str):
        if arguments[1:] and len(arguments[1]) > 1 and len(values) == 1 and arguments[1][0].text[:1] != "$":
            scan.found.opaque("It opens something whose name is computed.")
        return
    mode = mode.strip()
    rest = [one if isinstance(one, str) else UNKNOWN for one in values[1:]]
    if mode.startswith(("|", "-|")) or mode.endswith("|"):
        plain = mode.removeprefix("-").strip("|- ")
        words = [word for value in values[1:] for word in (value if isinstance(value, list) else [value or UNKNOWN])]
        if len(words) > 1:
            scan.found.argv(words)
        else:
            note = scan.found.fed if mode.startswith("|") else scan.found.script
            note(words[0] if words else plain)
    elif mode.startswith((">", "+>", "+<")):
        path = rest[0] if rest else mode.lstrip("+<> ")
        if not path.startswith("&"):
            scan.found.write(path)


def _perl_eval(scan: Scan, at: int, name: str) -> None:
    after = scan.tokens[at + 1] if at + 1 < len(scan.tokens) else None
    if after is None or after.text == "{" or scan.arguments(at) is None:
        return
    if name == "eval":
        scan.act("eval", scan.arguments(at) or [])
    elif after.kind == "str":
        scan.act("file perl", scan.arguments(at) or [])


_PERL = Language(
    name="perl",
    dialect=Dialect(
        blocks=(("=pod", "=cut"), ("=head", "=cut")), holes="$", tick="cmd", patterns=True, word=_NAMED, quoters="perl"
    ),
    glue=(".",),
    table=kinds(
        {
            "shell": "system exec",
            "shell only": "readpipe",
            "words 2": "open2",
            "words 3": "open3",
            "words 0": "run3 capturex systemx",
            "opaque": "syscall",
            "touch d*": "unlink rmdir rmtree remove_tree",
            "touch d0 w1": "rename move",
            "link symbolic": "symlink",
            "link": "link",
            "touch w1": "copy",
            "touch w0": "mkdir truncate make_path mkpath write_file spew",
            "touch w*+": "chmod",
        }
    ),
    bare=True,
    dots=("->",),
    besides=_perl_extra,
)


def perl(text: str) -> Code:
    """What Perl code starts and touches."""
    return scanned(_PERL, text.partition("\n__END__")[0])
