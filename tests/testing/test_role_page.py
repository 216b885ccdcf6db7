"""The test that `docs/how-to/test-a-role.md` shows is one that runs, with the real harness."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.system.harness import program

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "test-a-role.md"


def test_the_test_on_the_page_passes(tmp_path):
    (shown,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "test_role.py").write_text(shown, encoding="utf-8")
    (tmp_path / "home").mkdir()
    with tempfile.TemporaryDirectory(prefix="keisei-page-") as sockets:  # a socket's path must be short
        env = {
            "PATH": f"{Path(program('claude')).parent}:{Path(sys.executable).parent}:/usr/local/bin:{os.defpath}",
            "HOME": str(tmp_path / "home"),
            "XDG_RUNTIME_DIR": sockets,
            "LC_ALL": "C.UTF-8",
        }
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        words += [f"--basetemp={tmp_path / 'inner'}", "test_role.py"]
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)

    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout + done.stderr
