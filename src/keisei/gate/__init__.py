"""Gate: the service that answers tool calls, and the small clients that ask it.

Owns: its socket, plans/ while they are read, gate.jsonl. Touches: those, shfmt, a C compiler once. Leaves to others:
what a policy means (rules/), who writes a plan, how a harness is told to ask.
"""
