"""Webhooks: signed requests become sensor events. Listens on this machine only; a reverse proxy stands before it."""

import json
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple

import msgspec

from keisei.engine.intake import Defaults, Registry
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.engine.sensor import held_back, observe, read_event
from keisei.records.error import AuthorError, KeiseiError, OperatorError, Refused, WorldFault
from keisei.records.project import ProjectRunner, ProjectWebhook
from keisei.rules.sensor import is_deep
from keisei.rules.webhook import Bad, Delivery, event_data, is_wanted, secret_key, verified
from keisei.wiring.fresh import new_id
from keisei.wiring.store import Home

HOST: Final = "127.0.0.1"
PORT: Final = 4315
PATH: Final = "/hooks/"
LARGEST: Final = 1_048_576
"""Bytes of a body."""
LIMIT_S: Final = 15.0
"""How long one request may take from its first byte to its answer."""
AT_ONCE: Final = 32
"""Requests that are answered at the same time; others are told to come again."""
RETRY_S: Final = 60


class Hook(NamedTuple):
    """A webhook that is listened to."""

    table: ProjectWebhook
    key: bytes


class Answer(NamedTuple):
    """What the sender is told."""

    status: int
    body: dict[str, Any]
    headers: Mapping[str, str] = {}


class Reception(NamedTuple):
    """Everything a delivery is judged by."""

    store: Store
    registry: Callable[[], Registry]
    defaults: Defaults
    hooks: Mapping[str, Hook]
    most: int
    """While so many tasks wait, senders are told to come again."""


def open_reception(
    home: Home,
    store: Store,
    registry: Callable[[], Registry],
    defaults: Defaults,
    environment: Mapping[str, str] | None = None,
) -> Reception:
    """The webhooks of a project, each with its secret. Raises OperatorError that names what is missing."""
    if not home.file.webhooks:
        raise OperatorError("this project has no webhooks", "add a table [webhooks.<name>] to keisei.toml")
    given = os.environ if environment is None else environment
    hooks = {name: Hook(table, _key(name, table, given)) for name, table in home.file.webhooks.items()}
    for name, hook in hooks.items():
        _check(name, hook.table, store, registry)
    most = (home.file.runner or ProjectRunner()).sensor_backlog
    return Reception(store, registry, defaults, hooks, most)


def tolerant_reception(
    home: Home,
    store: Store,
    registry: Callable[[], Registry],
    defaults: Defaults,
    environment: Mapping[str, str] | None = None,
) -> tuple[Reception, dict[str, str]]:
    """The webhooks of a project that can be listened to, and why the others cannot. Never raises."""
    given = os.environ if environment is None else environment
    hooks, faults = {}, {}
    for name, table in home.file.webhooks.items():
        try:
            hooks[name] = Hook(table, _key(name, table, given))
            _check(name, table, store, registry)
        except KeiseiError as error:
            hooks.pop(name, None)
            faults[name] = error.message
    most = (home.file.runner or ProjectRunner()).sensor_backlog
    return Reception(store, registry, defaults, hooks, most), faults


def _key(name: str, table: ProjectWebhook, environment: Mapping[str, str]) -> bytes:
    secret = environment.get(table.secret_env)
    if not secret:
        message = f"webhook `{name}`: the variable {table.secret_env} is not set"
        raise OperatorError(message, f"export {table.secret_env}=... with the secret that the sender signs with")
    try:
        return secret_key(table.kind, secret)
    except OperatorError as error:
        raise OperatorError(f"webhook `{name}`: {table.secret_env}: {error.message}", error.hint) from error


def _check(name: str, table: ProjectWebhook, store: Store, registry: Callable[[], Registry]) -> None:
    """Raises OperatorError for a table whose proposals could never be taken."""
    workflow = table.workflow and {**table.workflow, "instance_key": table.workflow.get("instance_key") and "key"}
    bare = msgspec.structs.replace(table, dedupe=None, workflow=workflow)
    try:
        data = event_data(name, bare, Delivery("check", None), {}, store.now())
        event = read_event(data, store.now(), lambda _sentence: None)
        if event.proposed_task is not None:
            _check_type(event.proposed_task.task_type, registry())
    except KeiseiError as error:
        raise OperatorError(
            f"webhook `{name}`: {error.message}", f"look at [webhooks.{name}] in keisei.toml"
        ) from error


def _check_type(task_type: str, registry: Registry) -> None:
    """Raises OperatorError for a type that nobody defines, or whose payload has no place for what is delivered."""
    keys = registry.payload_keys(registry.task_type(task_type))
    if keys is not None and "event" not in keys:
        raise OperatorError(f"the payload of task type `{task_type}` takes no `event`, which holds what is delivered")


