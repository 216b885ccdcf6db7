"""Lock files of npm, pnpm, Yarn and Bun compared as data."""

import pytest

from tests.rules.predicate.manifest import judge

NPM = """{
  "name": "shop", "version": "1.0.0", "lockfileVersion": 3, "requires": true,
  "packages": {
    "": {"name": "shop", "version": "1.0.0", "license": "MIT", "dependencies": {"left": "^1.0.0"}},
    "packages/a": {"name": "a", "version": "1.0.0", "dependencies": {"left": "^1.0.0"}},
    "node_modules/a": {"resolved": "packages/a", "link": true},
    "node_modules/left": {"version": "1.0.0", "resolved": "https://r/left-1.tgz", "integrity": "sha512-aa",
      "license": "MIT", "dependencies": {"deep": "1"}}
  }
}"""
YARN_1 = """# yarn lockfile v1


left@^1.0.0, left@^1.0.1:
  version "1.0.1"
  resolved "https://r/left-1.0.1.tgz#aa"
  integrity sha512-aa
  dependencies:
    deep "1"
"""
YARN_4 = """__metadata:
  version: 8
  cacheKey: 10

"a@workspace:^, a@workspace:packages/a":
  version: 0.0.0-use.local
  resolution: "a@workspace:packages/a"
  dependencies:
    left: "npm:^1.0.0"
  bin:
    a: ./a.js
  languageName: unknown
  linkType: soft

"left@npm:^1.0.0":
  version: 1.0.1
  resolution: "left@npm:1.0.1"
  checksum: 10/aa
  languageName: node
  linkType: hard
"""
PNPM = """lockfileVersion: '9.0'
settings:
  autoInstallPeers: true
importers:
  .:
    dependencies:
      left:
        specifier: ^1.0.0
        version: 1.0.1
packages:
  left@1.0.1:
    resolution: {integrity: sha512-aa}
    engines: {node: '>=6'}
snapshots:
  left@1.0.1: {}
"""
BUN = """{
  "lockfileVersion": 1,
  "workspaces": {
    "": {"name": "shop", "dependencies": {"left": "^1.0.0",},},
    "packages/a": {"name": "a", "version": "1.0.0",},
  },
  "packages": {
    "a": ["a@workspace:packages/a"],
    "left": ["left@1.0.1", "", {"dependencies": {"deep": "1"}}, "sha512-aa"],
  },
}"""


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        pytest.param("package-lock.json", NPM, NPM.replace('on": "1.0.0", "lic', 'on": "1.1.0", "lic'), id="npm, own"),
        pytest.param(
            "package-lock.json",
            NPM,
            NPM.replace('"name": "a", "version": "1', '"name": "a", "version": "2'),
            id="npm, workspace",
        ),
        pytest.param("npm-shrinkwrap.json", NPM, NPM.replace("\n", ""), id="npm, formatting"),
        pytest.param(
            "package-lock.json",
            NPM,
            NPM.replace('"MIT",\n', '"ISC",\n').replace('"lockfileVersion": 3', '"lockfileVersion": 2'),
            id="npm, asides",
        ),
        pytest.param(
            "package-lock.json",
            NPM,
            NPM.replace(
                '"packages/a"',
                '"packages/b": {"name": "b"}, "node_modules/b": {"resolved": "packages/b", "link": true}, "packages/a"',
                1,
            ),
            id="npm, a workspace that needs nothing",
        ),
        pytest.param("yarn.lock", YARN_1, "# c\n" + YARN_1 + "\n\n", id="yarn 1, comments"),
        pytest.param("yarn.lock", YARN_4, YARN_4.replace("0.0.0-use.local", "1.0.0"), id="yarn 4, own"),
        pytest.param("yarn.lock", YARN_4, YARN_4.replace("a: ./a.js", "b: ./b.js"), id="yarn 4, a program of its own"),
        pytest.param("yarn.lock", YARN_4, YARN_4.replace("version: 8", "version: 9"), id="yarn 4, aside"),
        pytest.param(
            "pnpm-lock.yaml",
            PNPM,
            "# c\n" + PNPM.replace("{integrity: sha512-aa}", "\n      integrity: sha512-aa"),
            id="pnpm",
        ),
        pytest.param("pnpm-lock.yaml", PNPM, PNPM.replace("packages:", "  packages/a: {}\npackages:"), id="pnpm, own"),
        pytest.param(
            "bun.lock", BUN, BUN.replace(",}", "}").replace('"version": "1.0.0"', '"version": "1.1.0"'), id="bun"
        ),
    ],
)
def test_a_lock_file_that_locks_the_same_holds(path, before, after):
    assert before != after
    assert judge(path, before, after).status == "held"


