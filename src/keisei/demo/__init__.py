"""Demo: a play in three acts that shows what keisei promises, with the engine that keeps it.

Owns: a temporary folder with a project, a home and a state of its own, which stays until `keisei demo --clean`.
Touches: that folder, git, two ports of loopback while it plays. Leaves to others: everything that is shown, and the
words for it. The agents are scripted and everything around them is real: what is told was read back from the store, the
evidence, the gate's log and git, and a play that comes out otherwise says so.
"""
