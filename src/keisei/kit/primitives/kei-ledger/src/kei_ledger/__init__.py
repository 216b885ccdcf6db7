"""kei-ledger: the ledger of keisei's own project, from an atom.

Owns: nothing. Touches: keisei's ledger, through keisei itself. Leaves to others: what the engine tells by itself.
"""
