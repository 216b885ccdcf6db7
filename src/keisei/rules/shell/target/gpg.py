"""GnuPG: what it makes of a file is named after the file and the command."""

from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.page import Page, Shape, note

_GPG_ENDINGS = (
    ("b", ".sig"),
    ("clear-sign", ".asc"),
    ("s", ".gpg"),
    ("e", ".gpg"),
    ("c", ".gpg"),
    ("store", ".gpg"),
    ("enarmor", ".asc"),
)

_GPG_QUIET = (
    "verify",
    "import",
    "export",
    "k",
    "K",
    "d",
    "recv-keys",
    "send-keys",
    "search-keys",
    "refresh-keys",
    "fingerprint",
    "list-packets",
)


def _gpg(call: Call, page: Page) -> None:
    if call.has("recv-keys", "send-keys", "search-keys", "refresh-keys"):
        page.network.append(call.program)
    note(call.operands, page, writes=False)
    ending = next((ending for name, ending in _GPG_ENDINGS if call.has(name)), "")
    if call.has("o"):
        return
    for path in call.operands:
        if ending or call.has("encrypt-files"):
            page.write(path + (".asc" if call.has("a") else ending or ".gpg"))
        elif call.has("decrypt-files") or not call.has(*_GPG_QUIET):
            stem, dot, last = path.rpartition(".")
            page.write(stem if dot and last in ("gpg", "asc", "sig", "pgp") else None)


SHAPES: dict[str, Shape] = {
    "gpg": _gpg,
}
"""How GnuPG reads operands, by the name the tables use."""
