"""Task types checked: the payload schema can be used, and everything they name exists."""

from collections.abc import Iterator

from keisei.contracts.registry import RECORDS
from keisei.contracts.registry import schema_id as full_id
from keisei.contracts.words import nearest
from keisei.library.catalog import Catalog
from keisei.library.json_schema import schema_problems
from keisei.library.load import Loaded
from keisei.library.profile import skill_problems
from keisei.library.project import unknown_adapter
from keisei.library.shelf import Found
from keisei.records.error import AuthorError
from keisei.records.problem import Problem
from keisei.records.task_type import TaskTypeSpec


def check_task_type(catalog: Catalog, found: Found, loaded: Loaded) -> Iterator[Problem]:
    """Everything that would refuse an intent of this type."""
    spec: TaskTypeSpec = loaded.record
    document = loaded.document
    if spec.task_type != found.name:
        message = f"task_type `{spec.task_type}` differs from the file `{found.path.name}`"
        yield document.problem("bad-name", ("task_type",), message)
    yield from _payload(loaded, spec.payload_schema_id)
    if spec.default_profile_id and catalog.found("profile", spec.default_profile_id) is None:
        hint = nearest(spec.default_profile_id, list(catalog.names("profile")))
        message = f"profile `{spec.default_profile_id}` does not exist"
        yield document.problem("dangling", ("default_profile_id",), message, hint)
    yield from _adapter(catalog, loaded, spec.default_adapter_id)
    yield from skill_problems(catalog, spec.allowed_skill_ids or (), ("allowed_skill_ids",), document)


def _adapter(catalog: Catalog, loaded: Loaded, name: str | None) -> Iterator[Problem]:
    try:
        if name is not None and name not in catalog.adapters:
            message, hint = unknown_adapter(name, catalog.adapters)
            yield loaded.document.problem("dangling", ("default_adapter_id",), message, hint)
    except AuthorError:
        return  # told with keisei.toml


def _payload(loaded: Loaded, schema_id: str) -> Iterator[Problem]:
    document = loaded.document
    if schema_id.startswith("agent-runtime/"):
        known = [full_id(each) for each in RECORDS]
        if schema_id not in known:
            hint = nearest(schema_id, known)
            yield document.problem(
                "dangling", ("payload_schema_id",), f"no published schema is called `{schema_id}`", hint
            )
        return
    yield from schema_problems(document, ("payload_schema_id",), document.source.path.parent, schema_id)
