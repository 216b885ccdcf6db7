"""The canary of one attempt: inside its own sandbox the hook command must refuse one call and allow another."""

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from keisei.gate.canary import Said, answered, questions
from keisei.records.error import WorldFault
from keisei.records.launch import Launch
from keisei.rules.policy import Policy
from keisei.sandbox.process import run
from keisei.wiring.alone import judge_here
from keisei.wiring.gate import without_scripts

PATIENCE_S: Final = 20.0
NEST: Final = "canary"
ASK: Final = "for n in {numbers}; do {hook} <$n.json >$n.out 2>$n.err; echo $? >$n.rc; done"


class Nest(NamedTuple):
    """Where the canary sings."""

    room: Path
    """A folder that both sides see."""
    cwd: Path
    """Where calls begin."""
    env: dict[str, str]
    confined: Callable[[Launch], Launch]
    """The same program inside the attempt's sandbox."""


def prove_hook(hook: tuple[str, ...], policy: Policy, nest: Nest) -> None:
    """Ask the hook command inside the sandbox. Raises WorldFault where it does not refuse, or refuses everything."""
    plain = without_scripts(policy)
    asked = questions(lambda call: judge_here().judge(call, plain), str(nest.cwd))
    folder = nest.room / NEST
    folder.mkdir(mode=0o700)
    try:
        for number, text in enumerate(asked):
            (folder / f"{number}.json").write_bytes(text)
        _sing(ASK.format(numbers=" ".join(map(str, range(len(asked)))), hook=shlex.join(hook)), folder, nest)
        answered([_said(folder, number) for number in range(len(asked))])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sing(script: str, folder: Path, nest: Nest) -> None:
    launch = Launch(argv=("/bin/sh", "-c", script), cwd=str(folder), env=nest.env, timeout_s=PATIENCE_S)
    done = run(nest.confined(launch))
    if done.code != 0:
        said = done.stderr.decode("utf-8", "replace").strip() or f"it ended with {done.code}"
        raise WorldFault(f"the sandbox does not start: {said}", "`keisei doctor` tells more")


def _said(folder: Path, number: int) -> Said:
    try:
        code = int((folder / f"{number}.rc").read_text())
        return Said(code, (folder / f"{number}.out").read_bytes(), (folder / f"{number}.err").read_bytes())
    except (OSError, ValueError) as error:
        raise WorldFault(f"the gate's hook left no answer inside the sandbox: {error}") from error
