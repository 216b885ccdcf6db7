"""Lock files of Python's tools compared as data."""

import pytest

from tests.rules.predicate.manifest import judge

UV = """version = 1
revision = 2
requires-python = ">=3.11"

[[package]]
name = "shop"
version = "1.0"
source = { editable = "." }
dependencies = [{ name = "requests" }]

[package.optional-dependencies]
fast = [{ name = "orjson" }]

[package.metadata]
requires-dist = [{ name = "requests", specifier = ">=2" }]

[[package]]
name = "requests"
version = "2.31.0"
source = { registry = "https://e.org/simple" }
sdist = { url = "https://e.org/r.tar.gz", hash = "sha256:aa", size = 1 }
"""
POETRY = """[[package]]
name = "requests"
version = "2.31.0"
description = "d"
files = [{file = "r.whl", hash = "sha256:aa"}]

[[package]]
name = "part"
version = "1.0"
[package.source]
type = "directory"
url = "part"

[metadata]
lock-version = "2.0"
content-hash = "cc"
"""
PYLOCK = """lock-version = "1.0"
created-by = "x"
[[packages]]
name = "requests"
version = "2"
wheels = [{url = "https://e.org/r.whl", hashes = {sha256 = "aa"}}]
"""
PIPFILE = """{"_meta": {"hash": {"sha256": "x"}, "requires": {"python_version": "3.11"}, "sources": [{"url": "https://e.org"}]},
"default": {"requests": {"hashes": ["sha256:aa"], "version": "==2"}}, "develop": {}}"""
CONDA = """version: 1
metadata:
  content_hash: {linux-64: aa}
  channels: [{url: conda-forge}]
package:
- name: python
  version: 3.11.0
  platform: linux-64
  url: https://e.org/p.conda
  hash: {md5: bb}
"""


@pytest.mark.parametrize(
    ("path", "before", "old", "new", "status"),
    [
        pytest.param("uv.lock", UV, '"1.0"', '"1.1"', "held", id="uv, own version"),
        pytest.param("uv.lock", UV, "revision = 2", "revision = 3 # c", "held", id="uv, its own form"),
        pytest.param("uv.lock", UV, ">=3.11", ">=3.12", "held", id="uv, another Python"),
        pytest.param(
            "uv.lock",
            UV,
            '[[package]]\nname = "r',
            '[[package]]\nname = "part"\nversion = "1"\nsource = { virtual = "part" }\n\n[[package]]\nname = "r',
            "held",
            id="uv, a part of its own that needs nothing",
        ),
        pytest.param("uv.lock", UV, "sha256:aa", "sha256:bb", "violated", id="uv, checksum"),
        pytest.param("uv.lock", UV, "e.org/r.tar", "evil.org/r.tar", "violated", id="uv, address"),
        pytest.param("uv.lock", UV, "https://e.org/simple", "https://evil.org/simple", "violated", id="uv, index"),
        pytest.param("uv.lock", UV, "2.31.0", "2.32.0", "violated", id="uv, version"),
        pytest.param(
            "uv.lock",
            UV,
            '[{ name = "requests" }]',
            '[{ name = "requests" }, { name = "evil" }]',
            "violated",
            id="uv, own need",
        ),
        pytest.param("uv.lock", UV, '{ name = "orjson" }', '{ name = "evil" }', "violated", id="uv, own extra"),
        pytest.param("uv.lock", UV, '">=2"', '">=3"', "violated", id="uv, own requirement"),
        pytest.param("uv.lock", UV, '{ editable = "." }', '{ editable = "../evil" }', "violated", id="uv, out"),
        pytest.param(
            "uv.lock",
            UV,
            '{ registry = "https://e.org/simple" }',
            '{ directory = "evil" }',
            "violated",
            id="uv, a folder now",
        ),
        pytest.param(
            "uv.lock", UV, '{ editable = "." }', '{ editable = ".", registry = "x" }', "violated", id="uv, two sources"
        ),
        pytest.param(
            "uv.lock", UV, "[[package]]", '[options]\nexclude-newer = "2024"\n[[package]]', "violated", id="uv, options"
        ),
        pytest.param(
            "uv.lock", UV, "[[package]]", '[manifest]\nmembers = ["a"]\n[[package]]', "held", id="uv, members"
        ),
        pytest.param(
            "uv.lock",
            UV,
            "[[package]]",
            '[manifest]\noverrides = [{name = "x"}]\n[[package]]',
            "violated",
            id="uv, overrides",
        ),
        pytest.param("poetry.lock", POETRY, '"cc"', '"dd"', "held", id="poetry, hash of the manifest"),
        pytest.param("poetry.lock", POETRY, '"1.0"', '"1.1"', "held", id="poetry, own version"),
        pytest.param("poetry.lock", POETRY, 'description = "d"', "", "held", id="poetry, description"),
        pytest.param("poetry.lock", POETRY, "sha256:aa", "sha256:bb", "violated", id="poetry, checksum"),
        pytest.param("poetry.lock", POETRY, "2.31.0", "2.32.0", "violated", id="poetry, version"),
        pytest.param("poetry.lock", POETRY, 'url = "part"', 'url = "../evil"', "violated", id="poetry, out"),
        pytest.param(
            "poetry.lock",
            POETRY,
            "[metadata]",
            '[metadata.files]\nx = ["h"]\n[metadata]',
            "violated",
            id="poetry, files",
        ),
        pytest.param(
            "pdm.lock", POETRY, "[[package]]", '[[package]]\nname = "evil"\n[[package]]', "violated", id="pdm, one more"
        ),
        pytest.param("pylock.toml", PYLOCK, '"x"', '"y"', "held", id="pylock, maker"),
        pytest.param("pylock.toml", PYLOCK, '"aa"', '"bb"', "violated", id="pylock, checksum"),
        pytest.param("pylock.dev.toml", PYLOCK, "e.org", "evil.org", "violated", id="pylock, address"),
        pytest.param("Pipfile.lock", PIPFILE, '"x"', '"y"', "held", id="pipenv, hash of the manifest"),
        pytest.param("Pipfile.lock", PIPFILE, "3.11", "3.12", "held", id="pipenv, another Python"),
        pytest.param("Pipfile.lock", PIPFILE, "sha256:aa", "sha256:bb", "violated", id="pipenv, checksum"),
        pytest.param("Pipfile.lock", PIPFILE, "e.org", "evil.org", "violated", id="pipenv, index"),
        pytest.param("Pipfile.lock", PIPFILE, '"develop": {}', '"develop": {"evil": {}}', "violated", id="pipenv, dev"),
        pytest.param("conda-lock.yml", CONDA, "aa", "cc", "held", id="conda, hash of the manifest"),
        pytest.param("conda-lock.yml", CONDA, "bb", "cc", "violated", id="conda, checksum"),
        pytest.param("conda-lock.yml", CONDA, "conda-forge", "evil", "violated", id="conda, channel"),
        pytest.param("conda-lock.yml", CONDA, "e.org", "evil.org", "violated", id="conda, address"),
    ],
)
def test_lock_files_lock_the_same_or_are_violated(path, before, old, new, status):
    after = before.replace(old, new, 1)

    assert before != after
    assert judge(path, before, after).status == status
