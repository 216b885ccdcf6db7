"""The tables of keisei.toml about where attempts work: what the schema cannot say is told by lint."""

import pytest

from keisei.library.project import load_project
from keisei.library.workspace import check_workspace

HEAD = '[project]\nname = "shop"\n'
GOOD = """
[environment]
setup = "make deps"
key = ["deps.lock"]
keep = [".venv", "packages/a/node_modules"]
[sandbox]
read = ["/opt/toolchain", "~/.rustup"]
processes = 64
memory-mb = 512
[runner]
jobs = 4
[workspace]
pool = 4
[prices."model/x:1"]
input = 0.0
output = 0.0
"""


def told(tmp_path, text):
    path = tmp_path / "keisei.toml"
    path.write_text(HEAD + text)
    return [(each.code, each.severity, each.line, each.message) for each in check_workspace(load_project(path))]


def test_good_tables_have_no_problems(tmp_path):
    assert told(tmp_path, GOOD) == []
    assert told(tmp_path, "") == []


ENVIRONMENT = '[environment]\nsetup = "x"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            f'{ENVIRONMENT}key = ["l"]\nkeep = [".venv", ".", ".GIT/x"]',
            [
                ("outside", "error", 6, "`.` cannot be kept as part of the environment"),
                ("outside", "error", 6, "`.GIT/x` cannot be kept as part of the environment"),
            ],
            id="kept paths that are none",
        ),
        pytest.param(
            f'{ENVIRONMENT}key = ["l"]',
            [("missing-key", "error", 3, "what setup installs is lost, because nothing of it is kept")],
            id="nothing kept",
        ),
        pytest.param(
            f'{ENVIRONMENT}keep = [".venv"]',
            [
                (
                    "missing-key",
                    "warning",
                    3,
                    "this environment is never set up again, because nothing it depends on is named",
                )
            ],
            id="no key",
        ),
        pytest.param(
            '[sandbox]\nread = ["/opt", "~", "tools"]',
            [
                ("contradiction", "error", 4, "`~` holds what an agent must not read"),
                ("wrong-value", "error", 4, "`tools` is not an absolute path"),
            ],
            id="reads",
        ),
        pytest.param(
            "[runner]\njobs = 9\n[workspace]\npool = 8",
            [
                (
                    "contradiction",
                    "warning",
                    6,
                    "9 attempts at once need 9 worktrees, and the pool keeps 8",
                )
            ],
            id="a pool that is too small",
        ),
    ],
)
def test_tables_that_cannot_work_are_told_where_they_stand(tmp_path, text, expected):
    assert told(tmp_path, text) == expected