def receive(reception: Reception, name: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """What becomes of one request to /hooks/<name>; `headers` are by name in lower case. Never raises."""
    try:
        return _received(reception, name, headers, body)
    except WorldFault:
        return _later("the store is away")
    except Refused as error:
        return _later(error.message)
    except AuthorError:  # no fault of the delivery, and nothing that its sender should read
        return _later("a file of the project cannot be read")
    except KeiseiError as error:
        return Answer(422, {"error": error.message})
    except Exception:  # noqa: BLE001 - a sender never sees what broke
        return Answer(500, {"error": "this is a bug in keisei"})


def _received(reception: Reception, name: str, headers: Mapping[str, str], body: bytes) -> Answer:
    hook = reception.hooks.get(name)
    if hook is None:
        return Answer(404, {"error": "no webhook has this name"})
    now = reception.store.now()
    delivery = verified(hook.table.kind, hook.key, headers, body, now)
    if isinstance(delivery, Bad):
        return Answer(401, {"error": delivery.why})
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return Answer(415, {"error": "send application/json"})
    data = _object(body)
    if isinstance(data, Bad):
        return Answer(400, {"error": data.why})
    if not is_wanted(hook.table, headers, data):
        return Answer(200, {"status": "ignored"})
    event = event_data(name, hook.table, delivery, data, now)
    if isinstance(event, Bad):
        return Answer(400, {"error": event.why})
    return _held_back(reception, name) or _observed(reception, name, event)


def _object(body: bytes) -> dict[str, Any] | Bad:
    try:
        data = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Bad("the body is not JSON")
    if not isinstance(data, dict) or is_deep(data):
        return Bad("the body is not an object, or nested too deeply")
    return data


def _held_back(reception: Reception, name: str) -> Answer | None:
    state = reception.store.sensor(f"webhook:{name}")
    if state is not None and state.paused:
        return _later("this webhook is paused")
    reason = held_back(reception.store, reception.most)
    return None if reason is None else _later(reason)


def _later(why: str) -> Answer:
    return Answer(503, {"error": why}, {"Retry-After": str(RETRY_S)})


def _observed(reception: Reception, name: str, event: dict[str, Any]) -> Answer:
    done = observe(Office(reception.store, reception.registry, reception.defaults, new_id), event, f"webhook:{name}")
    told = {"status": done.status, "event_id": event["event_id"], "task_id": done.task_id}
    told |= {"workflow_id": done.workflow_id, "reason": done.reason}
    if done.status == "deduped":
        return Answer(200, told)
    return Answer(201 if done.reason is None else 202, told)


# --- the server -------------------------------------------------------------------------------------------------------


class WebhookServer(ThreadingHTTPServer):
    """Answers POST /hooks/<name> on the loopback interface, until `shutdown`."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, reception: Reception, port: int = PORT) -> None:
        """Bind; port 0 takes any that is free. Raises OperatorError where the port is taken."""
        self.reception = reception
        self.room = threading.BoundedSemaphore(AT_ONCE)
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            message = f"port {port} of {HOST} cannot be listened on: {(error.strerror or str(error)).lower()}"
            raise OperatorError(message, "name another one with --port") from error

    @property
    def url(self) -> str:
        """Where the hooks are."""
        return f"http://{HOST}:{self.server_address[1]}{PATH}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A connection that breaks is the other side's matter."""


class _Handler(BaseHTTPRequestHandler):
    """One request; the connection is closed after it, or when its time is up."""

    server: WebhookServer
    server_version = "keisei"
    sys_version = ""
    timeout = LIMIT_S

    def setup(self) -> None:
        """Begin the clock: a sender that drips byte by byte holds a thread for so long and no longer."""
        super().setup()
        self._clock = threading.Timer(LIMIT_S, self._hang_up)
        self._clock.daemon = True
        self._clock.start()

    def finish(self) -> None:
        """Stop the clock."""
        self._clock.cancel()
        with suppress(OSError):
            super().finish()

    def _hang_up(self) -> None:
        import socket  # noqa: PLC0415 - for one constant

        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_POST(self) -> None:
        """A delivery."""
        if not self.server.room.acquire(blocking=False):
            self._say(_later("too many at once"))
            return
        try:
            self._say(self._answer())
        finally:
            self.server.room.release()

    def _answer(self) -> Answer:
        name = self.path.removeprefix(PATH)
        if not self.path.startswith(PATH) or name not in self.server.reception.hooks:
            return Answer(404, {"error": "no webhook has this name"})
        length = self.headers.get("content-length", "")
        if not (length.isascii() and length.isdecimal()) or "transfer-encoding" in self.headers:
            return Answer(411, {"error": "say the length of the body"})
        if len(length) > len(str(LARGEST)) or int(length) > LARGEST:
            return Answer(413, {"error": f"the body has more than {LARGEST} bytes"})
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            return Answer(400, {"error": "the body is shorter than it was said to be"})
        headers = {key.lower(): value for key, value in self.headers.items()}
        return receive(self.server.reception, name, headers, body)

    def _say(self, answer: Answer) -> None:
        raw = json.dumps({key: value for key, value in answer.body.items() if value is not None}).encode()
        with suppress(OSError):
            self.send_response(answer.status)
            for key, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Nothing: what happens stands in the events."""
