"""Sandbox: runs a Launch, and leaves nothing of it running.

Owns: the processes it starts. Touches: processes, /proc, pipes. Leaves to others: what to run and what its end means.
"""
