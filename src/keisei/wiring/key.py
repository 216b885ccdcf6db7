"""The key of a model's server: where an adapter's is, asked before anything is begun that would need it."""

from collections.abc import Mapping
from pathlib import Path

from keisei.adapters.upstream import EXPECTED, upstream_of
from keisei.records.adapter import AdapterConfig
from keisei.records.error import OperatorError
from keisei.records.relay import Upstream
from keisei.wiring.choose import kind_of
from keisei.wiring.surroundings import surroundings


def server_of(config: AdapterConfig, env: Mapping[str, str]) -> Upstream:
    """The model's server that a harness is relayed to. Raises OperatorError where its variables name none."""
    found = upstream_of(config, env)
    if found is None:
        raise OperatorError(
            f"adapter `{config.adapter_id}` names neither a key nor an address of its model's server",
            f"write a line `{EXPECTED[kind_of(config)]}=...` into a file of mode 0600, and name it as its `env_file`",
        )
    return found


def check_key(config: AdapterConfig, root: Path | None) -> None:
    """Raise OperatorError where a harness finds no model: no key, an env_file that is missing or open to others."""
    if kind_of(config) in EXPECTED:
        server_of(config, surroundings(config, {}, root).env)
