"""Grammar: what parsers see in source files: functions, tests, and tests that check nothing.

Owns: `python -m keisei.grammar`, a program of its own, because hostile text goes through parsers written in C. Touches:
processes that it forks of itself. Leaves to others: confining it, which files are looked at, and what a long function
or an empty test means.
"""
