"""Code of other languages inside a command line: what it starts and touches, told without running it."""

from keisei.rules.shell.code.makefile import recipes
from keisei.rules.shell.code.package import npm_script
from keisei.rules.shell.code.reader import started
from keisei.rules.shell.code.result import Code

__all__ = ["Code", "npm_script", "recipes", "started"]
