"""An auditor's way: the installed program, the verifier that needs nothing of it, and ways to spoil what it reads."""

import json
import os
import shutil
import subprocess
import sys
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from keisei.rules.dsse import pae
from keisei.rules.note import key_id, vkey
from keisei.wiring.signing import Signer
from tests.system.agency import Agency, git

KEISEI = Path(sys.executable).with_name("keisei")
STATEMENTS = "attestation.intoto.jsonl"


class Told(NamedTuple):
    """What a program said at its end."""

    code: int
    out: str
    err: str

    @property
    def faults(self) -> str:
        """What the verifier says does not hold, a line each."""
        return "\n".join(line for line in self.out.splitlines() if line.startswith("does not hold"))


def keisei(agency: Agency, *words: str) -> Told:
    """The installed program, run by the operator in the project."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(agency.folder / "home"),
        "KEISEI_HOME": str(agency.folder / "state"),
        "XDG_RUNTIME_DIR": str(agency.folder / "run"),
    }
    return _run([str(KEISEI), *words], agency.root, env)


def done(agency: Agency, *words: str) -> str:
    """Likewise, where it has to work."""
    told = keisei(agency, *words)
    assert told.code == 0, told
    return told.out


def _run(argv: list[str], cwd: Path, env: dict[str, str]) -> Told:
    ended = subprocess.run(
        argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120
    )
    return Told(ended.returncode, ended.stdout, ended.stderr)


class Copy(NamedTuple):
    """What an auditor was sent, somewhere else, beside what they know already."""

    folder: Path
    """A folder of the auditor's own: `verifier.py`, the export, the clone."""
    signer: Signer
    """The operator's key: a thief of it can sign whatever they like, but not make it follow from rows and evidence."""

    @property
    def export(self) -> Path:
        return self.folder / "export"

    @property
    def clone(self) -> Path:
        return self.folder / "clone.git"

    def copied(self, folder: Path) -> "Copy":
        """Another one, to be spoiled. Objects of git are only to be read, so that links do."""
        shutil.copytree(self.export, folder / "export")
        shutil.copytree(self.clone, folder / "clone.git", copy_function=os.link)
        shutil.copy(self.folder / "verifier.py", folder)
        return Copy(folder, self.signer)

    def verified(self, *, key: str | None = None) -> Told:
        """What the verifier says: no packages, no home, no variable but the way to git."""
        home = self.folder / "nobody's home"
        home.mkdir(exist_ok=True)
        words = ["attestation", str(self.export), "--repository", str(self.clone), "--key", key or self.signer.vkey]
        argv = [sys.executable, "-I", "-S", str(self.folder / "verifier.py"), *words]
        return _run(argv, home, {"PATH": os.environ["PATH"], "HOME": str(home)})

    # --- what it holds ------------------------------------------------------------------------------------------------

    def lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.export / name).read_text().splitlines()]

    def write(self, name: str, lines: list[dict[str, Any]]) -> None:
        (self.export / name).write_text("".join(f"{json.dumps(each, separators=(',', ':'))}\n" for each in lines))

    def landed(self) -> str:
        """The commit that the statements speak of."""
        return statement_of(self.lines(STATEMENTS)[0])["subject"][0]["digest"]["gitCommit"]

    def object(self, name: str) -> Path:
        return self.clone / "objects" / name[:2] / name[2:]


def statement_of(envelope: dict[str, Any]) -> dict[str, Any]:
    return json.loads(b64decode(envelope["payload"]))


