"""kei-forge: atoms made by an atom.

Owns: nothing. Touches: packages of atoms, receipts in the state folder. Leaves to others: calling what was made.
"""
