"""The judge: one call against one policy, with this machine's paths, bash's grammar and the scripts of capabilities."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from keisei.gate.machine import Machine
from keisei.gate.shell import Parser
from keisei.records.effect import Effects, ToolCall
from keisei.rules.atom_call import meant
from keisei.rules.effect import effects
from keisei.rules.gate import Judgement, Verdict, judge
from keisei.rules.policy import Policy, Rule

SCRIPT_LIMIT_S: Final = 1.5

RunScript = Callable[[Rule, ToolCall, Policy], Verdict]
"""Runs one script gate. Never raises: what breaks is a verdict with the cause `error`."""


class Judge:
    """Judges calls. Safe to use from many threads."""

    def __init__(self, run_script: RunScript, parser: Parser | None = None) -> None:
        """`run_script` runs a capability's gate script; rules without scripts never ask for it."""
        self._run_script = run_script
        self._parser = parser or Parser()

    def judge(self, call: ToolCall, policy: Policy, environment: Mapping[str, str] | None = None) -> Judgement:
        """The judgement. `environment` is a user's own session: variables there may switch a rule off."""
        machine = self.machine(policy)
        call = meant(call, policy.atoms) if policy.atoms else call
        found = self.effects(call, policy, machine)
        active = _without_bypassed(policy, environment or {})
        return judge(active, call, found, machine.places, self._scripts(call, active))

    def machine(self, policy: Policy) -> Machine:
        """The world as this policy sees it."""
        return Machine(self._parser, policy.home, {"TMPDIR": policy.scratch[0]} if policy.scratch else {})

    def effects(self, call: ToolCall, policy: Policy, machine: Machine | None = None) -> Effects:
        """What the call would do."""
        cwd = call.cwd if call.cwd and call.cwd.startswith("/") else policy.worktree
        return effects(call, machine or self.machine(policy), cwd, policy.tools, policy.atoms)

    def _scripts(self, call: ToolCall, policy: Policy) -> dict[str, Verdict]:
        scripted = [rule for rule in policy.rules if rule.script is not None]
        if len(scripted) < 2:  # noqa: PLR2004 - one needs no company
            return {rule.capability: self._run_script(rule, call, policy) for rule in scripted}
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - few policies have scripts at all

        with ThreadPoolExecutor(len(scripted)) as pool:
            return dict(
                zip(
                    (rule.capability for rule in scripted),
                    pool.map(lambda rule: self._run_script(rule, call, policy), scripted),
                    strict=True,
                )
            )


def _without_bypassed(policy: Policy, environment: Mapping[str, str]) -> Policy:
    kept = [rule for rule in policy.rules if not (rule.bypass_env and environment.get(rule.bypass_env) == "1")]
    return policy if len(kept) == len(policy.rules) else _with_rules(policy, kept)


def _with_rules(policy: Policy, rules: Sequence[Rule]) -> Policy:
    from msgspec.structs import replace  # noqa: PLC0415 - only a bypassed rule needs it

    return replace(policy, rules=tuple(rules))
