"""MCP: atoms as tools for agents and editors.

Owns: tool lists, the server on standard input, on loopback and beside an attempt, the shim inside one. Touches: the
official SDK, sockets. Leaves to others: what an atom is, how it is called, whether a call is allowed.
"""
