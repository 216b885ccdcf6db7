"""kei-hash: digests of texts, files and whole trees.

Owns: nothing. Touches: the paths it is given, to read them. Leaves to others: which paths may be read, the ledger.
"""
