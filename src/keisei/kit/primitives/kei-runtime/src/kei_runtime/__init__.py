"""kei-runtime: the runtime of atoms, from an atom.

Owns: nothing. Touches: pages of packages; what the atom it calls touches. Leaves to others: judging calls of agents.
"""
