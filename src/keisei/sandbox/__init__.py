"""Sandbox: runs a Launch or makes a Call, confined as it is told, keeps what it says, and leaves nothing of it running.

Owns: the processes, connections and cgroups it opens, the relay to a model. Touches: processes, namespaces, Landlock,
seccomp, cgroups, /proc, pipes, the network, the files of a spool. Leaves to others: what to run, what it may touch,
what its end means.
"""