def signed(envelope: dict[str, Any], statement: dict[str, Any], sign: Callable[[bytes], bytes]) -> dict[str, Any]:
    """The envelope with another statement and a signature that fits; its key keeps its name."""
    raw = json.dumps(statement, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    signature = b64encode(sign(pae(envelope["payloadType"], raw))).decode()
    return {
        **envelope,
        "payload": b64encode(raw).decode(),
        "signatures": [{**envelope["signatures"][0], "sig": signature}],
    }


# --- one thing is spoiled ---------------------------------------------------------------------------------------------


def a_byte_of_the_evidence(copy: Copy) -> None:
    path = copy.export / "evidence" / "prompt.md"
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def the_status_of_a_finding(copy: Copy) -> None:
    path = copy.export / "evidence" / "findings.json"
    findings = json.loads(path.read_text())
    findings[0]["status"] = "violated"
    path.write_text(json.dumps(findings))


def a_file_that_is_missing(copy: Copy) -> None:
    (copy.export / "evidence" / "result.json").unlink()


def a_statement_that_another_key_signed(copy: Copy) -> None:
    lines = copy.lines(STATEMENTS)
    lines[0] = signed(lines[0], statement_of(lines[0]), Ed25519PrivateKey.generate().sign)
    copy.write(STATEMENTS, lines)


def everything_signed_by_another_who_says_so(copy: Copy) -> None:
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw()
    (copy.export / "key.txt").write_text(f"{vkey(copy.signer.name, public)}\n")
    lines = [signed(each, statement_of(each), private.sign) for each in copy.lines(STATEMENTS)]
    for each in lines:
        each["signatures"][0]["keyid"] = f"{copy.signer.name}+{key_id(copy.signer.name, public).hex()}"
    copy.write(STATEMENTS, lines)


def the_tree_signed_with_the_stolen_key(copy: Copy) -> None:
    lines = []
    for each in copy.lines(STATEMENTS):
        statement = statement_of(each)
        statement["subject"][1]["digest"]["gitTree"] = "0" * 40
        lines.append(signed(each, statement, copy.signer.sign))
    copy.write(STATEMENTS, lines)


def a_statement_that_is_left_out(copy: Copy) -> None:
    copy.write(STATEMENTS, copy.lines(STATEMENTS)[1:])


def the_path_of_a_proof(copy: Copy) -> None:
    proofs = copy.lines("proofs.jsonl")
    proofs[0]["path"][0] = "0" * 64
    copy.write("proofs.jsonl", proofs)


def the_content_of_a_row(copy: Copy) -> None:
    proofs = copy.lines("proofs.jsonl")
    settled = next(each for each in proofs if '"attempt_settled"' in each["content"])
    settled["content"] = settled["content"].replace('"completed"', '"cancelled"', 1)
    copy.write("proofs.jsonl", proofs)


def a_row_without_its_proof(copy: Copy) -> None:
    proofs = copy.lines("proofs.jsonl")
    copy.write("proofs.jsonl", [each for each in proofs if '"gate_refused"' not in each["content"]])


def a_landed_commit_that_is_another(copy: Copy) -> None:
    """The object has the name of the landed commit, and the bytes of one that changes something else."""
    other = git(copy.clone, "commit-tree", "-p", "main~1", "-m", "another", "main~1^{tree}")
    raw = git(copy.clone, "cat-file", "commit", other).encode()
    path = copy.object(copy.landed())
    path.unlink()
    path.write_bytes(zlib.compress(b"commit %d\0%s" % (len(raw), raw)))


def a_landed_commit_that_is_gone(copy: Copy) -> None:
    git(copy.clone, "update-ref", "refs/heads/main", "main~1")
    copy.object(copy.landed()).unlink()


SPOILED = {
    a_byte_of_the_evidence: ("evidence/prompt.md: its SHA-256 is",),
    the_status_of_a_finding: ("evidence/findings.json: its SHA-256 is",),
    a_file_that_is_missing: ("evidence/result.json: it is missing",),
    a_statement_that_another_key_signed: ("signature of statement 1: the signature of", "does not hold"),
    everything_signed_by_another_who_says_so: ("key.txt: it names", "signature of statement 3: not by"),
    the_tree_signed_with_the_stolen_key: ('verdict: subject[1].digest.gitTree: says "0000',),
    a_statement_that_is_left_out: ("statements: there are ['test result', 'provenance']",),
    the_path_of_a_proof: ("proof 1: row", "the path does not lead to the root"),
    the_content_of_a_row: ("the content does not hash to its leaf: it was changed",),
    a_row_without_its_proof: ("provenance: predicate.runDetails.byproducts", "rows and evidence give nothing"),
    a_landed_commit_that_is_another: ("repository: commit:",),
    a_landed_commit_that_is_gone: ("repository: commit: the repository has no commit",),
}
"""Each, and what the verifier says to it."""
