"""kei-text: text in, text out.

Owns: nothing. Touches: nothing. Leaves to others: files, validation, the ledger.
"""
