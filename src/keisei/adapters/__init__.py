"""Adapters: what each harness is told, and what its end means. A launch out, a report in.

Owns: nothing. Touches: nothing; whoever asks writes the files a launch needs, runs it and reads what it left. Leaves to
others: running (sandbox/), the gate's settings (hooks/), what a report is worth (rules/outcome).
"""

from keisei.adapters import claude_code, codex, hermes, ollama, script
from keisei.adapters.port import Adapter
from keisei.records.error import OperatorError

ADAPTERS: dict[str, Adapter] = {each.kind: each for each in (claude_code, codex, hermes, ollama, script)}
"""Every adapter by its kind."""


def adapter_of(kind: str) -> Adapter:
    """The adapter of a kind. Raises OperatorError for a kind that nobody wrote."""
    if kind not in ADAPTERS:
        raise OperatorError(f"no adapter of kind `{kind}`", f"known kinds: {', '.join(ADAPTERS)}")
    return ADAPTERS[kind]