@pytest.mark.parametrize(
    ("path", "before", "old", "new"),
    [
        pytest.param("package-lock.json", NPM, "sha512-aa", "sha512-bb", id="npm, checksum"),
        pytest.param("package-lock.json", NPM, "https://r/", "https://evil/", id="npm, address"),
        pytest.param(
            "package-lock.json",
            NPM,
            '"version": "1.0.0", "resolved"',
            '"version": "1.0.1", "resolved"',
            id="npm, version",
        ),
        pytest.param("package-lock.json", NPM, '{"deep": "1"}', '{"evil": "1"}', id="npm, need"),
        pytest.param(
            "package-lock.json", NPM, '{"left": "^1.0.0"}', '{"left": "^1.0.0", "evil": "1"}', id="npm, own need"
        ),
        pytest.param("package-lock.json", NPM, '"resolved": "packages/a"', '"resolved": "../evil"', id="npm, link out"),
        pytest.param(
            "package-lock.json",
            NPM,
            '{"version": "1.0.0", "resolved"',
            '{"link": true, "version": "1.0.0", "resolved"',
            id="npm, link elsewhere",
        ),
        pytest.param(
            "package-lock.json",
            NPM,
            '"node_modules/a"',
            '"node_modules/left/node_modules/x": {"version": "1"}, "node_modules/a"',
            id="npm, inside",
        ),
        pytest.param(
            "package-lock.json",
            NPM,
            '"requires": true',
            '"requires": true, "dependencies": {"x": {"version": "1"}}',
            id="npm, old form",
        ),
        pytest.param(
            "package-lock.json",
            NPM,
            '"requires": true',
            '"dependencies": {"x": {"version": "file:../evil"}}',
            id="npm, old form out",
        ),
        pytest.param("yarn.lock", YARN_1, "sha512-aa", "sha512-bb", id="yarn 1, checksum"),
        pytest.param("yarn.lock", YARN_1, "https://r/", "https://evil/", id="yarn 1, address"),
        pytest.param("yarn.lock", YARN_1, "left@^1.0.0,", "left@^1.0.0, right@1,", id="yarn 1, asked for"),
        pytest.param("yarn.lock", YARN_1, "    deep", "    evil", id="yarn 1, need"),
        pytest.param(
            "yarn.lock", YARN_1, "  dependencies:\n    deep", "  dependencies:\n  deep", id="yarn 1, indentation"
        ),
        pytest.param("yarn.lock", YARN_4, "10/aa", "10/bb", id="yarn 4, checksum"),
        pytest.param("yarn.lock", YARN_4, '    left: "npm:^1.0.0"', '    evil: "npm:^1.0.0"', id="yarn 4, own need"),
        pytest.param(
            "yarn.lock",
            YARN_4,
            "  dependencies:\n    left",
            "  peerDependencies: {evil: 1}\n  dependencies:\n    left",
            id="yarn 4, inline",
        ),
        pytest.param("yarn.lock", YARN_4, '"a@workspace:packages/a"\n', '"a@npm:1.0.0"\n', id="yarn 4, own no more"),
        pytest.param("yarn.lock", YARN_4, '"a@workspace:packages/a"\n', '"a@workspace:../evil"\n', id="yarn 4, out"),
        pytest.param("yarn.lock", YARN_4, '"a@workspace:^,', '"left@npm:2, a@workspace:^,', id="yarn 4, disguised"),
        pytest.param("pnpm-lock.yaml", PNPM, "sha512-aa", "sha512-bb", id="pnpm, checksum"),
        pytest.param("pnpm-lock.yaml", PNPM, "sha512-aa}", "sha512-aa, tarball: https://evil}", id="pnpm, address"),
        pytest.param("pnpm-lock.yaml", PNPM, "        version: 1.0.1", "        version: 1.0.2", id="pnpm, own need"),
        pytest.param("pnpm-lock.yaml", PNPM, "left@1.0.1: {}", "left@1.0.1: {}\n  evil@1.0.0: {}", id="pnpm, snapshot"),
        pytest.param("pnpm-lock.yaml", PNPM, "importers:", "overrides: {left: evil}\nimporters:", id="pnpm, overrides"),
        pytest.param("bun.lock", BUN, "sha512-aa", "sha512-bb", id="bun, checksum"),
        pytest.param("bun.lock", BUN, '"left": "^1.0.0",', '"left": "^1.0.0", "evil": "1",', id="bun, own need"),
        pytest.param("bun.lock", BUN, "workspace:packages/a", "workspace:../evil", id="bun, out"),
        pytest.param("bun.lock", BUN, '"a": [', '"evil": ["evil@1", "", {}, "x"], "a": [', id="bun, package"),
        pytest.param(
            "bun.lock", BUN, '"packages": {', '"overrides": {"left": "1"}, "packages": {', id="bun, overrides"
        ),
    ],
)
def test_a_lock_file_that_locks_something_else_is_violated(path, before, old, new):
    after = before.replace(old, new, 1)

    assert before != after
    assert judge(path, before, after).status == "violated"


def test_long_keys_of_yarn_belong_to_what_follows_them():
    one = '? "left@npm:^1"\n:\n  version: 1\n\n? "right@npm:^1"\n:\n  version: 2\n'
    swapped = one.replace("version: 1", "version: x").replace("version: 2", "version: 1").replace("x", "2")

    assert judge("yarn.lock", one, swapped).status == "violated"


def test_packages_of_an_old_lock_file_are_found_inside_of_each_other():
    own = '"a": {"version": "file:packages/a", "requires": {"x": "1"}}'
    old = '{"dependencies": {' + own + ', "b": {"version": "1", "dependencies": {"c": {"version": "1"}}}}}'

    assert judge("package-lock.json", old, old.replace('"c": {"version": "1"}', '"c": {"version": "2"}')).told == (
        '`package-lock.json` declares `b > c` as `{"version": "2"}`, before `{"version": "1"}`',
    )
    assert judge("package-lock.json", old, old.replace('"x": "1"', '"y": "1"')).status == "violated"
