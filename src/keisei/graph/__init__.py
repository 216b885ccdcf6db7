"""Graph: what is derived from authored files and may be thrown away.

Owns: graph.db and cache.db of a project's state folder. Touches: those two files. Leaves to others: reading authored
files, calling atoms, and what to do without it: nothing here raises, and whoever finds nothing kept does it again.
"""
