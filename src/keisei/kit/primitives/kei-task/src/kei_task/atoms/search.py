"""kei-task::search."""

from kei_task.context import Context, Data
from kei_task.task import pages
from kei_task.words import match

# A word in the title counts ten times as much as one in the description.
RANKED = """
SELECT task_pages.* FROM task_words JOIN task_pages ON task_pages.id = task_words.rowid
WHERE task_words MATCH :words ORDER BY bm25(task_words, 10.0, 1.0), task_words.rowid LIMIT :limit
"""
LITERAL = """
SELECT * FROM task_pages WHERE :text <> '' AND (instr(title, :text) OR instr(description, :text))
ORDER BY id LIMIT :limit
"""


def run(given: Data, context: Context) -> Data:
    """The tasks with these words, best first. Text without letters or digits is looked for as it stands."""
    text, limit = given["query"].strip(), given.get("limit", 20)
    if words := match(text):
        return {"tasks": pages(context.database(), RANKED, {"words": words, "limit": limit})}
    return {"tasks": pages(context.database(), LITERAL, {"text": text, "limit": limit})}
