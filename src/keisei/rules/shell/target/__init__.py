"""Targets: which paths one simple command writes, deletes and reads by its own grammar.

Tables say what options take and what operands are; a shape is one function for operands that a table cannot tell. In
doubt a path is told once too often: a gate that knows too much refuses, one that knows too little lets through. Time is
linear in the length of the words.
"""

from keisei.rules.shell.target.command import touched
from keisei.rules.shell.target.spot import Spot, Touch

__all__ = ["Spot", "Touch", "touched"]
