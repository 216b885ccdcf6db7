"""This machine's key for a project: Ed25519, in the state folder, for checkpoints, attestations and agent cards.

No agent can read it: the state folder is in no sandbox. Whoever has it can sign in this machine's name, so that what
was signed is worth something to those who keep the public half, or a checkpoint, elsewhere.
"""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from keisei.records.error import OperatorError
from keisei.rules.note import VerifierKey, key_id, vkey
from keisei.wiring.store import make_folder

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FOLDER: Final = "keys"
NAME: Final = "signing.pem"
LARGEST: Final = 4096
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
OWN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Signer:
    """Signs with this machine's key."""

    def __init__(self, name: str, private: "Ed25519PrivateKey") -> None:
        self.name = name
        """The origin of the project's ledger."""
        self.public: bytes = private.public_key().public_bytes_raw()
        """The half that everybody may have."""
        self.vkey = vkey(name, self.public)
        """Likewise, as one word."""
        self._private = private

    def sign(self, message: bytes) -> bytes:
        """64 bytes."""
        return self._private.sign(message)

    def called(self, name: str) -> "Signer":
        """The same key under another name: a ledger keeps the one that it began with."""
        return Signer(name, self._private)


def origin(project: str) -> str:
    """The name of a project's ledger: in checkpoints, and of the keys that sign them."""
    return f"keisei/{quote(project, safe='')}"


def signer(state: Path, project: str) -> Signer:
    """The key, made where there is none. Raises OperatorError where it cannot be read or made."""
    path = state / FOLDER / NAME
    if not os.path.lexists(path):
        _make(path)
    return Signer(origin(project), _read(path))


def known_key(state: Path, name: str) -> VerifierKey | None:
    """The public half under a name, where this machine has a key. Raises OperatorError where it cannot be read."""
    path = state / FOLDER / NAME
    if not os.path.lexists(path):
        return None
    public = _read(path).public_key().public_bytes_raw()
    return VerifierKey(name, key_id(name, public), public)


def _read(path: Path) -> "Ed25519PrivateKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - 40 ms
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415 - likewise

    hint = "move it away, and another is made; keep the old verifier key for what was signed with it"
    try:
        with open(os.open(path, OWN), "rb") as file:  # noqa: PTH123 - a descriptor
            mode, raw = os.fstat(file.fileno()).st_mode, file.read(LARGEST) or b""
        if not stat.S_ISREG(mode):
            raise OperatorError(f"the signing key `{path}` is not a regular file", hint)
        if mode & OTHERS:
            raise OperatorError(f"the signing key `{path}` is not for its owner alone", f"`chmod 600 {path}`")
        private = load_pem_private_key(raw, password=None)
    except OSError as error:
        raise OperatorError(f"the signing key `{path}` cannot be read: {_why(error)}", hint) from error
    except (ValueError, TypeError) as error:
        raise OperatorError(f"the signing key `{path}` is damaged", hint) from error
    if not isinstance(private, Ed25519PrivateKey):
        raise OperatorError(f"the signing key `{path}` is not one of Ed25519", hint)
    return private


def _make(path: Path) -> None:
    """Whole or not at all, on the disk before anything is signed; where somebody else was faster, theirs stays."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - as above
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    make_folder(path.parent)
    try:
        handle, made = tempfile.mkstemp(prefix=".new-", dir=path.parent)  # 0600 from the first moment
        try:
            with open(handle, "wb") as file:  # noqa: PTH123 - a descriptor
                file.write(pem)
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):
                os.link(made, path)
        finally:
            Path(made).unlink()
        _settle(path.parent)
    except OSError as error:
        message = f"the signing key cannot be made in `{path.parent}`: {_why(error)}"
        raise OperatorError(message, "check the disk and the folder's permissions") from error


def _settle(folder: Path) -> None:
    """Have the name survive a power cut."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
