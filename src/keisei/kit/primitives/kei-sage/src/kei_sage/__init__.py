"""kei-sage: everything that is authored, from an atom.

Owns: nothing. Touches: authored files, the index of them in the state folder. Leaves to others: calling atoms.
"""
