"""`keisei constitution`: what an agent carries as its constitution, what is proposed, and what you accept of it."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.constitution_read import (
    VERBS,
    of_agent,
    proposal_option,
    told_acceptance,
    told_proposal,
)
from keisei.cli.desk import WORDS, desk, operator, reason_option
from keisei.cli.output import emit_json
from keisei.cli.surroundings import open_catalog
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.cli.desk import Desk
    from keisei.wiring.constitution_proposal import Archive


class Seen(click.ParamType[tuple[str, str]]):
    """Two hashes, as `constitution diff` tells them: no shorter ones, which other texts could be made for."""

    name = "soul,purpose"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:  # noqa: ANN401 - click's
        """The sha256 of soul and of purpose. Fails for anything else."""
        parts = str(value).strip().lower().split(",")
        if len(parts) != 2 or not all(re.fullmatch("[0-9a-f]{64}", each) for each in parts):  # noqa: PLR2004 - soul, purpose
            self.fail("say the sha256 of soul and purpose, with a comma between them", param, ctx)
        return parts[0], parts[1]


SEEN = Seen()


@click.group("constitution", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Constitutions: SOUL.md and PURPOSE.md of an agent. Agents may propose another; only you accept it."""


@group.command("propose")
@of_agent
@click.option("--soul", type=click.Path(path_type=Path), help="A file with what SOUL.md should say.")
@click.option("--purpose", type=click.Path(path_type=Path), help="A file with what PURPOSE.md should say.")
@click.option("--reason", type=WORDS, required=True, help="Why; stands in the ledger.")
def propose(  # noqa: PLR0913, PLR0917 - one argument an option
    agent: str, soul: Path | None, purpose: Path | None, reason: str, kit_root: Path | None, as_json: bool
) -> int:
    """Propose another text. No file of the agent changes; a row of the ledger says what is wanted, by hash."""
    from keisei.library.source import read_raw
    from keisei.wiring.constitution import constitution
    from keisei.wiring.constitution_proposal import Wish
    from keisei.wiring.constitution_proposal import propose as made
    from keisei.wiring.identity import agent_of, fitting

    if soul is None and purpose is None:
        raise click.UsageError("say --soul FILE, --purpose FILE or both")
    who = operator("propose with the atom kei-agent::propose-constitution")
    catalog = open_catalog(kit_root)
    authored = fitting(catalog, agent_of(catalog, agent))
    texts = [None if path is None else read_raw(path) for path in (soul, purpose)]
    wish = Wish(texts[0], texts[1], reason)
    with desk() as opened:
        done = made(authored.loaded, wish, _archive(opened), who)
    if as_json:
        emit_json(told_proposal(done, constitution(authored.loaded)))
    else:
        click.echo(f"proposal {done.seq}: `keisei constitution diff {printable(agent)} --proposal {done.seq}` shows it")
    return 0


@group.command("accept")
@of_agent
@proposal_option(required=False)
@click.option("--version", type=WORDS, help="The version it bears from now on; for a proposal by default the next.")
@click.option("--anyway", is_flag=True, help="Even where the files changed since the proposal was made.")
@click.option(
    "--seen", type=SEEN, help="SOUL,PURPOSE: the sha256 of both as `diff` told them; nothing else is accepted."
)
@reason_option
def accept(  # noqa: PLR0913, PLR0917 - one argument an option
    agent: str,
    seq: int | None,
    version: str | None,
    anyway: bool,
    seen: tuple[str, str] | None,
    reason: str,
    kit_root: Path | None,
    as_json: bool,
) -> int:
    """Accept a proposal, which is then written into the agent's files; or what stands in the files.

    Without --proposal no file changes, unless --version says another mark. The answer says what was accepted, by hash;
    with --seen it is what you have read, or nothing.
    """
    from keisei.wiring.constitution_order import Consent, accept_proposal, accept_standing
    from keisei.wiring.constitution_proposal import known_proposal
    from keisei.wiring.identity import agent_of

    who = operator("an operator accepts; an attempt only proposes")
    catalog = open_catalog(kit_root)
    authored = agent_of(catalog, agent)
    with desk() as opened:
        archive, how = _archive(opened), Consent(who, opened.store.now(), version, anyway, reason, seen)
        if seq is None:
            done = accept_standing(catalog, authored, archive, how)
        else:
            done = accept_proposal(catalog, authored, known_proposal(opened.store, agent, seq), archive, how)
    if as_json:
        emit_json(told_acceptance(done))
    else:
        hashes = f"soul {done.soul_sha256[:12]}, purpose {done.purpose_sha256[:12]}"
        click.echo(printable(f"accepted {agent} version {done.version}: {hashes}, row {done.seq}"))
    return 0


@group.command("reject")
@of_agent
@proposal_option(required=True)
@reason_option
def reject(agent: str, seq: int, reason: str, kit_root: Path | None, as_json: bool) -> int:
    """Reject a proposal. No file changes."""
    from keisei.contracts.check import data_of
    from keisei.wiring.constitution_proposal import known_proposal
    from keisei.wiring.constitution_proposal import reject as refuse
    from keisei.wiring.identity import agent_of

    who = operator("an operator rejects; an attempt only proposes")
    agent_of(open_catalog(kit_root), agent)
    with desk() as opened:
        row = refuse(known_proposal(opened.store, agent, seq), reason, _archive(opened), who)
    if as_json:
        emit_json(data_of(row))
    else:
        click.echo(f"rejected proposal {seq} of {printable(agent)}, row {row.seq}")
    return 0


def _archive(opened: "Desk") -> "Archive":
    from keisei.wiring.constitution_proposal import Archive

    return Archive(opened.store, opened.home.folder)


for _verb in VERBS:
    group.add_command(_verb)
