"""The offline verifier as an auditor has it: one file, run by itself or loaded by its path, no part of keisei."""

import importlib.util
import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from keisei.store import open_store
from keisei.wiring.signing import signer

FILE = Path(__file__).resolve().parents[2] / "src" / "keisei" / "evidence" / "offline.py"


def load():
    """The file as a module of its own."""
    spec = importlib.util.spec_from_file_location("offline_verifier", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


offline = load()
parser = offline._parser()


def run(*words):
    """The file as a program, apart from everything else: exit status, output, complaints."""
    done = subprocess.run([sys.executable, "-I", FILE, *map(str, words)], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, done.stdout, done.stderr


def said(*words):
    """The same within this process."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = offline.main([str(word) for word in words])
    return code, out.getvalue(), err.getvalue()


def ask(*words):
    """Likewise, where it is asked thousands of times: exit status, and what does not hold."""
    try:
        arguments = parser.parse_args([str(word) for word in words])
        report = arguments.check(arguments)
    except offline.Unreadable as error:
        return offline.UNREADABLE, str(error).split("\n", 1)
    json.dumps(report.data())
    return report.status(), [f"{each.name}: {each.why}" for each in report.claims if each.state == offline.BROKEN]


def merkle(leaves):
    """The root over leaf hashes: neighbours are paired, and one that is left over waits a level higher."""
    level = list(leaves)
    while len(level) > 1:
        odd = level[len(level) & ~1 :]
        level = [offline.node_hash(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)] + odd
    return level[0] if level else offline.sha256()


def opened(folder, project="acme"):
    """A real store and a real key."""
    folder.mkdir(parents=True, exist_ok=True)
    return open_store(f"sqlite:///{folder / 'state.db'}"), signer(folder, project)
