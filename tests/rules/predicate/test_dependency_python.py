"""Dependencies of Python: pyproject.toml, Pipfile, requirements, setup and conda compared as data."""

import pytest

from keisei.records.verification import Difference
from keisei.records.worktree import Change
from keisei.rules.predicate.dependency import dependencies
from tests.rules.predicate.manifest import PLANNED, Fake, judge

BASE = """
[build-system]
requires = ["hatchling>=1.20"]
build-backend = "hatchling.build"

[project]
name = "shop"
version = "1.0"
requires-python = ">=3.11"
dependencies = ["requests>=2,<3", "Click ; python_version < '3.13'", "x @ https://e.org/x.zip"]

[project.optional-dependencies]
fast = ["orjson"]

[dependency-groups]
dev = ["pytest>=8", {include-group = "lint"}]
lint = ["ruff"]
"""


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(BASE.replace('"1.0"', '"1.1"'), id="its own version"),
        pytest.param(BASE.replace("requests>=2,<3", "Requests >= 2, < 3"), id="spaces of a requirement"),
        pytest.param(BASE.replace('"requests>=2,<3", ', "").replace('zip"]', 'zip", "requests>=2,<3"]'), id="order"),
        pytest.param(BASE.replace("dependencies = [", "dependencies = [ # needed\n  "), id="comments"),
        pytest.param(BASE + '[project.scripts]\nshop = "shop:main"\n', id="scripts"),
        pytest.param(BASE + '[tool.ruff]\nline-length = 100\n[tool.mypy]\nplugins = ["p"]\n', id="settings of tools"),
        pytest.param(
            BASE + "[tool.pytest.ini_options]\naddopts = '-q'\n[tool.coverage.run]\nsource = ['a']\n", id="tests"
        ),
        pytest.param(BASE + '[tool.hatch.version]\npath = "a.py"\n[tool.uv]\npackage = true\n', id="how it is built"),
        pytest.param(BASE.replace("version =", 'description = "d"\nclassifiers = ["x"]\nversion =', 1), id="metadata"),
        pytest.param(BASE.replace("[project]\n", '[project]\ndynamic = ["readme"]\n'), id="something else computed"),
    ],
)
def test_what_is_no_dependency_holds(after):
    reply = judge("pyproject.toml", BASE, after)

    assert (reply.status, reply.told) == ("held", ())


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(BASE.replace('"requests', '"evil", "requests'), id="one more"),
        pytest.param(BASE.replace('"requests>=2,<3", ', ""), id="one less"),
        pytest.param(BASE.replace("<3", "<4"), id="another version"),
        pytest.param(BASE.replace("requests>", "requests[socks]>"), id="an extra"),
        pytest.param(BASE.replace("'3.13'", "'3.14'"), id="another marker"),
        pytest.param(BASE.replace("e.org", "evil.org"), id="another address"),
        pytest.param(BASE.replace('["orjson"]', '["orjson", "evil"]'), id="optional"),
        pytest.param(BASE.replace("fast =", 'slow = ["evil"]\nfast ='), id="another extra"),
        pytest.param(BASE.replace('"pytest>=8",', '"pytest>=8", "evil",'), id="a group"),
        pytest.param(BASE.replace("lint = [", 'more = ["evil"]\nlint = ['), id="another group"),
        pytest.param(BASE.replace('group = "lint"', 'group = "more"'), id="another group included"),
        pytest.param(BASE.replace("hatchling>=1.20", 'evil", "hatchling>=1.20'), id="a build's"),
        pytest.param(BASE.replace("hatchling.build", "evil"), id="another backend"),
        pytest.param(BASE.replace("build-b", 'backend-path = ["."]\nbuild-b'), id="a backend of its own"),
        pytest.param(BASE.replace("[project]\n", '[project]\ndynamic = ["dependencies"]\n'), id="computed"),
        pytest.param(BASE + '[tool.setuptools.dynamic]\ndependencies = {file = ["x"]}\n', id="from a file"),
        pytest.param(BASE + '[tool.poetry.dependencies]\nevil = "*"\n', id="poetry"),
        pytest.param(BASE + '[tool.poetry.group.dev.dependencies.evil]\ngit = "g"\n', id="a group of poetry"),
        pytest.param(BASE + '[[tool.poetry.source]]\nname = "x"\nurl = "u"\n', id="an index of poetry"),
        pytest.param(BASE + '[tool.pdm.dev-dependencies]\nx = ["evil"]\n', id="pdm"),
        pytest.param(BASE + '[[tool.pdm.source]]\nurl = "u"\n', id="an index of pdm"),
        pytest.param(BASE + '[tool.uv.sources]\nrequests = {path = "../evil"}\n', id="another source by uv"),
        pytest.param(BASE + '[[tool.uv.index]]\nurl = "u"\n', id="an index of uv"),
        pytest.param(BASE + '[tool.uv]\noverride-dependencies = ["x"]\n', id="overrides of uv"),
        pytest.param(BASE + '[tool.uv]\nextra-index-url = ["x"]\n', id="one more index of uv"),
        pytest.param(BASE + '[tool.hatch.envs.default]\nextra-dependencies = ["evil"]\n', id="hatch"),
        pytest.param(
            BASE + '[tool.hatch.build.targets.wheel.hooks.x]\ndependencies = ["evil"]\n', id="a hook of hatch"
        ),
        pytest.param(BASE + '[tool.tox.env.a]\ndeps = ["evil"]\n', id="tox"),
        pytest.param(BASE + '[tool.cibuildwheel]\ntest-requires = "evil"\n', id="another tool"),
    ],
)
def test_a_dependency_that_is_not_as_it_was_is_violated(after):
    assert judge("pyproject.toml", BASE, after).status == "violated"


