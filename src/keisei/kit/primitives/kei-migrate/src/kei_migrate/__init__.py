"""kei-migrate: the databases of packages.

Owns: nothing. Touches: the databases that packages declare. Leaves to others: what the migrations say.
"""
