"""The key of a machine: made once, for its owner alone, told in one sentence where it cannot be used."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from keisei.records.error import OperatorError
from keisei.rules.ed25519 import SMALL, verify
from keisei.rules.note import parse_vkey
from keisei.wiring.signing import known_key, origin, signer


def test_a_key_is_made_once_and_signs_what_its_public_half_verifies(tmp_path):
    assert known_key(tmp_path, "keisei/shop") is None
    first = signer(tmp_path, "shop")
    again = signer(tmp_path, "shop")
    assert first.public == again.public
    assert known_key(tmp_path, "keisei/shop") == parse_vkey(first.vkey)
    assert parse_vkey(first.vkey).public == first.public
    signature = first.sign(b"message")
    assert verify(first.public, b"message", signature)
    assert not verify(first.public, b"massage", signature)
    assert not verify(first.public, b"message", signature[:-1])
    assert not verify(bytes(31), b"message", signature)


@pytest.mark.parametrize("sign", [0, 0x80])
@pytest.mark.parametrize("small", sorted(SMALL))
def test_nothing_holds_under_a_key_of_small_order(small, sign):
    public = small[:-1] + bytes([small[-1] | sign])
    assert not any(verify(public, bytes([number]), bytes(64)) for number in range(64))
    assert not any(verify(public, bytes([number]), bytes([1]) + bytes(63)) for number in range(64))


def test_the_key_is_its_owners_alone_and_nothing_else_is_left(tmp_path):
    signer(tmp_path, "shop")
    folder = tmp_path / "keys"
    assert [each.name for each in folder.iterdir()] == ["signing.pem"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "signing.pem").stat().st_mode) == 0o600


def test_many_at_once_agree_on_one_key(tmp_path):
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: signer(tmp_path, "shop").vkey, range(16)))
    assert len(set(found)) == 1


def test_a_project_of_any_name_has_an_origin_that_a_key_can_bear(tmp_path):
    assert origin("a shop+more/\u00e9") == "keisei/a%20shop%2Bmore%2F%C3%A9"
    assert parse_vkey(signer(tmp_path, "a shop+more/\u00e9").vkey).name == origin("a shop+more/\u00e9")


def _damaged(path):
    path.write_text("no key")


def _of_others(path):
    path.chmod(0o644)


def _linked(path):
    path.rename(path.with_name("other"))
    path.symlink_to("other")


def _pipe(path):
    path.unlink()
    os.mkfifo(path)


def _folder(path):
    path.unlink()
    path.mkdir()


def _empty(path):
    path.write_bytes(b"")


def _of_another_kind(path):
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat  # noqa: PLC0415

    key = generate_private_key(SECP256R1())
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


@pytest.mark.parametrize("spoil", [_damaged, _of_others, _linked, _pipe, _folder, _empty, _of_another_kind])
def test_a_key_that_cannot_be_used_is_named_and_never_replaced(tmp_path, spoil):
    signer(tmp_path, "shop")
    path = tmp_path / "keys" / "signing.pem"
    spoil(path)
    before = os.lstat(path)
    with pytest.raises(OperatorError, match="the signing key") as told:
        signer(tmp_path, "shop")
    assert told.value.hint
    assert os.lstat(path).st_ino == before.st_ino


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "keys").write_text("in the way")
    with pytest.raises(OperatorError):
        signer(tmp_path, "shop")


def test_notes_are_read_without_the_library_that_signs():
    code = "import sys, keisei.rules.note; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
