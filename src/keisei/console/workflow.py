"""Workflows: instances with where they stand, drawn, and what an operator says to one; the definitions they follow."""

from contextlib import suppress
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from keisei.console.asking import Cursor, Key, Limit
from keisei.console.cursor import lost
from keisei.console.page import Missing, Page, page
from keisei.console.premises import Premises
from keisei.console.workflow_drawing import Drawing, drawing
from keisei.console.workflow_order import ORDERS, known
from keisei.contracts.check import data_of
from keisei.library.catalog import Catalog
from keisei.records.error import AuthorError, KeiseiError
from keisei.records.id import TaskId, WorkflowId
from keisei.records.progression import Awaited, Visit, Workflow, WorkflowQuery
from keisei.records.workflow import WorkflowDefinition, WorkflowRecord
from keisei.rules.canonical import digest
from keisei.rules.progression import current_state, signals_of

__all__ = ["ORDERS", "PAGES"]

Which = Literal["open", "all", "active", "blocked", "completed"]
CHOSEN: Final[dict[Which, tuple[str, ...]]] = {
    "open": ("active", "blocked"),
    "all": (),
    "active": ("active",),
    "blocked": ("blocked",),
    "completed": ("completed",),
}
Type = Annotated[str, Meta(max_length=200)]


class WorkflowsAsk(Struct, frozen=True, kw_only=True):
    """Which workflows."""

    status: Which = "open"
    """Only those; `open` are those that are not over."""
    type: Type | None = None
    """Only of this type."""
    after: Cursor | None = None
    """Go on behind this one."""
    limit: Limit = 50
    """At most so many."""


class WorkflowLine(Struct, frozen=True, kw_only=True):
    """A workflow in a list."""

    record: WorkflowRecord
    """The workflow."""
    awaits: Awaited
    """What it waits for."""
    task_id: TaskId | None
    """The task it waits for, or the one whose end has blocked it."""
    visit: int
    """The how-manieth stay in its state."""


class DefinitionLine(Struct, frozen=True, kw_only=True):
    """A definition in a list."""

    name: str
    """Its name."""
    description: str | None
    """What it is for."""
    states: tuple[str, ...]
    """Its states."""
    fault: str | None
    """Why it cannot be read."""


class WorkflowsPage(Struct, frozen=True, kw_only=True):
    """Instances, and what they may follow."""

    items: tuple[WorkflowLine, ...]
    """Instances, newest first."""
    next: str | None
    """Where older ones begin."""
    definitions: tuple[DefinitionLine, ...]
    """Definitions of the library, by name."""


class WorkflowAsk(Struct, frozen=True, kw_only=True):
    """Which workflow."""

    workflow_id: Key
    """Its id, or its key."""


class WorkflowPage(Struct, frozen=True, kw_only=True):
    """One workflow."""

    line: WorkflowLine
    """The instance."""
    definition: WorkflowDefinition
    """The definition it follows: the one it began with."""
    outdated: bool
    """The definition of its type is another one by now."""
    offers: tuple[str, ...]
    """States of the definition as it is now; empty where that cannot be read."""
    signals: tuple[str, ...]
    """Signals of the state it stands in."""
    ways: tuple[str, ...]
    """States that a signal leads to from there."""
    visits: tuple[Visit, ...]
    """Its stays, newest first."""
    drawing: Drawing | None
    """The definition laid out; None where it is too large."""


class WorkflowNewAsk(Struct, frozen=True, kw_only=True):
    """What a new one shall be."""

    type: Type | None = None
    """Which definition is chosen already."""


class WorkflowNewPage(Struct, frozen=True, kw_only=True):
    """What a new workflow may follow."""

    definitions: tuple[DefinitionLine, ...]
    """Definitions that can be read."""
    chosen: str | None
    """The one that is chosen already."""


class DefinitionAsk(Struct, frozen=True, kw_only=True):
    """Which definition."""

    name: Key
    """Its name."""


class DefinitionPage(Struct, frozen=True, kw_only=True):
    """One definition."""

    definition: WorkflowDefinition
    """As it is written."""
    path: str
    """The file that says so."""
    layer: str
    """Whose file that is: the kit's, the user's, the project's."""
    drawing: Drawing | None
    """It laid out; None where it is too large."""
    items: tuple[WorkflowLine, ...]
    """Instances of it that are not over, newest first; at most 20."""


