"""kei-task: tasks with dependencies, in one SQLite file.

Owns: the tables of migrations/. Touches: the database it is given. Leaves to others: validation, the ledger.
"""
