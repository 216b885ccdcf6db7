"""Library: authored files to records and back.

Owns: a project's `.keisei/` and keisei.toml, the kit's and the user's layers, seed layouts. Touches: those files.
Leaves to others: what the rules mean when they are judged, and running anything.
"""
