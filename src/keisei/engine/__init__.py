"""Engine: the verbs of keisei, each a plain function of what ports.py asks of the world.

Owns: the order of steps. Touches: nothing itself; rows, files and processes are behind ports. Leaves to others: how a
port does it.
"""
