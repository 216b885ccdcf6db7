"""`kei-capability check` and `keisei gate check`: one call judged here and now, without a service.

Whatever goes wrong is a refusal: JSON on stdout, the reason on stderr, exit 2. A hook that dies must not let a call
through, so nothing here leaves through the ordinary door.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from keisei.contracts.hook import answer, read_call
from keisei.records.effect import ToolCall
from keisei.records.error import KeiseiError
from keisei.settings import Settings, read_settings

LARGEST = 4 * 1024 * 1024
HOOK = "agent-capability-check"
"""The originals' name of this hook, in KEI_DISABLED_HOOKS."""

Judging = Callable[[ToolCall, Settings], tuple[bool, str | None, tuple[str, ...]]]
"""Whether the call is allowed, the reason where not, and what else to say on stderr."""


def main(words: list[str]) -> int:
    """`kei-capability check [--in DIR] [NAME ...]`. Without a name KEI_CAPABILITY_NAME says which; unset passes."""
    settings = read_settings()
    pinned = Path(words[1]) if words[:1] == ["--in"] and len(words) > 1 else None
    words = words[2:] if pinned is not None else words
    unknown = next((word for word in words if word.startswith("-")), None)
    if unknown is not None:
        return _say(None, "claude", allowed=False, reason=f"keisei gate: `check` has no option `{unknown}`")
    names = tuple(words) or _from_environment(settings)
    if not names:
        return 0
    return judged(lambda call, settings: _by_capabilities(names, call, settings, pinned), "claude")


def _from_environment(settings: Settings) -> tuple[str, ...]:
    switched_off = settings.disabled_hooks & {"all", HOOK, f"{HOOK}.sh"} or settings.hook_profile == "minimal"
    return () if switched_off and settings.attempt_id is None else settings.capability_names


def judged(judging: Judging, harness: str) -> int:
    """Read a call from stdin, judge it, answer. Falls closed."""
    call: ToolCall | None = None
    try:
        data = sys.stdin.buffer.read(LARGEST + 1)
        if len(data) > LARGEST:
            return _say(None, harness, allowed=False, reason=f"the call is larger than {LARGEST} bytes")
        call = read_call(data, harness)
        allowed, reason, notes = judging(call, read_settings())
        return _say(call, harness, allowed=allowed, reason=reason, notes=notes)
    except KeiseiError as error:
        hint = f"; {error.hint}" if error.hint else ""
        return _broken(call, harness, f"{error.message}{hint}")
    except BaseException as error:  # noqa: BLE001 - a judge that breaks refuses, an interrupted one too
        return _broken(call, harness, f"{type(error).__name__}: {error}")


def _broken(call: ToolCall | None, harness: str, sentence: str) -> int:
    reason = f"keisei gate: the call could not be judged, which is no violation: {sentence}"
    return _say(call, harness, allowed=False, reason=reason)


def _say(
    call: ToolCall | None, harness: str, *, allowed: bool, reason: str | None = None, notes: tuple[str, ...] = ()
) -> int:
    said = answer(call, allowed, reason, harness, False, notes)  # noqa: FBT003 - a user's own session: silence
    written = [_written(descriptor, text) for descriptor, text in ((1, said.stdout), (2, said.stderr))]
    return said.code if all(written) else 2


def _written(descriptor: int, text: bytes) -> bool:
    """Write all of it. False where nobody can hear it."""
    try:
        while text:
            text = text[os.write(descriptor, text) :]
    except OSError:
        return False
    return True


def _by_capabilities(
    names: tuple[str, ...], call: ToolCall, settings: Settings, pinned: Path | None
) -> tuple[bool, str | None, tuple[str, ...]]:
    from keisei.wiring import catalog
    from keisei.wiring.alone import rules_home, setting_of, stand_alone
    from keisei.wiring.policy import capabilities_policy

    place = setting_of(settings, None, None, pinned)
    library = catalog(settings, start=rules_home(settings, settings.task_toml, settings.main_repo, pinned))
    return stand_alone(call, capabilities_policy(library, names, settings.task_toml, place), settings)


def by_task(task: Path, worktree: Path | None, main_repo: Path | None, kit_root: Path | None = None) -> Judging:
    """The judging of a task's whole role."""

    def judging(call: ToolCall, settings: Settings) -> tuple[bool, str | None, tuple[str, ...]]:
        from keisei.wiring import catalog
        from keisei.wiring.alone import rules_home, setting_of, stand_alone
        from keisei.wiring.policy import task_policy

        place = setting_of(settings, worktree, main_repo)
        library = catalog(settings, kit_root=kit_root, start=rules_home(settings, task, main_repo, worktree))
        policy, _ = task_policy(library, task, place)
        return stand_alone(call, policy, settings)

    return judging
