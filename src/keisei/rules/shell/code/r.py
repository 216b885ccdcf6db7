"""R code: what it starts and touches."""

from keisei.rules.shell.code.dialect import Dialect
from keisei.rules.shell.code.language import Language, kinds
from keisei.rules.shell.code.result import Code, names
from keisei.rules.shell.code.scan import Scan, scanned


def _r_extra(scan: Scan, at: int) -> None:
    """`eval(parse(text=...))`, `cat(..., file="x")`, `do.call("system", ...)`."""
    token = scan.tokens[at]
    if token.kind != "word":
        return
    arguments = scan.arguments(at) or []
    if token.text in {"parse", "str2expression", "str2lang"} and arguments:
        chosen = [one[2:] for one in arguments if one[0].text == "text" and len(one) > 1]
        if token.text != "parse" or chosen:
            scan.act("eval", chosen or arguments)
    elif token.text == "do.call" and arguments:
        name = scan.fold(arguments[0])
        kind = scan.language.table.get(name if isinstance(name, str) else arguments[0][0].text)
        if kind:
            scan.act(kind, [part for one in arguments[1:2] for part in [one[2:-1] if one[0].text == "list" else one]])
    for one in arguments:
        if one[0].text in {"file", "con"} and len(one) > 1 and one[1].text == "=" and token.text in _R_WRITERS:
            scan.act("touch w0", [one[2:]])


_R_WRITERS = frozenset(names("cat write write.csv write.table saveRDS save writeLines sink dump dput png pdf"))
_R = Language(
    name="r",
    dialect=Dialect(word=r"[A-Za-z.][\w.]*", rich="\"'", plain=""),
    glue=(),
    table=kinds(
        {
            "shell only": "system shell pipe shell.exec",
            "program": "system2 processx.run exec_wait sys.exec_wait",
            "touch w1": "writeLines write write.csv write.table saveRDS file.copy file.symlink write_csv",
            "touch w0": "sink dir.create file.create pdf",
            "touch d*": "unlink file.remove",
            "touch d0 w1": "file.rename",
            "opaque": "dyn.load",
        }
    ),
    dots=("::", "$"),
    besides=_r_extra,
)


def r_language(text: str) -> Code:
    """What R code starts and touches."""
    return scanned(_R, text)
