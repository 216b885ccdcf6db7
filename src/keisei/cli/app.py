"""`keisei` itself: the commands by name, each imported only when it is called."""

import click

from keisei import __version__
from keisei.cli.lazy import LazyGroup

COMMANDS = {
    "adapter": ("keisei.cli.adapter:group", "How harnesses are reached: list, show, probe, reset."),
    "agent": ("keisei.cli.agent:group", "Compose, prepare, spawn and run agents; show durable ones."),
    "atom": ("keisei.cli.atom:group", "What can be done, verb by verb: list, show, invoke, new, test."),
    "approval": ("keisei.cli.approval:group", "What needs you: list, show, approve, reject, answer."),
    "attempt": ("keisei.cli.attempt:group", "Runs of tasks and the evidence they left: list, show, log."),
    "budget": ("keisei.cli.budget:group", "What may be spent and what was: show, grant."),
    "capability": ("keisei.cli.capability:group", "List, show, make, fork and test capabilities."),
    "compat": ("keisei.cli.compat:group", "The original's verbs on its runtime.json."),
    "completion": ("keisei.cli.completion:command", "Print the completion script of a shell."),
    "console": ("keisei.cli.console:group", "Pages to watch, steer and author: serve, link, token, rotate."),
    "constitution": ("keisei.cli.constitution:group", "What agents carry: show, propose, accept, diff, history."),
    "demo": ("keisei.cli.demo:command", "See it at work: a play of a hostile agent and a good one."),
    "doctor": ("keisei.cli.doctor:command", "Whether this machine can run agents, and what is missing."),
    "down": ("keisei.cli.up:down", "Stop what `keisei up` keeps running, and wait for it."),
    "event": ("keisei.cli.event:group", "What happened, line by line: list, tail, export."),
    "evidence": ("keisei.cli.evidence:group", "What can be proved of an attempt: show, export, verify."),
    "forge": ("keisei.cli.forge:command", "Make an atom in a page, linted and tried before it is written."),
    "gate": ("keisei.cli.gate:group", "Judge tool calls before they happen, alone or by a service."),
    "gc": ("keisei.cli.gc:command", "What is left over and may go: preview, --yes removes."),
    "hooks": ("keisei.cli.hooks:group", "The gate in the settings of Claude Code and Codex."),
    "identity": ("keisei.cli.identity:group", "Who agents are: list, show, init, card, did, erc8004."),
    "land": ("keisei.cli.land:group", "Verified work on its way to main: list, approve, revert."),
    "ledger": ("keisei.cli.ledger:group", "What must be provable: list, tree, verify, prove, export."),
    "lint": ("keisei.cli.lint:command", "Check authored files; every problem at once."),
    "mcp": ("keisei.cli.mcp:group", "Atoms as tools for agents and editors: serve, config."),
    "outbox": ("keisei.cli.outbox:group", "What leaves the house: list, show, retry, drop."),
    "pipe": ("keisei.cli.pipe:group", "Atoms in order: plan, run, resume, show, graph."),
    "profile": ("keisei.cli.profile:group", "List and show profiles."),
    "replay": ("keisei.cli.replay:command", "An attempt once more: what has drifted since."),
    "role": ("keisei.cli.role:group", "List, show, compare and document roles."),
    "run": ("keisei.cli.run:command", "Give one agent one instruction, and wait for the outcome."),
    "runner": ("keisei.cli.runner:group", "Run tasks; pause, resume, drain and stop runners."),
    "sage": ("keisei.cli.sage:group", "What is authored: search, related, rank-atoms, graph, watch."),
    "schedule": ("keisei.cli.schedule:group", "When work begins by itself: add, list, show, pause, delete."),
    "schema": ("keisei.cli.schema:group", "Published schemas, and locks: list, check, diff, lock."),
    "sensor": ("keisei.cli.sensor:group", "What begins work when something happens: list, run, serve."),
    "skill": ("keisei.cli.skill:group", "List and show skills."),
    "task": ("keisei.cli.task:group", "Queue work, see it, steer it."),
    "task-type": ("keisei.cli.task_type:group", "List and show task types."),
    "up": ("keisei.cli.up:command", "Keep runner, console and Sage's watch running."),
    "wallet": ("keisei.cli.wallet:group", "Wallets of agents, watched only: add, list, verify."),
    "workflow": ("keisei.cli.workflow:group", "Many tasks in order: list, show, create, instances, steer."),
}


SECTIONS = {
    "Let work begin": ("task", "schedule", "sensor", "workflow"),
    "Run it": ("adapter", "budget", "console", "demo", "doctor", "down", "gc", "run", "runner", "up"),
    "See what came of it, and decide": (
        "approval",
        "attempt",
        "event",
        "evidence",
        "land",
        "ledger",
        "outbox",
        "replay",
    ),
    "Judge tool calls": ("gate", "hooks"),
    "Write": (
        "agent",
        "capability",
        "constitution",
        "forge",
        "identity",
        "lint",
        "profile",
        "role",
        "schema",
        "skill",
        "task-type",
        "wallet",
    ),
    "Call atoms": ("atom", "mcp", "pipe", "sage"),
    "More": ("compat", "completion"),
}
"""Every command in the help, once, under what it is for."""


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="keisei", message="%(prog)s %(version)s")
def app() -> None:
    """Run coding agents unattended, and believe none of them."""
