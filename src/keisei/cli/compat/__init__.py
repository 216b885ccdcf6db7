"""`keisei compat`: the original's verbs on its runtime.json, in its shapes; each imported when it is called."""

from importlib import import_module

import click

VERBS = {
    "adapters": ("health", "Whether each adapter is in order; --probe follows the fallbacks."),
    "bridge-discord": ("bridge", "Queue a reply to a Discord event."),
    "bridge-github": ("bridge", "Queue a story of a GitHub event."),
    "healthcheck": ("health", "Whether the configuration, its profiles and its adapters are in order."),
    "import": ("legacy", "Take over tasks, workflows, schedules and sensor events of a runtime.db."),
    "intake": ("task", "Queue one task."),
    "report": ("snapshot", "What happened between two snapshots."),
    "run-once": ("task", "Run one task, if there is one."),
    "schedule-create": ("schedule", "Make or change a schedule."),
    "schedule-tick": ("schedule", "Queue what is due."),
    "seed-backlog": ("backlog", "Queue the workflows and tasks of a file, each once."),
    "sensor-event": ("sensor", "Record an event, with the work it proposes."),
    "snapshot": ("snapshot", "Write down how things stand."),
    "status": ("task", "Counts, the tasks that changed last, the last event."),
    "workflow-complete": ("workflow", "End a workflow as completed."),
    "workflow-create": ("workflow", "Begin a workflow."),
    "workflow-list": ("workflow", "Workflows that are not completed."),
    "workflow-show": ("workflow", "One workflow."),
    "workflow-unblock": ("workflow", "Let a blocked workflow ask again."),
    "workflow-transition": ("workflow", "Move a workflow to a state that its state leads to."),
}
"""Each verb with the module that has it and its line of help."""


class VerbGroup(click.Group):
    """A group whose help needs no import."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Every verb."""
        return sorted(VERBS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb, imported now."""
        if cmd_name not in VERBS:
            return None
        module = import_module(f"keisei.cli.compat.{VERBS[cmd_name][0]}")
        found: click.Command = getattr(module, cmd_name.replace("-", "_").replace("import", "import_runtime"))
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs, from the table and not from the modules."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, VERBS[name][1]) for name in self.list_commands(ctx)])


@click.group("compat", cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """The original's verbs on its runtime.json: its shapes, our engine."""
