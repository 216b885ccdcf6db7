"""kei-fs: files and folders.

Owns: nothing. Touches: the paths it is given. Leaves to others: which paths may be touched, the ledger.
"""
