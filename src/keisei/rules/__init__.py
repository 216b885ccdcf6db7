"""Rules: what must hold, as functions of values.

Owns: nothing. Touches: nothing; a rule that must ask the world takes the question as a parameter. Leaves to others:
reading, writing, running.
"""
