"""Records: what things are.

Owns: the published types, the authored forms, ids, errors. Touches: nothing. Leaves to others: reading,
checking, storing and deciding. A record is frozen, keyword-only, imports nothing of ours but other records, does no IO.
"""
