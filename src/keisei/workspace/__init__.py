"""Workspace: the folders an attempt works in, looked at from outside.

Owns: nothing yet. Touches: those folders, reading only. Leaves to others: what a difference means.
"""
