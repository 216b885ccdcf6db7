"""The network: addresses that are reached, and the files that downloads become."""

import re

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.page import Page, Shape
from keisei.rules.shell.target.path import is_stream, joined, slashed
from keisei.rules.shell.target.spot import TREE

_NUMBERED = re.compile(r"#\d+")

_OUTPUT = re.compile(r"%output\{(?:>>)?([^}]{0,4096})\}")

_WGETRC = re.compile(
    r"\s*(outputdocument|dirprefix|logfile|savecookies|warcfile|hstsfile)\s*=\s*(.*)", re.IGNORECASE | re.DOTALL
)


def _host(call: Call, page: Page) -> None:
    page.network.append(call.operands[0] if call.operands else call.program)


def _service(call: Call, page: Page) -> None:
    page.network.append(call.program)


def _url_name(url: str) -> str:
    """What a download of the address is called: its last part, without the query's slashes."""
    head, query, tail = url.partition("?")
    path = head.partition("://")[2] or head
    name = path.rpartition("/")[2] if "/" in path else UNKNOWN if UNKNOWN in path else ""
    return (name or "index.html") + query + tail.replace("/", "%2F")


def _curl(call: Call, page: Page) -> None:
    urls = [*call.operands, *call.values("url")]
    for url in urls:
        if url.startswith("file://"):
            page.read(url.removeprefix("file://"))
        else:
            page.network.append(url)
    folder = call.value("output-dir") or ""
    names = [_NUMBERED.sub(UNKNOWN, each) for each in call.values("o")]
    if call.has("O", "remote-name-all"):
        names += [UNKNOWN] if call.has("J") else [_url_name(url).partition("?")[0] for url in urls]
    for name in names:
        if not is_stream(name):
            page.write(slashed(folder, name) if folder else name)
            page.write(name if name.startswith("/") else None)
    for text in call.values("w"):
        for name in _OUTPUT.findall(text):
            page.write(name)
    if call.has("K"):
        page.network.append(call.program)
        page.write_anything()
    _curl_reads(call, page)


def _curl_reads(call: Call, page: Page) -> None:
    for option in ("d", "data-binary", "data-ascii", "json", "H", "w", "data-urlencode"):
        for value in call.values(option):
            page.read(value[1:] if value.startswith("@") else None)
    for value in call.values("F"):
        name = value.partition("=")[2]
        page.read(name[1:].partition(";")[0] if name.startswith(("@", "<")) else None)


def _wget(call: Call, page: Page) -> None:
    page.network += call.operands or (["wget"] if call.has("i", "config") else [])
    for value in call.values("e"):
        key, equals, rest = value.partition("=")
        match = _WGETRC.fullmatch(re.sub(r"[-_]", "", key) + equals + rest)
        page.write(match[2] if match else None, TREE)
    for prefix in call.values("warc-file"):
        page.write(prefix + UNKNOWN)
    if call.has("config"):
        page.write_anything()
    if call.has("b") and not call.has("o", "a"):
        page.write("wget-log")
    if not call.has("O", "spider"):
        _wget_names(call, page)


def _wget_names(call: Call, page: Page) -> None:
    folder = call.value("P") or ""
    if call.has("r", "m", "p", "x"):
        return page.write(folder or ".", TREE)
    if call.has("i", "content-disposition", "trust-server-names"):
        page.write(slashed(folder or ".", UNKNOWN))
    for url in call.operands:
        name = _url_name(url) + (".html" if call.has("E") and not url.endswith(".html") else "")
        page.write(slashed(folder, name) if folder else name)
    return None


def _aria2(call: Call, page: Page) -> None:
    page.network += call.operands
    folder = call.value("d") or ""
    for name in call.values("o") or [_url_name(url) for url in call.operands]:
        page.write(joined(folder, name))


def _http(call: Call, page: Page) -> None:
    page.network.append(next((each for each in call.operands if not each.isupper()), call.program))
    if call.has("d") and not call.has("o"):
        page.write(_url_name(page.network[-1]))


SHAPES: dict[str, Shape] = {
    "host": _host,
    "service": _service,
    "curl": _curl,
    "wget": _wget,
    "aria2": _aria2,
    "http": _http,
}
"""How programs that reach out read operands, by the name the tables use."""
