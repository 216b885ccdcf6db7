"""Compressors of single files: the name of what they make, and whether they keep what they read."""

from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.page import Page, Shape, note
from keisei.rules.shell.target.path import is_stream
from keisei.rules.shell.target.spot import FILE, TREE

_DECOMPRESSORS = frozenset(("gunzip", "unpigz", "uncompress", "bunzip2", "unxz", "unlzma", "unzstd", "unlz4"))
"""Programs that take a suffix away instead of adding one."""

_KEEPERS = frozenset(("zstd", "unzstd", "zstdmt", "pzstd", "lz4", "unlz4", "brotli"))
"""Compressors that keep what they read, unless told."""

_ENDINGS = (
    (".tgz", ".tar"),
    (".taz", ".tar"),
    (".tbz2", ".tar"),
    (".tbz", ".tar"),
    (".txz", ".tar"),
    (".tlz", ".tar"),
    (".tzst", ".tar"),
    (".gz", ""),
    (".z", ""),
    (".Z", ""),
    ("-gz", ""),
    ("-z", ""),
    ("_z", ""),
    (".bz2", ""),
    (".bz", ""),
    (".xz", ""),
    (".lzma", ""),
    (".zst", ""),
    (".lz4", ""),
    (".br", ""),
    (".lz", ""),
)
"""What decompression makes of a name's end."""

_LZ4 = ("lz4", "unlz4")

_BZIP = ".bz2"

_FORMATS = {"gzip": ".gz", "lzma": ".lzma", "alone": ".lzma", "lz4": ".lz4"}


def _squeeze(call: Call, page: Page) -> None:
    files = call.operands
    if call.has("c", "t", "l", "list"):
        return note(files, page, writes=False)
    keep = call.has("k") or (call.program in _KEEPERS and not call.has("rm", "j"))
    named = call.has("o", "output-dir-flat", "output-dir-mirror", "train")
    if call.has("train") and not call.has("o"):
        page.write("dictionary")
    if call.program in _LZ4 and not call.has("m") and len(files) > 1:
        page.write(files[1])
        files, named = files[:1], True
    for path in files:
        if not named:
            for spot in _squeezed(call, path):
                page.write(spot, TREE if call.has("r") else FILE)
        if keep:
            page.read(path)
        elif not is_stream(path):
            page.delete(path, tree=call.has("r"))
    return None


def _squeezed(call: Call, path: str) -> tuple[str, ...]:
    """The names compressing or decompressing a file makes; with -r the folder itself, and everything below."""
    suffix = call.value("S") or _FORMATS.get(call.value("F") or call.value("format") or "") or call.grammar.suffix
    if is_stream(path):
        return ()
    if call.program not in _DECOMPRESSORS and not call.has("d"):
        return (path, path + suffix) if call.has("r") else (path + suffix,)
    for ending, instead in (*_ENDINGS, (suffix, "")):
        if path.endswith(ending):
            return (path.removesuffix(ending) + instead,)
    return (path, f"{path}.out", path + suffix) if call.grammar.suffix == _BZIP else (path,)


SHAPES: dict[str, Shape] = {
    "squeeze": _squeeze,
}
"""How compressors read operands, by the name the tables use."""
