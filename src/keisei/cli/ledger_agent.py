"""`keisei ledger fork|done|fail|merged|rejected|record-cost|agents|tree|descendants|validate`: agents, told of."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.body import checked_digest, digest_of
from keisei.cli.desk import desk, fields, speaker, stamp
from keisei.cli.output import emit_json, json_option, table
from keisei.records.error import OperatorError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.records.ledger import LedgerEntry
    from keisei.rules.ledger_agent import LedgerAgent
    from keisei.wiring.ledger_agents import Speaker

STATUSES = ("running", "done", "failed", "merged", "rejected")
ARTEFACTS = ("spec.md", "plan.md", "progress.json", "chatlog.md", "handoffs.md", "review.md")
PREFIX = "agent/"
MISSING = 2
MICRO = 1_000_000
"""Micro-cents of a cent."""
SPEC = 12
"""Characters of a sha256 that people are shown."""
DEEPEST = 40
"""Steps that a line of a tree is moved in at most; beyond it says how deep it stands."""
LARGEST = 9_007_199_254_740_991

actor_option = click.option("--actor", help="Who did it; by default you.")
amount = click.IntRange(0, LARGEST)


@click.command("fork")
@click.argument("agent_id")
@click.argument("branch", required=False)
@click.option("--spec", type=click.Path(path_type=Path), help="The task file; its sha256 is kept.")
@click.option("--spec-sha", help="The sha256 itself, where the file is elsewhere.")
@click.option("--base", help="The commit it starts from.")
@click.option("--parent", help="The agent, or branch, it was forked from.")
@click.option("--fork-parent", help="The agent, or its DNA, that it is a copy of.")
@click.option("--role", help="Its role.")
@click.option("--dna", help="Its DNA, as `prepare` prints it.")
@click.option("--worktree", help="Where it works.")
@click.option("--creator", help="Who asked for it.")
@actor_option
@json_option
def fork(agent_id: str, actor: str | None, spec: Path | None, spec_sha: str | None, as_json: bool, **told: str) -> int:
    """Write that an agent was forked. A row `agent_forked` about AGENT_ID, which is used once."""
    from keisei.wiring.ledger_agents import fork as write

    if spec is not None and spec_sha is not None:
        raise click.UsageError("--spec and --spec-sha say the same: give one of them")
    digest = digest_of(spec) if spec is not None else None if spec_sha is None else checked_digest(spec_sha)
    with desk() as opened:
        row = write(opened.store, _speaker(actor), agent_id, {"spec_sha256": digest, **told})
    branch = f" -> {told['branch']}" if told["branch"] else ""
    return _say(row, f"forked {agent_id}{branch}", as_json=as_json)


@click.command("done")
@click.argument("agent_id")
@click.option("--summary", required=True, help="What was done, in a few words.")
@actor_option
@json_option
def done(agent_id: str, summary: str, actor: str | None, as_json: bool) -> int:
    """Write that a running agent has done its work."""
    return _end(agent_id, "agent_done", {"summary": summary}, actor, as_json=as_json)


@click.command("fail")
@click.argument("agent_id")
@click.option("--reason", required=True, help="Why it failed.")
@actor_option
@json_option
def fail(agent_id: str, reason: str, actor: str | None, as_json: bool) -> int:
    """Write that a running agent has failed."""
    return _end(agent_id, "agent_failed", {"reason": reason}, actor, as_json=as_json)


@click.command("merged")
@click.argument("agent_id")
@actor_option
@json_option
def merged(agent_id: str, actor: str | None, as_json: bool) -> int:
    """Write that an agent's work was merged. It must be done, or have failed."""
    return _end(agent_id, "agent_merged", {}, actor, as_json=as_json)


@click.command("rejected")
@click.argument("agent_id")
@click.option("--reason", help="Why it is not wanted.")
@actor_option
@json_option
def rejected(agent_id: str, reason: str | None, actor: str | None, as_json: bool) -> int:
    """Write that an agent's work was rejected. Before its end or after."""
    return _end(agent_id, "agent_rejected", {} if reason is None else {"reason": reason}, actor, as_json=as_json)


