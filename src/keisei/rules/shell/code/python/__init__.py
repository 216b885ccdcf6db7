"""Python code: what it starts and touches."""

from keisei.rules.shell.code.python.reader import python

__all__ = ["python"]
