"""The check that published schemas stay compatible with the last release."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "src/keisei/contracts/schemas"


@pytest.fixture
def repository(tmp_path):
    """A repository with one schema, tagged as released."""
    schema = tmp_path / FOLDER / "task.intent.v1.json"
    schema.parent.mkdir(parents=True)
    schema.write_text(
        json.dumps({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False})
    )
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "x"],
        ["tag", "v1.0.0"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    return schema


def run(root):
    command = [sys.executable, str(ROOT / "scripts/released.py"), str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def edit(schema, **properties):
    schema.write_text(json.dumps({"type": "object", "properties": properties, "additionalProperties": False}))


@pytest.mark.usefixtures("repository")
def test_an_unchanged_schema_passes(tmp_path):
    result = run(tmp_path)

    assert (result.returncode, result.stdout) == (0, "schemas: compatible with v1.0.0\n")


def test_an_added_optional_key_passes(repository, tmp_path):
    edit(repository, a={"type": "string"}, b={"type": "string"})

    assert run(tmp_path).returncode == 0


def test_a_removed_key_fails_and_is_named(repository, tmp_path):
    edit(repository, b={"type": "string"})

    result = run(tmp_path)

    assert result.returncode == 1
    assert "/properties/a: breaking: `a` is gone" in result.stdout


def test_a_removed_schema_fails(repository, tmp_path):
    repository.unlink()

    assert "a published schema is gone" in run(tmp_path).stdout


def test_this_repository_is_compatible_with_its_last_release():
    assert run(ROOT).returncode == 0
