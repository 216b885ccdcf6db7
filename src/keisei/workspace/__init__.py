"""Workspace: everything we know of git, and the folders an attempt works in.

Owns: worktrees/, environments/, refs under keisei/. Touches: git, those folders, the disk's free space. Leaves to
others: what to run there, and what a difference means.
"""
