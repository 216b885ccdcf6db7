"""Shell text to effects: what a command line runs, writes, deletes and reads, without running it.

Pure: the syntax tree, the file system and file contents are handed in. Falls closed: what cannot be read is told.
"""
