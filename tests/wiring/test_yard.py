"""How surely agents are confined here, and what a role may ask for."""

import shutil

import pytest

from keisei.records.confinement import Machine
from keisei.records.error import OperatorError, Refused
from keisei.records.role import RoleIsolation
from keisei.settings import read_settings
from keisei.wiring.store import project_home
from keisei.wiring.yard import Yard
from tests.wiring.house import House
from tests.workspace.conftest import Ground

FULL = Machine(bwrap="/usr/bin/bwrap", landlock=7, seccomp=True)


@pytest.fixture
def house(tmp_path):
    made = House(tmp_path)
    yield made
    made.close()


def yard(house, machine, **options):
    made = Yard(house.settings, house.home, **options)
    made.machine = machine
    return made


@pytest.mark.parametrize(
    ("machine", "wanted", "level"),
    [
        (FULL, {"require": "full", "network": "open"}, "full"),
        (Machine(bwrap="/usr/bin/bwrap", landlock=2, seccomp=True), {"require": "full"}, "full"),
        (Machine(bwrap=None, landlock=7, seccomp=True), {"require": "landlock"}, "landlock"),
        (Machine(bwrap=None, landlock=5, seccomp=True), {"require": "none"}, "none"),
    ],
)
def test_a_machine_holds_what_a_role_requires(house, machine, wanted, level):
    assert yard(house, machine).level(RoleIsolation(**wanted)) == level


@pytest.mark.parametrize(
    ("machine", "wanted", "why"),
    [
        (Machine(bwrap=None, landlock=7, seccomp=True, faults=("no bwrap",)), {"require": "full"}, "no bwrap"),
        (Machine(bwrap=None, landlock=5, seccomp=True), {"require": "landlock"}, "`none`"),
        (
            Machine(bwrap="/usr/bin/bwrap", landlock=5, seccomp=True),
            {"require": "full", "network": "open"},
            "abstract sockets",
        ),
        (Machine(bwrap="/usr/bin/bwrap", landlock=7, seccomp=False), {"require": "landlock"}, "`none`"),
    ],
)
def test_a_machine_that_holds_less_refuses_unless_that_is_accepted(house, machine, wanted, why):
    with pytest.raises(Refused, match=why):
        yard(house, machine).level(RoleIsolation(**wanted))

    yard(house, machine, accept_weaker=True).level(RoleIsolation(**wanted))


def test_a_state_folder_belongs_to_one_repository_and_moves_with_it(tmp_path):
    first = Ground(tmp_path / "first")
    first.commit(**{"keisei.toml": '[project]\nname = "shop"\n'})
    settings = read_settings({"HOME": str(tmp_path / "home"), "KEISEI_HOME": str(tmp_path / "state")})
    shutil.copytree(first.root, tmp_path / "second")

    Yard(settings, project_home(settings, first.root)).facts()
    with pytest.raises(OperatorError, match="belongs to the repository"):
        Yard(settings, project_home(settings, tmp_path / "second")).facts()
    shutil.rmtree(first.root)

    assert Yard(settings, project_home(settings, tmp_path / "second")).facts().root == str(tmp_path / "second")
