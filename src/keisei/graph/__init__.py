"""Graph: what is derived from authored files and may be thrown away.

Owns: graph.db (what is searched, ranked and drawn), atoms.db (pages that were read) and cache.db (what transforms
answered) of a project's state folder. Touches: those files. Leaves to others: reading authored files, calling atoms,
and what to do without it: whoever finds nothing kept does it again.
"""
