"""Graph: what is derived from authored files and may be thrown away.

Owns: graph.db of a project's state folder. Touches: that file. Leaves to others: reading authored files, and what to do
without it: nothing here raises, and whoever finds nothing kept reads again.
"""
