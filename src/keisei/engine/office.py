"""The office: what everything that makes tasks is done with."""

from collections.abc import Callable
from typing import NamedTuple

from keisei.engine.intake import Defaults, Registry
from keisei.engine.ports import Store


class Office(NamedTuple):
    """The rows, the authored files, and what is added to what people ask for."""

    store: Store
    registry: Callable[[], Registry]
    """The authored files, as they are whenever it is called."""
    defaults: Defaults
    """What a project gives to tasks that say nothing."""
    new_id: Callable[[], str]
    """Ids nobody has had."""
