"""Channels: where messages go, each in threads of its own, so that one that hangs holds up nobody else."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from keisei.engine.deliver import Done, Failed
from keisei.records.error import KeiseiError
from keisei.records.outbox import OutboxItem
from keisei.records.project import ProjectChannel, ProjectFile
from keisei.rules.delivery import CONSOLE, channel_of, words_of
from keisei.rules.redact import Redactor
from keisei.wiring.channel_apprise import notify
from keisei.wiring.channel_webhook import post
from keisei.wiring.leavings import scrubbed

AT_ONCE: Final = 4
"""Messages of one channel that are on their way at the same time."""
ANY: Final = 1_000_000
"""Room where nothing has to be waited for."""
GRACE_S: Final = 10.0
"""How long messages on their way have when the runner ends; then they are put back."""
LAST_S: Final = 10.0
"""How long they have to be put back."""

Tell = Callable[[OutboxItem, str], None]
"""Hears of a message on the console: the row and its words."""


class ProjectChannels:
    """The channels of keisei.toml. Any thread may use it; `close` waits for what is on its way."""

    def __init__(self, file: ProjectFile, env: Mapping[str, str], tell: Tell) -> None:
        """Nothing is opened before there is something to send. `env` is where addresses and secrets are looked up."""
        self._channels = {CONSOLE: ProjectChannel(kind="console"), **file.channels}
        self._env, self._tell = env, tell
        self._redactor = Redactor(known_secrets(file, env))
        self._flying: Counter[str] = Counter()
        self._landed = threading.Condition()
        self._cancel = threading.Event()

    def room(self, channel: str) -> int:
        """How many more messages could be sent on this channel now."""
        known = self._channels.get(channel)
        if known is None or known.kind == "console":
            return ANY
        with self._landed:
            return AT_ONCE - self._flying[channel]

    def send(self, item: OutboxItem, at: datetime, done: Done) -> None:
        """Send a message without its secrets. On the console at once, elsewhere in a thread."""
        name = channel_of(item.payload)
        channel = self._channels.get(name)
        if channel is None:
            done(_unknown(self._redactor.text(name)))
            return
        try:
            clean = replace(item, payload=self.clean(item.payload))
        except RecursionError:
            done(Failed(reason="the message is nested too deeply to be read", gone=True))
            return
        if channel.kind == "console":
            self._tell(clean, words_of(clean.payload).text)
            done(None)
        else:
            self._start(name, channel, clean, at, done)

    def _start(self, name: str, channel: ProjectChannel, item: OutboxItem, at: datetime, done: Done) -> None:
        thread = threading.Thread(target=self._carry, args=(name, channel, item, at, done), name="message", daemon=True)
        with self._landed:
            self._flying[name] += 1
        try:
            thread.start()
        except RuntimeError:
            self._land(name)
            done(Failed(reason="this process cannot have another thread"))

    def clean(self, payload: Mapping[str, object]) -> dict[str, object]:
        """The payload without any secret that channels and webhooks are given."""
        found: dict[str, object] = scrubbed(dict(payload), self._redactor)
        return found

    def landed(self, timeout_s: float) -> bool:
        """Wait until a message that is on its way has landed, so that there is room again. False: none has."""
        with self._landed:
            return self._flying.total() > 0 and self._landed.wait(timeout_s)

    def close(self, grace_s: float = GRACE_S) -> None:
        """Wait for what is on its way; what takes longer is cut off and put back. Safe to say twice."""
        with self._landed:
            if not self._landed.wait_for(lambda: not self._flying.total(), grace_s):
                self._cancel.set()
                self._landed.wait_for(lambda: not self._flying.total(), LAST_S)

    def _carry(self, name: str, channel: ProjectChannel, item: OutboxItem, at: datetime, done: Done) -> None:
        try:
            done(self._told(name, self._tried(name, channel, item, at)))
        except Exception:  # noqa: BLE001, S110 - a store that is away: the lease ends, and it is sent once more
            pass
        finally:
            self._land(name)

    def _land(self, name: str) -> None:
        with self._landed:
            self._flying[name] -= 1
            self._landed.notify_all()

    def _tried(self, name: str, channel: ProjectChannel, item: OutboxItem, at: datetime) -> Failed | None:
        try:
            if channel.kind == "webhook":
                return post(channel, item, at, self._env, self._cancel)
            return notify(channel, item, self._env, self._cancel)
        except KeiseiError as error:
            hint = f" ({error.hint})" if error.hint else ""
            return Failed(reason=f"[channels.{name}]: {error.message}{hint}", gone=True)
        except Exception as error:  # noqa: BLE001 - a thread that dies silently would hold its message for ever
            return Failed(reason=f"this is a bug in keisei: {type(error).__name__}")

    def _told(self, name: str, failed: Failed | None) -> Failed | None:
        return failed and replace(failed, reason=self._redactor.text(failed.reason), channel=name)


def known_secrets(file: ProjectFile, env: Mapping[str, str]) -> tuple[str, ...]:
    """The values that must appear nowhere: addresses and secrets that keisei.toml takes from the environment."""
    channels, webhooks = file.channels.values(), file.webhooks.values()
    names = {name for each in channels for name in (each.url_env, each.secret_env) if name is not None}
    names |= {each.secret_env for each in webhooks}
    return tuple(value for name in sorted(names) if (value := env.get(name, "").strip()))


def _unknown(name: str) -> Failed:
    shown = name if name.isprintable() and len(name) <= 100 else f"{ascii(name)[:100]}…"  # noqa: PLR2004 - one line
    return Failed(reason=f"no channel is called `{shown}`: add `[channels.{shown}]` to keisei.toml", gone=True)
