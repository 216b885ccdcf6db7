"""What browsers are sent: nothing remote, nothing inline, and the code of others as npm serves it."""

import base64
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from keisei.console.templating import FOLDER, STATIC

ROOT = Path(__file__).parent.parent.parent
VENDOR = STATIC / "vendor"
OURS = sorted(path for path in STATIC.rglob("*") if path.is_file() and VENDOR not in path.parents)
TEMPLATES = sorted((FOLDER / "templates").rglob("*.html"))
INLINE = re.compile(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon[a-z]+=|javascript:", re.IGNORECASE)
REMOTE = re.compile(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", re.IGNORECASE)


def test_the_code_of_others_is_what_the_lock_says():
    lock = json.loads((VENDOR / "lock.json").read_text())
    kept = {path.name for path in VENDOR.glob("*.js")}
    assert kept == set(lock)
    for name, told in lock.items():
        assert base64.b64encode(hashlib.sha384((VENDOR / name).read_bytes()).digest()).decode() == told["sha384"]


def test_the_code_of_others_is_what_npm_serves():
    if not (ROOT / ".tools" / "web" / "node_modules").is_dir():
        pytest.skip("the set-up of the tests has not run")
    asked = [sys.executable, "scripts/vendor.py", "--check"]
    checked = subprocess.run(asked, cwd=ROOT, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_has_nothing_inline_and_trusts_nothing(path):
    text = path.read_text()
    assert INLINE.search(text) is None
    assert re.search(r"\|\s*safe\b", text) is None
    assert "autoescape false" not in text


@pytest.mark.parametrize("path", [*TEMPLATES, *OURS], ids=lambda path: path.name)
def test_nothing_is_fetched_from_elsewhere(path):
    text = path.read_text().replace("http://www.w3.org/2000/svg", "")
    assert REMOTE.search(text) is None
