"""Workers: warm, isolated processes that run atoms, and programs that answer `run-atom`.

Owns: nothing on the disk. Touches: processes, through the starter it is handed; the sources of packages, by stat.
Leaves to others: what is called, whether input and output fit their schemas, what is written down of it.
"""
