"""kei-json: JSON in, JSON out.

Owns: nothing. Touches: nothing; no reference is ever fetched. Leaves to others: files, the ledger.
"""