@click.command("record-cost")
@click.argument("agent_id")
@click.option("--cents", type=click.IntRange(0, LARGEST // MICRO), default=0, help="Whole cents.")
@click.option("--micro-cents", type=amount, default=0, help="Millionths of a cent, besides the cents.")
@click.option("--tokens-in", type=amount, help="Tokens that were sent.")
@click.option("--tokens-out", type=amount, help="Tokens that came back.")
@click.option("--provider", help="Who was paid.")
@click.option("--model", help="The model.")
@actor_option
@json_option
def record_cost(agent_id: str, cents: int, micro_cents: int, actor: str | None, as_json: bool, **told: Any) -> int:  # noqa: ANN401 - click's
    """Write what an agent has cost. It adds to what was recorded before; prints what that comes to, as JSON."""
    from msgspec import to_builtins

    from keisei.wiring.ledger_agents import cost_of
    from keisei.wiring.ledger_agents import record_cost as write

    body = {"cost_micro_cents": cents * MICRO + micro_cents, **told}
    with desk() as opened:
        row = write(opened.store, _speaker(actor), agent_id, {k: v for k, v in body.items() if v is not None})
        total = to_builtins(cost_of(opened.store, agent_id)) or {}
    say_redacted(row)
    cents_told = total.get("micro_cents", 0) // MICRO
    answer = {"ok": True, "agent_id": agent_id, "row": row.seq, "total_cost_cents": cents_told, "total": total}
    if as_json:
        emit_json(answer)
    else:
        click.echo(json.dumps(answer, ensure_ascii=True))
    return 0


status_option = click.option("--status", type=click.Choice(STATUSES), help="Only those that stand there.")


@click.command("agents")
@status_option
@json_option
def agents(status: str | None, as_json: bool) -> int:
    """Every agent, in the order of their forks. By hand and of the engine; tab-separated, with parent and spec."""
    return list_agents(status, as_json=as_json)


def list_agents(status: str | None, *, as_json: bool) -> int:
    """Every agent, or those of a status."""
    from keisei.wiring.ledger_agents import every_agent

    with desk() as opened:
        found = [each for each in every_agent(opened.store).values() if status in (None, each.status)]
    return _tell(found, as_json=as_json)


def _tell(found: "list[LedgerAgent]", *, as_json: bool) -> int:
    from keisei.wiring.ledger_agents import agent_data

    if as_json:
        emit_json([agent_data(each) for each in found])
        return 0
    for each in found:
        click.echo("\t".join(_cells(each)))
    if not found:
        click.echo("(no agents)")
    return 0


@click.command("descendants")
@click.argument("dna")
@json_option
def descendants(dna: str, as_json: bool) -> int:
    """Every agent that comes from one with this DNA, by copy or by fork, in the columns of `agents`."""
    from keisei.rules.ledger_agent import descendants as below
    from keisei.wiring.ledger_agents import every_agent

    with desk() as opened:
        found = below(every_agent(opened.store), dna)
    return _tell(found, as_json=as_json)


@click.command("tree")
@click.argument("agent_id", required=False)
@json_option
def tree(agent_id: str | None, as_json: bool) -> int:
    """Who was forked from whom. With AGENT_ID, that agent and those below it."""
    from keisei.rules.ledger_agent import tree as lines_of
    from keisei.wiring.ledger_agents import agent_data, every_agent

    with desk() as opened:
        known = every_agent(opened.store)
    if agent_id is not None and agent_id not in known:
        raise OperatorError(f"no agent has the id `{agent_id}`", "`keisei ledger agents` shows all")
    lines = lines_of(known, agent_id)
    if as_json:
        emit_json([{"depth": each.depth, **agent_data(each.agent)} for each in lines])
        return 0
    for depth, agent in lines:
        mark = f"({depth} deep) " if depth > DEEPEST else ""
        name, branch = printable(agent.agent_id), printable(agent.branch or "-")
        click.echo(f"{'  ' * min(depth, DEEPEST)}{mark}{name} [{agent.status}] branch={branch}")
    return 0


@click.command("validate")
@click.argument("branch")
@click.option(
    "--repo-root", type=click.Path(path_type=Path), default=Path(), help="The repository; by default this folder."
)
def validate(branch: str, repo_root: Path) -> int:
    """Check that an agent left its six files.

    They stand under .claude/agents/<agent-id>/; exit 2 names those that are missing.
    BRANCH is `agent/<agent-id>`, or the agent's id.
    """
    from keisei.rules.agent_id import fault

    agent_id = branch.removeprefix(PREFIX)
    if (why := fault(agent_id)) is not None:
        raise OperatorError(f"`{agent_id}` cannot be an agent's id: it {why}", f"name {PREFIX}AGENT_ID, or AGENT_ID")
    folder = repo_root / ".claude" / "agents" / agent_id
    missing = [name for name in ARTEFACTS if not _is_file(folder / name)]
    if not missing:
        click.echo(f"OK: all {len(ARTEFACTS)} artefacts present for {agent_id}")
        return 0
    click.echo(f"MISSING for {agent_id}:", err=True)
    for name in missing:
        click.echo(f"  - {name}", err=True)
    return MISSING


def show_agent(agent_id: str, *, as_json: bool) -> bool:
    """One agent, with the rows about it. False where nobody knows it."""
    from keisei.contracts.check import data_of
    from keisei.wiring.ledger_agents import agent_data, one_agent

    with desk() as opened:
        found = one_agent(opened.store, agent_id)
    if found is None:
        return False
    agent, rows = found
    told = agent_data(agent)
    if as_json:
        emit_json({**told, "rows": [data_of(each) for each in rows]})
        return True
    fields({**told, "cost": told["cost"] if agent.cost.rows else None})
    click.echo()
    table(("row", "time", "kind", "source", "actor", "subject"), [line(each) for each in rows])
    return True


def line(entry: "LedgerEntry") -> tuple[object, ...]:
    """A row of the ledger as a row of a table."""
    names = (printable(name) for name in (entry.kind, entry.source, entry.actor, entry.subject))
    return entry.seq, stamp(entry.recorded_at), *names


def _end(agent_id: str, kind: str, words: dict[str, str], actor: str | None, *, as_json: bool) -> int:
    from keisei.wiring.ledger_agents import end

    with desk() as opened:
        row = end(opened.store, _speaker(actor), agent_id, kind, words)
    return _say(row, f"{kind.removeprefix('agent_')} {agent_id}", as_json=as_json)


def _say(row: "LedgerEntry", done: str, *, as_json: bool) -> int:
    from keisei.contracts.check import data_of

    say_redacted(row)
    if as_json:
        emit_json(data_of(row))
    else:
        click.echo(f"{printable(done)}: row {row.seq}")
    return 0


def say_redacted(row: "LedgerEntry") -> None:
    """Tell on stderr what was taken out of a row before it was written; nothing where nothing was."""
    from keisei.rules.ledger_redact import marked

    if names := marked(row.body):
        told = printable(", ".join(names)[:200])
        click.echo(f"note: what looks like a secret was taken out of row {row.seq}: {told}", err=True)


def _speaker(actor: str | None) -> "Speaker":
    from keisei.wiring.ledger_agents import Speaker

    return Speaker(speaker(actor))


def _cells(agent: "LedgerAgent") -> tuple[str, ...]:
    """The columns of the originals."""
    told = (agent.agent_id, agent.status, agent.branch or "-", str(int(agent.started_at.timestamp())))
    spec = (agent.spec_sha256 or "-")[:SPEC]
    return *map(printable, told), f"parent={printable(agent.parent or '-')}", f"spec={printable(spec)}"


def _is_file(path: Path) -> bool:
    """Whether a regular file stands there; what a link leads to is not looked at."""
    import stat

    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False
