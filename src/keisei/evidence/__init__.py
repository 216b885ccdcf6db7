"""Evidence: files that are written once, are on the disk before anybody leans on them, and never change.

Owns: evidence/. Touches: that folder. Leaves to others: what is kept, what it means, when it may go.
"""
