"""Sandbox: runs a Launch or makes a Call, keeps what it says, and leaves nothing of it running.

Owns: the processes and connections it opens. Touches: processes, /proc, pipes, the network, the two files of a spool.
Leaves to others: what to run and what its end means.
"""
