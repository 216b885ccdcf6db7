"""`keisei budget`: what may be spent today, what was, and what you allow beside it."""

from typing import TYPE_CHECKING

import click

from keisei.cli.desk import WORDS, actor, desk, grid, known_task, reason_option
from keisei.cli.output import emit_json, json_option
from keisei.records.error import KeiseiError, OperatorError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.engine.budget import Balance
    from keisei.records.budget import Amount, BudgetPolicy

UNKNOWN = "unknown"


@click.group("budget", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Budgets: what may be spent today, what was, and what you allow beside it. Days are UTC days."""


@group.command("show")
@json_option
def show(as_json: bool) -> int:
    """Every limit of today and what is left of it; who spent without a limit stands there too."""
    import msgspec

    from keisei.engine.budget import policy_of, spending
    from keisei.rules.budget import day_name

    with desk() as opened:
        now = opened.store.now()
        policy = policy_of(opened.home.file.budget)
        rows = spending(opened.store, policy, now)
        strangers = _strangers(policy)
    for each in strangers:
        click.echo(f"warning: {printable(each)}: this limit of keisei.toml holds for nobody", err=True)
    if as_json:
        limit = msgspec.to_builtins(policy.task) if policy is not None else None
        emit_json({"day": day_name(now), "task_limit": limit, "balances": msgspec.to_builtins(rows)})
        return 0
    click.echo(f"{day_name(now)} UTC")
    grid(("of", "unit", "limit", "granted", "spent", "reserved", "unaccounted", "left"), _lines(rows))
    if policy is not None and (policy.task.usd is not None or policy.task.tokens is not None):
        click.echo(f"a task that names no budget may spend {_limit(policy.task)}")
    return 0


def _strangers(policy: "BudgetPolicy | None") -> list[str]:
    """Limits for an adapter or an agent that nobody has defined; none where the files cannot be read."""
    from keisei.cli.surroundings import open_catalog

    if policy is None or not (policy.adapters or policy.agents):
        return []
    try:
        catalog = open_catalog(None)
        adapters = [f"no adapter is called `{each}`" for each in policy.adapters if each not in catalog.adapters]
        return adapters + [f"no agent is called `{each}`" for each in policy.agents if not catalog.found("agent", each)]
    except KeiseiError:
        return []


def _lines(rows: "list[Balance]") -> list[tuple[object, ...]]:
    return [line for row in rows for line in (_money(row), _tokens(row))]


def _money(row: "Balance") -> tuple[object, ...]:
    return (
        row.scope,
        "usd",
        _usd(row.limit.usd, "-"),
        _usd(row.granted.usd, "-"),
        _spent(_usd(row.spent.usd, UNKNOWN), row.spent.usd is not None and bool(row.unpriced)),
        _usd(row.reserved.usd, "-"),
        _usd(row.unknown.usd, "-"),
        _usd(row.left.usd, "-"),
    )


def _tokens(row: "Balance") -> tuple[object, ...]:
    return (
        row.scope,
        "tokens",
        _count(row.limit.tokens, "-"),
        _count(row.granted.tokens, "-"),
        _spent(_count(row.spent.tokens, UNKNOWN), row.spent.tokens is not None and bool(row.uncounted)),
        _count(row.reserved.tokens, "-"),
        _count(row.unknown.tokens, "-"),
        _count(row.left.tokens, "-"),
    )


def _spent(known: str, more: bool) -> str:
    """What is known, and that there is more of which nobody knows."""
    return f"{known} + {UNKNOWN}" if more else known


def _usd(amount: float | None, none: str) -> str:
    return none if amount is None else f"{amount:.4f}".rstrip("0").rstrip(".")


def _count(amount: int | None, none: str) -> str:
    return none if amount is None else f"{amount:,}"


def _limit(amount: "Amount") -> str:
    parts = [f"{_usd(amount.usd, '')} usd" * (amount.usd is not None)]
    parts.append(f"{_count(amount.tokens, '')} tokens" * (amount.tokens is not None))
    return " and ".join(filter(None, parts))


@group.command("grant")
@click.option("--day", "day", is_flag=True, help="For everything, today.")
@click.option("--agent", type=WORDS, help="For this agent, today.")
@click.option("--adapter", type=WORDS, help="For this adapter, today.")
@click.option("--task", "task_id", type=WORDS, help="For this task, for good.")
@click.option("--usd", type=click.FloatRange(min=0, max=1e9), help="US dollars more.")
@click.option("--tokens", type=click.IntRange(min=0, max=10**15), help="Tokens more.")
@reason_option
@json_option
def grant(  # noqa: PLR0913, PLR0917 - one argument an option
    day: bool,
    agent: str | None,
    adapter: str | None,
    task_id: str | None,
    usd: float | None,
    tokens: int | None,
    reason: str,
    as_json: bool,
) -> int:
    """Allow more beside a limit; what waits for it is looked at again."""
    import msgspec

    from keisei.engine.budget import grant as allow
    from keisei.engine.budget import policy_of
    from keisei.records.budget import Amount
    from keisei.wiring.fresh import new_id

    named = {"agent": agent, "adapter": adapter, "task": task_id}
    scopes = ["day"] * day + [f"{kind}:{name}" for kind, name in named.items() if name is not None]
    if len(scopes) != 1:
        raise OperatorError("give one of --day, --agent, --adapter, --task", "each grant is for one limit")
    if not (usd or tokens):
        raise OperatorError("nothing is granted", "name an amount above 0 with --usd, --tokens or both")
    with desk() as opened:
        if task_id is not None:
            known_task(opened.store, task_id)
        amount = Amount(usd=usd, tokens=tokens)
        _check_limit(policy_of(opened.home.file.budget), scopes[0], amount)
        made = allow(opened.store, scopes[0], amount, reason=reason or "granted", actor=actor(), grant_id=new_id())
    if as_json:
        emit_json(msgspec.to_builtins(made))
    else:
        until = "for good" if made.day is None else f"for {made.day} UTC"
        click.echo(f"{made.scope} granted {_limit(amount)} {until}")
    return 0


def _check_limit(policy: "BudgetPolicy | None", scope: str, amount: "Amount") -> None:
    """Raises OperatorError for a grant that adds to nothing. What a task may spend is not known here."""
    from keisei.records.budget import Amount, BudgetPolicy
    from keisei.records.id import AdapterId, AgentId

    limits = policy or BudgetPolicy()
    kind, _, name = scope.partition(":")
    if kind == "task":
        return
    limit = {
        "day": limits.day,
        "agent": limits.agents.get(AgentId(name), Amount()),
        "adapter": limits.adapters.get(AdapterId(name), Amount()),
    }[kind]
    if not ((amount.usd and limit.usd is not None) or (amount.tokens and limit.tokens is not None)):
        unit = " and ".join(["usd"] * bool(amount.usd) + ["tokens"] * bool(amount.tokens))
        raise OperatorError(f"`{scope}` has no limit in {unit} to add to", "`keisei budget show` lists the limits")
