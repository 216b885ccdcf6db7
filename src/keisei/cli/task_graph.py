"""`kei-task graph`: which task waits for which, drawn from the list of all tasks."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import click

from keisei.cli.invoke import order_of
from keisei.cli.primitive_call import runtime_of
from keisei.records.error import WorldFault
from keisei.records.problem import printable

Tasks = list[dict[str, Any]]
PAGE = 500


@click.command()
@click.option(
    "--format", "form", type=click.Choice(["text", "mermaid", "dot", "json"]), default="text", help="How it is drawn."
)
@click.pass_context
def graph(ctx: click.Context, form: str) -> None:
    """Draw every dependency: the task on the left waits for the one on the right."""
    for row in DRAWN[form](list(_tasks(ctx))):
        click.echo(row)


def _tasks(ctx: click.Context) -> Iterator[dict[str, Any]]:
    """Every task, page by page. Raises WorldFault where a page cannot be had."""
    from keisei.engine.invoke import invoke

    runtime, after = runtime_of(ctx), 0
    while after is not None:
        order = order_of(runtime, "kei-task::list", {"after": after, "limit": PAGE}, None)
        invoked = invoke(runtime.tools, runtime.store, order)
        if invoked.record.error is not None:
            raise WorldFault(invoked.record.error.message)
        yield from invoked.output["tasks"]
        after = invoked.output["next"]


def _text(tasks: Tasks) -> Iterator[str]:
    named = {task["id"]: f"{task['id']} {printable(task['title'])}" for task in tasks}
    for task in tasks:
        yield from (f"{named[task['id']]} -> {named.get(child, child)}" for child in task["depends_on"])


def _mermaid(tasks: Tasks) -> Iterator[str]:
    yield "flowchart TD"
    for task in tasks:
        label = "".join(each if each.isalnum() or each in " -_.,:/" else f"#{ord(each)};" for each in task["title"])
        yield f'  t{task["id"]}["{task["id"]} {label}"]'
    for task in tasks:
        yield from (f"  t{task['id']} --> t{child}" for child in task["depends_on"])


def _dot(tasks: Tasks) -> Iterator[str]:
    yield "digraph tasks {"
    for task in tasks:
        label = printable(task["title"]).replace("\\", "\\\\").replace('"', '\\"')
        yield f'  t{task["id"]} [label="{task["id"]} {label}"];'
    for task in tasks:
        yield from (f"  t{task['id']} -> t{child};" for child in task["depends_on"])
    yield "}"


def _json(tasks: Tasks) -> Iterator[str]:
    kept = [{name: task[name] for name in ("id", "title", "status")} for task in tasks]
    pairs = [[task["id"], child] for task in tasks for child in task["depends_on"]]
    yield json.dumps({"tasks": kept, "dependencies": pairs}, ensure_ascii=False)


DRAWN: dict[str, Callable[[Tasks], Iterator[str]]] = {"text": _text, "mermaid": _mermaid, "dot": _dot, "json": _json}
