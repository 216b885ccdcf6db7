"""The same programs for an ordinary user, where root runs the tests: bubblewrap then needs a user namespace.

Run in a process of its own, whole: the rig, what stands outside and the runner's stand-in belong to that user too.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.sandbox.hostile import layers

NOBODY = 65534
DROP = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all")
PROBE = """
import msgspec, pytest, subprocess, sys
subprocess.run([sys.executable, "-c", ""], check=True)  # setpriv itself may have started what the user may not
sys.exit(sys.version_info < (3, 11))
"""
ALL = "full_level or without_its_layers or lower_level"
GROUPS = {
    "paths, repository": "honest or ((paths or repository) and full_level)",
    "reads": f"reads and ({ALL})",
    "processes, sockets": f"(processes or sockets) and ({ALL})",
    "network, kernel, limits": f"(network or kernel or limits) and ({ALL})",
}
"""What is said about files at the lower level, and without any, does not depend on who asks; the rest does."""


@pytest.fixture(scope="module")
def place():
    """A folder of that user's, with a copy of what is tested: a checkout need not be readable to others."""
    folder = Path(tempfile.mkdtemp(prefix="ks"))
    root = layers.repository_root()
    names = shutil.ignore_patterns("__pycache__")
    shutil.copytree(root / "src", folder / "src", ignore=names)
    shutil.copytree(root / "tests" / "sandbox", folder / "tests" / "sandbox", ignore=names)
    shutil.copy(root / "pyproject.toml", folder)
    (folder / "tmp").mkdir()
    for each in (folder, *folder.rglob("*")):
        os.chown(each, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def python(place):
    """An interpreter that the user may run and that finds what tests need; the one of root may be in root's home."""
    for each in (sys.executable, shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")):
        if each and ordinary(place, each, "-c", PROBE) == 0:
            return each
    return pytest.skip("no interpreter here can be run by an ordinary user")


def ordinary(place, *argv, said=None):
    """Run a command as the user. Says its exit code; what it wrote is added to `said`."""
    packages = [each for each in sys.path if each.endswith("-packages")]
    path = os.pathsep.join([str(place), str(place / "src"), *packages])
    env = {"PATH": os.environ["PATH"], "HOME": str(place), "TMPDIR": str(place / "tmp"), "PYTHONPATH": path}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    ended = subprocess.run([*DROP, *argv], cwd=place, env=env, capture_output=True, text=True, check=False)
    if said is not None:
        said.append(ended.stdout + ended.stderr)
    return ended.returncode


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests are run by an ordinary user already")
@pytest.mark.parametrize("group", GROUPS)
def test_an_ordinary_user_is_held_as_well(place, python, group):
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/sandbox/hostile/test_hostile.py")
    said = []

    code = ordinary(place, python, *words, "-k", GROUPS[group], said=said)

    assert code == 0, said
    assert " passed" in said[0]
    assert " skipped" not in said[0]
