"""Dependencies of npm, pnpm, Yarn and Bun: manifests and lock files compared as data."""

import pytest

from tests.rules.predicate.manifest import judge

BASE = """{
  "name": "shop",
  "version": "1.0.0",
  "scripts": {"test": "node --test", "postinstall": "node a.js"},
  "engines": {"node": ">=18"},
  "dependencies": {"left": "^1.0.0", "right": "2"},
  "workspaces": ["packages/*"]
}"""


def plus(text):
    return BASE.replace('"version"', f'{text}, "version"')


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(BASE.replace("1.0.0", "1.1.0", 1), id="its own version"),
        pytest.param(BASE.replace("\n", "").replace("  ", ""), id="formatting"),
        pytest.param(BASE.replace('"left": "^1.0.0", "right": "2"', '"right": "2", "left": "^1.0.0"'), id="order"),
        pytest.param(BASE.replace('"test": "', '"lint": "eslint .", "test": "'), id="a script"),
        pytest.param(BASE.replace(">=18", ">=20"), id="engines"),
        pytest.param(plus('"description": "d", "eslintConfig": {"dependencies": {"x": "1"}}'), id="settings"),
        pytest.param(plus('"devDependencies": {}, "peerDependencies": null'), id="empty tables"),
        pytest.param(BASE.replace('"left"', '"l\\u0065ft"'), id="escapes"),
    ],
)
def test_what_is_no_dependency_holds(after):
    reply = judge("package.json", BASE, after)

    assert (reply.status, reply.told) == ("held", ())


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(BASE.replace('"right": "2"', '"right": "2", "evil": "1"'), id="one more"),
        pytest.param(BASE.replace(', "right": "2"', ""), id="one less"),
        pytest.param(BASE.replace('"2"', '"3"'), id="another version"),
        pytest.param(BASE.replace('"2"', '"npm:evil@2"'), id="renamed"),
        pytest.param(BASE.replace('"2"', '"file:../evil"'), id="a path"),
        pytest.param(BASE.replace('"2"', '"git+https://x/y"'), id="a repository"),
        pytest.param(plus('"devDependencies": {"evil": "1"}'), id="dev"),
        pytest.param(plus('"peerDependencies": {"evil": "1"}'), id="peer"),
        pytest.param(plus('"optionalDependencies": {"evil": "1"}'), id="optional"),
        pytest.param(plus('"bundledDependencies": ["left"]'), id="bundled"),
        pytest.param(plus('"bundleDependencies": true'), id="all bundled"),
        pytest.param(plus('"overrides": {"left": "npm:evil@1"}'), id="overrides"),
        pytest.param(plus('"resolutions": {"left": "1.0.1"}'), id="resolutions"),
        pytest.param(plus('"pnpm": {"overrides": {"left": "1"}}'), id="overrides of pnpm"),
        pytest.param(plus('"pnpm": {"patchedDependencies": {"left": "p"}}'), id="patches of pnpm"),
        pytest.param(plus('"trustedDependencies": ["left"]'), id="trusted"),
        pytest.param(plus('"packageManager": "pnpm@9.0.0"'), id="another manager"),
        pytest.param(BASE.replace("packages/*", "vendor/*"), id="other workspaces"),
        pytest.param(
            BASE.replace('["packages/*"]', '{"packages": ["packages/*"], "catalog": {"a": "1"}}'), id="catalog"
        ),
        pytest.param(plus('"d\\u0065vDependencies": {"evil": "1"}'), id="escapes"),
        pytest.param(plus('"dependencies": {"left": "^1.0.0", "right": "2"}'), id="a key twice"),
    ],
)
def test_a_dependency_that_is_not_as_it_was_is_violated(after):
    assert judge("package.json", BASE, after).status == "violated"


@pytest.mark.parametrize("name", ["preinstall", "install", "postinstall", "prepare"])
def test_a_script_that_runs_at_an_installation_is_told(name):
    after = BASE.replace('"postinstall": "node a.js"', f'"{name}": "evil"')

    reply = judge("package.json", BASE, after)

    assert reply.status == "held"
    assert any(f"scripts.{name}" in told for told in reply.told)


def test_settings_of_a_pnpm_workspace_stay_as_they_are():
    base = "packages:\n  - packages/*\ncatalog:\n  left: ^1.0.0\n"

    assert (
        judge("pnpm-workspace.yaml", base, "# c\n" + base.replace("  - packages/*", '- "packages/*"')).status == "held"
    )
    for after in (base + "overrides: {left: evil}\n", base.replace("^1", "^2"), base + "onlyBuiltDependencies: [x]\n"):
        assert judge("pnpm-workspace.yaml", base, after).status == "violated"
