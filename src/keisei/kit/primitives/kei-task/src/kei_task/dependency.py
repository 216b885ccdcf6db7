"""Dependencies: the parent waits for the child. Walks go level by level, so that a wide graph is a few queries."""

import json
from collections.abc import Iterable

import apsw

from kei_task.context import Context, Data

BELOW = """
SELECT parent, child FROM task_deps WHERE parent IN (SELECT value FROM json_each(?)) ORDER BY parent, child
"""


def below(db: apsw.Connection, tasks: Iterable[int]) -> list[tuple[int, int]]:
    """Every pair (parent, child) of these parents, in order."""
    return list(db.execute(BELOW, (json.dumps(list(tasks)),)))


def way(db: apsw.Connection, start: int, goal: int) -> list[int]:
    """A shortest way from a task down to one it waits for, both ends included; empty where it does not wait for it."""
    came_from: dict[int, int] = {start: start}
    level = [start]
    while level and goal not in came_from:
        pairs = [(parent, child) for parent, child in below(db, level) if child not in came_from]
        for parent, child in pairs:
            came_from.setdefault(child, parent)
        level = sorted({child for _, child in pairs})
    return _back(came_from, goal) if goal in came_from else []


def _back(came_from: dict[int, int], goal: int) -> list[int]:
    steps = [goal]
    while came_from[steps[-1]] != steps[-1]:
        steps.append(came_from[steps[-1]])
    return steps[::-1]


def depths(db: apsw.Connection, start: int, limit: int) -> tuple[dict[int, int], bool]:
    """Steps to each task below on the longest way, of the nearest `limit` tasks; and whether there are more."""
    known, level, pairs = {start: 0}, [start], list[tuple[int, int]]()
    while level:
        found = below(db, level)
        level = sorted({child for _, child in found} - known.keys())
        pairs += found
        if len(known) - 1 + len(level) > limit:
            room = limit - len(known) + 1
            return _longest(known | dict.fromkeys(level[:room], 0), pairs, start), True
        known |= dict.fromkeys(level, 0)
    return _longest(known, pairs, start), False


def _longest(known: dict[int, int], pairs: list[tuple[int, int]], start: int) -> dict[int, int]:
    """The longest ways over these pairs. There is no cycle, so each task is settled once all its parents are."""
    children: dict[int, list[int]] = {task: [] for task in known}
    waiting = dict.fromkeys(known, 0)
    for parent, child in pairs:
        if child in known:
            children[parent].append(child)
            waiting[child] += 1
    ready, depth = [start], dict.fromkeys(known, 0)
    while ready:
        parent = ready.pop()
        for child in children[parent]:
            depth[child] = max(depth[child], depth[parent] + 1)
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    del depth[start]
    return depth


def refuse_open(context: Context, task: Data) -> None:
    """Raise OpenDependencies where a task waits for something that is neither completed nor cancelled."""
    if left := task["open_dependencies"]:
        first, more = ", ".join(map(str, left[:10])), f" and {len(left) - 10} more" if len(left) > 10 else ""  # noqa: PLR2004
        raise context.error("OpenDependencies", f"task {task['id']} still waits for: {first}{more}")
