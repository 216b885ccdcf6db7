"""Launchers: what else a simple command starts, read from its words alone.

The options of every launcher are data. No command is lost: where an option is not known, both readings are told; where
it cannot be told what starts, a sentence says so. Linear in the words, and pure.
"""

from keisei.rules.shell.launcher.launch import Launch
from keisei.rules.shell.launcher.program import launched

__all__ = ["Launch", "launched"]
