"""`[identity.lookup]` of keisei.toml checked."""

from collections.abc import Iterator

from keisei.library.load import Loaded
from keisei.records.problem import Problem
from keisei.records.project import ProjectFile
from keisei.rules.identity_lookup import url_fault


def check_lookup(project: Loaded) -> Iterator[Problem]:
    """What the schema cannot say of it."""
    file: ProjectFile = project.record
    lookup = file.identity.lookup if file.identity is not None else None
    if lookup is None:
        return
    fault = url_fault(lookup.url)
    if fault is not None:
        message = f"the address cannot be asked: {fault}"
        yield project.document.problem("wrong-value", ("identity", "lookup", "url"), message)
    for key, pointer in (("name", lookup.name), ("registered-at", lookup.registered_at)):
        if pointer is not None and not pointer.startswith("/"):
            message = f"`{pointer}` is no JSON pointer"
            yield project.document.problem("wrong-value", ("identity", "lookup", key), message, "begin it with `/`")
