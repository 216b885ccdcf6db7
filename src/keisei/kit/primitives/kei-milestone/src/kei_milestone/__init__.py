"""kei-milestone: tasks in groups.

Owns: nothing; the tables are kei-task's. Touches: the database it is given. Leaves to others: validation, the ledger.
"""