@pytest.mark.parametrize("table", ["[[tool.uv.index]]", "[[tool.poetry.source]]", "[[tool.pdm.source]]"])
def test_the_order_of_indexes_counts(table):
    one, other = (f'{table}\nurl = "{url}"\n' for url in "ab")

    assert judge("pyproject.toml", one + other, other + one).status == "violated"


def test_another_python_is_told():
    reply = judge("pyproject.toml", BASE, BASE.replace(">=3.11", ">=3.12"))

    assert reply.status == "held"
    assert "requires-python" in reply.told[0]


def test_poetry_writes_the_same_in_two_ways_and_its_python_is_told():
    base = '[tool.poetry]\nversion = "1"\n[tool.poetry.dependencies]\npython = "^3.11"\nMy_Lib = "^1"\n'
    other = base.replace('My_Lib = "^1"', 'my-lib = {version = "^1"}').replace('version = "1"', 'version = "2"', 1)

    assert judge("pyproject.toml", base, other).told == ()
    assert judge("pyproject.toml", base, base.replace("3.11", "3.12")).status == "held"
    assert judge("pyproject.toml", base, base.replace("^1", "^2")).status == "violated"


REQUIREMENTS = """# needed
--index-url https://e.org/simple
-r base.txt
requests==2.31.0 \\
    --hash=sha256:aa
click>=8  # a comment
"""


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(REQUIREMENTS.replace("# needed", "# wanted\n\n"), id="comments"),
        pytest.param(REQUIREMENTS.replace(" \\\n    ", " "), id="one line"),
        pytest.param(REQUIREMENTS.replace("click>=8", "Click >= 8"), id="spelling"),
        pytest.param("click>=8\n" + REQUIREMENTS.replace("click>=8  ", ""), id="order"),
        pytest.param("# -*- coding: utf-8 -*-\n" + REQUIREMENTS, id="the coding it has"),
        pytest.param(REQUIREMENTS.replace("# needed", "# requests==9 \\"), id="a comment with a backslash"),
        pytest.param(REQUIREMENTS.replace("\n", "\r\n"), id="another end of lines"),
    ],
)
def test_requirements_that_require_the_same_hold(after):
    assert judge("requirements.txt", REQUIREMENTS, after).status == "held"


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(REQUIREMENTS + "evil\n", id="a line"),
        pytest.param(REQUIREMENTS + "evil", id="a line without an end"),
        pytest.param(REQUIREMENTS.replace("# needed", "# x \\\nevil"), id="after a comment with a backslash"),
        pytest.param(REQUIREMENTS + "-r other.txt\n", id="another file"),
        pytest.param(REQUIREMENTS + "-e ../evil\n", id="editable"),
        pytest.param(REQUIREMENTS + "--extra-index-url https://evil\n", id="one more index"),
        pytest.param(REQUIREMENTS + "--index-url https://evil\n", id="the index again"),
        pytest.param(REQUIREMENTS.replace("e.org", "evil.org"), id="another index"),
        pytest.param(REQUIREMENTS + "--find-links .\n", id="links"),
        pytest.param(REQUIREMENTS + "-c limits.txt\n", id="constraints"),
        pytest.param(REQUIREMENTS + "./evil\n", id="a path"),
        pytest.param(REQUIREMENTS + "git+https://evil/x#egg=click\n", id="a repository"),
        pytest.param(REQUIREMENTS.replace("sha256:aa", "sha256:bb"), id="another checksum"),
        pytest.param(REQUIREMENTS.replace("    --hash=sha256:aa\n", "\n"), id="no checksum"),
        pytest.param(REQUIREMENTS.replace(">=8", ">=8,!=8.1"), id="another version"),
        pytest.param(REQUIREMENTS.replace("click>=8  #", "click>=8#"), id="no comment at all"),
    ],
)
@pytest.mark.parametrize("path", ["requirements.txt", "requirements/dev.in", "constraints.txt"])
def test_requirements_that_require_something_else_are_violated(path, after):
    assert judge(path, REQUIREMENTS, after).status == "violated"


