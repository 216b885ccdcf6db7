"""Atoms from the command line: taken back as those of the forge are, and written also where no receipt can be kept."""

import os
from unittest.mock import patch

import pytest

from keisei.library.atom_new import plan_atom
from keisei.library.atom_request import AtomRequest
from keisei.records.error import OperatorError
from keisei.settings import read_settings
from keisei.wiring.forge_new import write_new
from keisei.wiring.forge_receipt import NoReceipt, Receipts
from tests.wiring.forge_ground import Ground


@pytest.fixture
def ground(tmp_path):
    return Ground(tmp_path)


def new(ground, atom="kei-note::count", **env):
    request = AtomRequest(atom=atom, folder=ground.packages)
    return write_new(read_settings({**ground.env, **env}), ground.root, request, plan_atom(request))


@pytest.mark.parametrize("verb", ["count", "second-one"])
def test_what_the_command_line_wrote_is_taken_back(ground, verb):
    if verb != "count":
        new(ground)
    before = ground.tree()

    written = new(ground, f"kei-note::{verb}")
    receipt = ground.forge().receipts()[0]

    assert written[-1] == ground.packages / f"kei-note/atoms/{verb}.md"
    assert (receipt.atom, len(receipt.files)) == (f"kei-note::{verb}", len(written))
    ground.forge().undo(receipt.receipt_id)
    assert ground.tree() == before


def test_what_is_in_the_way_stays_and_leaves_no_receipt(ground):
    request = AtomRequest(atom="kei-note::count", folder=ground.packages)
    files = plan_atom(request)
    new(ground)
    before = ground.tree()

    with pytest.raises(OperatorError, match="already exists"):
        write_new(read_settings(ground.env), ground.root, request, files)

    assert (ground.tree(), len(ground.slips())) == (before, 1)


def test_without_a_state_folder_it_is_written_without_a_receipt(ground):
    def full(*_):
        raise NoReceipt("no receipt can be kept: no space left on device")

    with patch.object(Receipts, "save", full):
        assert all(each.is_file() for each in new(ground))
    blocked = ground.state / "file"
    blocked.write_text("")
    assert all(each.is_file() for each in new(ground, "kei-note::other", KEISEI_HOME=str(blocked)))
    assert (ground.slips(), os.path.lexists(blocked)) == ([], True)
