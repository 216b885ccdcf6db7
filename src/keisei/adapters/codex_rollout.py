"""Codex's rollout files: what it writes down of every thread in its home, blocked calls and sub-agents included."""

from datetime import datetime

from keisei.adapters import transcript
from keisei.adapters.transcript import Calls, Unreadable, table
from keisei.records.attempt import Usage
from keisei.records.form import JsonObject


class Rollouts:
    """What counts in the rollout files, one for each thread, sub-agents included.

    A session that goes on keeps writing into its old file: lines from before this launch are another attempt's.
    """

    def __init__(self, since: datetime) -> None:
        self._since = since
        self.model: str | None = None
        self.unreadable = 0
        self.answers: dict[str, JsonObject] = {}
        self.calls = Calls()

    @property
    def usage(self) -> Usage | None:
        """The sum over every answer of a model; None where none is written down."""
        return sum_of(list(self.answers.values())) if self.answers else None

    def hear(self, data: bytes) -> None:
        """Note one file. A thread that was forked repeats its parent's lines; they count once."""
        for line in transcript.objects(data):
            self.unreadable += isinstance(line, Unreadable)
            payload = table(line.get("payload"))
            if _is_before(line.get("timestamp"), self._since):
                continue
            match line.get("type"):
                case "turn_context":
                    self.model = self.model or transcript.name(payload.get("model"))
                case "token_usage_record":
                    self.answers[str(payload.get("response_id"))] = table(payload.get("usage"))
                case "response_item" if str(payload.get("type")).endswith("_call"):
                    self.calls.add(payload.get("call_id") or payload.get("id"), _tool(payload))
                case _:
                    pass


def _is_before(timestamp: object, since: datetime) -> bool:
    """Whether a line is older. A time that cannot be read is taken for a new one, so that no call hides behind it."""
    try:
        return datetime.fromisoformat(str(timestamp)) < since
    except (ValueError, TypeError):
        return False


def _tool(payload: JsonObject) -> object:
    name, group = payload.get("name") or payload.get("type"), payload.get("namespace")
    return f"{group}__{name}" if isinstance(group, str) else name


def sum_of(answers: list[JsonObject]) -> Usage:
    """The sum of what answers used. Codex's input counts what came from the cache and went into it; ours does not."""
    keys = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens")
    whole, output, read_, written = (
        transcript.total([transcript.count(each.get(key)) for each in answers]) for key in keys
    )
    fresh = None if whole is None else max(0, whole - (read_ or 0) - (written or 0))
    return Usage(
        input_tokens=fresh, output_tokens=output, cache_read_tokens=read_, cache_write_tokens=written, cost_usd=None
    )
