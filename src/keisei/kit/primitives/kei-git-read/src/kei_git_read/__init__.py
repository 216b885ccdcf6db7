"""kei-git-read: what a git repository holds, read and never changed.

Owns: a git folder in a temporary place for as long as one call takes. Touches: git, the repository that is named.
Leaves to others: validation, the ledger, and whether the repository may be read at all.
"""
