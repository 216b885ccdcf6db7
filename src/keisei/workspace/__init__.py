"""Workspace: the folders an attempt works in, looked at from outside.

Owns: nothing yet. Touches: those folders, reading only; git, to ask for the base. Leaves to others:
what a difference means.
"""