def test_the_order_of_options_counts():
    assert judge("requirements.txt", "-i a\n-i b\n", "-i b\n-i a\n").status == "violated"


CFG = """[metadata]
name = shop
version = 1.0

[options]
install_requires =
    requests>=2
    click
[options.extras_require]
fast = orjson
[flake8]
max-line-length = 100
"""


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        pytest.param("version = 1.0", "version = 1.1", "held", id="its own version"),
        pytest.param("    requests>=2\n    click\n", "  # c\n  click\n  requests >= 2\n", "held", id="order"),
        pytest.param("length = 100", "length = 120", "held", id="settings of tools"),
        pytest.param("    click", "    click\n    evil", "violated", id="one more"),
        pytest.param("[flake8]", "slow = evil\n[flake8]", "violated", id="an extra"),
        pytest.param("[options]", "[options]\nsetup_requires = evil", "violated", id="a setup's"),
        pytest.param("[options]", "[options]\ntests-require = evil", "violated", id="with a dash"),
        pytest.param("[metadata]", "[DEFAULT]\nsetup_requires = evil\n[metadata]", "violated", id="by default"),
        pytest.param("[flake8]", "[easy_install]\nindex-url = https://evil\n[flake8]", "violated", id="an index"),
        pytest.param(
            "install_requires =\n    requests>=2\n    click", "install_requires = file: x", "violated", id="a file"
        ),
    ],
)
def test_setup_cfg(old, new, status):
    assert judge("setup.cfg", CFG, CFG.replace(old, new)).status == status


SETUP = """from setuptools import setup
setup(name="shop", version="1.0", install_requires=["requests>=2"], extras_require={"fast": ["orjson"]})
"""
COMPUTED = """import pathlib
from setuptools import setup
needs = pathlib.Path("needs").read_text().split()
setup(name="shop", version="1.0", install_requires=needs)
"""


