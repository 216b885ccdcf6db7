"""Kit: what ships, as authored files; the lowest layer.

Owns: capabilities/ roles/ profiles/ skills/ workflows/ task-types/ rules/ examples/ keisei.toml. Touches: nothing.
Leaves to others: reading them.
"""
