"""kei-agent::cancel."""

from kei_agent.context import Context, Data
from keisei.wiring.agency import open_agency
from keisei.wiring.agent_verb import cancel
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """End a task. Raises UnknownTask, NotAllowed, Over."""
    with coded(context.error), open_agency() as agency:
        return cancel(agency, given["task_id"], given.get("reason", ""))