@pytest.mark.parametrize(
    ("before", "old", "new", "status"),
    [
        pytest.param(SETUP, "1.0", "1.1", "held", id="its own version"),
        pytest.param(
            SETUP, "setup(", '# c\nsetup(\n    description="d",\n    packages=["a"],\n    ', "held", id="metadata"
        ),
        pytest.param(SETUP, '["requests>=2"]', "('requests >= 2',)", "held", id="spelling"),
        pytest.param(SETUP, "from", '"""Docs \\d."""\nfrom', "held", id="a docstring"),
        pytest.param(SETUP, '"requests>=2"', '"requests>=2", "evil"', "violated", id="one more"),
        pytest.param(SETUP, '["orjson"]', '["orjson", "evil"]', "violated", id="an extra"),
        pytest.param(SETUP, 'name="shop"', 'setup_requires=["evil"]', "violated", id="a setup's"),
        pytest.param(SETUP, '["requests>=2"]', '["requests>=2"] + x()', "violated", id="computed"),
        pytest.param(SETUP, 'name="shop"', "**more", "violated", id="words from elsewhere"),
        pytest.param(SETUP, "setup(", "import evil\nsetup(", "violated", id="other code"),
        pytest.param(SETUP, "setup(", "from evil import setup\nsetup(", "violated", id="another setup"),
        pytest.param(SETUP, "setup(", "from setuptools import os as setup\nsetup(", "violated", id="a renamed one"),
        pytest.param(SETUP, "setup(", "setup(install_requires=['evil'])\nsetup(", "violated", id="two calls"),
        pytest.param(SETUP, 'name="shop"', 'cmdclass={"install": 1}', "violated", id="commands"),
        pytest.param(COMPUTED, "1.0", "1.1", "held", id="its own version beside code"),
        pytest.param(COMPUTED, "import pathlib\n", "import pathlib  # c\n\n", "held", id="comments beside code"),
        pytest.param(COMPUTED, '"needs"', '"evil"', "violated", id="code that computes something else"),
        pytest.param(COMPUTED, 'version="1.0"', "version=read()", "violated", id="a computed version"),
    ],
)
def test_setup_py(before, old, new, status):
    assert judge("setup.py", before, before.replace(old, new, 1)).status == status


@pytest.mark.parametrize(
    ("text", "status"), [("from setuptools import setup\nsetup()\n", "held"), (COMPUTED, "violated")]
)
def test_a_new_setup_py_holds_only_where_it_says_nothing(text, status):
    new = Change(path="setup.py", status="added", mode="100644", old_mode="000000", blob="after", old_blob="0")

    assert dependencies(PLANNED, Difference(candidate=(new,)), Fake("", text)).status == status


PIPFILE = """[[source]]
url = "https://e.org/simple"
[packages]
requests = "*"
[requires]
python_version = "3.11"
[scripts]
a = "b"
"""
CONDA = """name: shop
channels: [conda-forge, defaults]
dependencies:
  - python=3.11
  - pip:
      - requests>=2
"""


@pytest.mark.parametrize(
    ("path", "before", "old", "new", "status"),
    [
        pytest.param("Pipfile", PIPFILE, '"*"', '{version = "*"}', "held", id="a table"),
        pytest.param("Pipfile", PIPFILE, 'a = "b"', 'a = "c"', "held", id="a script"),
        pytest.param("Pipfile", PIPFILE, '"3.11"', '"3.12"', "held", id="another Python"),
        pytest.param("Pipfile", PIPFILE, '"*"', '">1"', "violated", id="a version"),
        pytest.param("Pipfile", PIPFILE, "e.org", "evil.org", "violated", id="an index"),
        pytest.param("Pipfile", PIPFILE, "[scripts]", '[dev-packages]\nevil = "*"\n[scripts]', "violated", id="dev"),
        pytest.param("Pipfile", PIPFILE, "[scripts]", '[docs]\nevil = "*"\n[scripts]', "violated", id="a category"),
        pytest.param("environment.yml", CONDA, "name: shop", "name: store # c", "held", id="a name"),
        pytest.param(
            "environment.yml", CONDA, "[conda-forge, defaults]", "\n- conda-forge\n- defaults", "held", id="form"
        ),
        pytest.param(
            "environment.yaml", CONDA, "[conda-forge, defaults]", "[defaults, conda-forge]", "violated", id="order"
        ),
        pytest.param("environment.yml", CONDA, "=3.11", "=3.12", "violated", id="conda, version"),
        pytest.param("environment.yml", CONDA, "requests>=2", "requests>=2\n      - evil", "violated", id="conda, pip"),
        pytest.param(
            "environment.yml", CONDA, "name: shop", "variables: {PIP_INDEX_URL: x}", "violated", id="variables"
        ),
    ],
)
def test_pipfile_and_conda(path, before, old, new, status):
    assert judge(path, before, before.replace(old, new)).status == status