def show_workflows(premises: Premises, asks: WorkflowsAsk) -> WorkflowsPage:
    """Workflows: instances with their state and what they wait for, and the definitions of the library."""
    after = None if asks.after is None else WorkflowId(asks.after)
    query = WorkflowQuery(statuses=CHOSEN[asks.status], workflow_type=asks.type, before=after, limit=asks.limit + 1)
    found = premises.store.workflows(query)
    if after is not None and not found and premises.store.workflow(after) is None:
        raise lost()
    shown = found[: asks.limit]
    return WorkflowsPage(
        items=tuple(map(_line, shown)),
        next=shown[-1].record.workflow_id if len(found) > len(shown) else None,
        definitions=_definitions(premises),
    )


def show_workflow(premises: Premises, asks: WorkflowAsk) -> WorkflowPage:
    """One workflow: drawn with the state it stands in, its stays, what it knows, and what can be said to it."""
    workflow = known(premises, asks.workflow_id)
    record, here = workflow.record, current_state(workflow)
    newest = _newest(premises, record.workflow_type)
    outdated = newest is not None and digest(data_of(newest)) != digest(data_of(workflow.definition))
    return WorkflowPage(
        line=_line(workflow),
        definition=workflow.definition,
        outdated=outdated,
        offers=() if newest is None else tuple(each.state_id for each in newest.states),
        signals=() if here is None else tuple(dict.fromkeys(signals_of(here))),
        ways=() if here is None else tuple(dict.fromkeys(each.next_state for each in here.transitions)),
        visits=tuple(reversed(premises.store.visits(record.workflow_id))),
        drawing=drawing(workflow.definition, record.current_state, record.visits),
    )


def show_new(premises: Premises, asks: WorkflowNewAsk) -> WorkflowNewPage:
    """What a new workflow may follow."""
    readable = tuple(each for each in _definitions(premises) if each.fault is None)
    return WorkflowNewPage(definitions=readable, chosen=asks.type)


def show_definition(premises: Premises, asks: DefinitionAsk) -> DefinitionPage:
    """One definition of a workflow: drawn, with its states and ways."""
    catalog = premises.catalog()
    files = catalog.names("workflow").get(asks.name)
    if not files:
        raise Missing(f"no workflow is defined as `{asks.name}`", "/workflows shows all")
    definition: WorkflowDefinition = catalog.loaded("workflow", asks.name).record
    query = WorkflowQuery(statuses=CHOSEN["open"], workflow_type=definition.workflow_type, limit=20)
    return DefinitionPage(
        definition=definition,
        path=str(files[-1].path),
        layer=files[-1].layer.name,
        drawing=drawing(definition),
        items=tuple(map(_line, premises.store.workflows(query))),
    )


def _line(workflow: Workflow) -> WorkflowLine:
    return WorkflowLine(record=workflow.record, awaits=workflow.awaits, task_id=workflow.task_id, visit=workflow.visit)


def _definitions(premises: Premises) -> tuple[DefinitionLine, ...]:
    catalog = premises.catalog()
    return tuple(_defined(catalog, name) for name in sorted(catalog.names("workflow")))


def _defined(catalog: Catalog, name: str) -> DefinitionLine:
    try:
        record = catalog.loaded("workflow", name).record
    except AuthorError as error:
        return DefinitionLine(name=name, description=None, states=(), fault=error.message)
    states = tuple(each.state_id for each in record.states)
    return DefinitionLine(name=name, description=record.description, states=states, fault=None)


def _newest(premises: Premises, workflow_type: str) -> WorkflowDefinition | None:
    """The definition of a type as its file says it now; None where there is none, or none that can be read."""
    with suppress(KeiseiError):
        return premises.registry().workflow(workflow_type)
    return None


PAGES: Final[tuple[Page, ...]] = (
    page("/workflows", "workflows.html", show_workflows),
    page("/workflows/new", "workflow_new.html", show_new),
    page("/workflows/definitions/{name}", "workflow_definition.html", show_definition),
    page("/workflows/{workflow_id}", "workflow.html", show_workflow),
)
