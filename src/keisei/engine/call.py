"""Call: what is known before an atom runs, and the record after it. `invoke` says when which of it happens."""

import hashlib
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from keisei.contracts.validator import complaints, secret_values
from keisei.engine.ports import Databases, Workers
from keisei.records.atom_spec import AtomPackage, AtomSpec
from keisei.records.error import KeiseiError, MissingProgram
from keisei.records.id import AttemptId, InvocationId
from keisei.records.invocation import Answer, CallOrder, InvocationError, InvocationRecord, Invoked
from keisei.rules.canonical import canonical
from keisei.rules.invocation import (
    CANCELED,
    EXIT,
    MISSING_PROGRAM,
    Kind,
    declared,
    exit_code,
    shortened,
    timeout_ms,
    value_digest,
)
from keisei.rules.redact import Redactor


class Tools(NamedTuple):
    """What a call needs of the world."""

    workers: Workers
    """Whoever runs atoms."""
    databases: Databases
    """The databases of packages."""
    environment: Callable[[AtomPackage, str | None], dict[str, str]]
    """The environment of a package's atoms, given its database; the same for every call."""
    new_id: Callable[[], str]
    """Fresh ids."""
    now: Callable[[], datetime]
    """The time, aware UTC."""
    cwd: str
    """Where atoms work, absolute."""
    secrets: tuple[str, ...] = ()
    """Values that must not be written down."""
    monotonic: Callable[[], float] = time.monotonic
    """Seconds by a clock that never jumps."""
    judge: Callable[[CallOrder], str | None] | None = None
    """Asked about every call whose input fits, before anything is made for it: why it is refused, or None. It is told
    neither environment nor database. None where every call may happen."""


class InvokeOrder(Struct, frozen=True, kw_only=True):
    """One call, as it is asked for."""

    spec: AtomSpec
    """What is called."""
    input: Any
    """As it came; nobody has looked at it."""
    actor: str
    """Who calls."""
    attempt_id: AttemptId | None = None
    """The attempt that calls, where there is one."""
    invocation_id: InvocationId | None = None
    """The id of an earlier call that is made again; None for a new one."""
    timeout_ms: int | None = None
    """May only shorten what the page allows."""


def secrets_of(tools: Tools, order: InvokeOrder) -> tuple[str, ...]:
    """Every value that must not be written down because of this call."""
    return (*_known(tools, order), *secret_values(order.spec.input_schema, order.input))


def _known(tools: Tools, order: InvokeOrder) -> tuple[str, ...]:
    """What the caller knows to be secret, and the values of the package's own variables."""
    package = order.spec.package
    own = tools.environment(package, None) if package.metadata.env else {}
    return (*tools.secrets, *(own[name] for name in package.metadata.env if own.get(name)))


class Call:
    """One call on its way: what is known before it, and the record after it."""

    def __init__(self, tools: Tools, order: InvokeOrder) -> None:
        self.tools, self.order = tools, order
        self.invocation_id = order.invocation_id or InvocationId(tools.new_id())
        self._started_at, self._began = tools.now(), tools.monotonic()
        self._input_sha, self._no_form = value_digest(order.input)
        self._redactor: Redactor | None = None
        self._complained = ""

    def prepared(self) -> CallOrder | Answer:
        """What the worker is given; or why it is given nothing."""
        order, spec = self.order, self.order.spec
        if self._no_form is not None:
            return failed("schema-in", self._no_form)
        if wrong := self._complaints("in", spec.input_schema, order.input):
            return failed("schema-in", wrong)
        asked = CallOrder(
            spec=spec,
            input=order.input,
            invocation_id=self.invocation_id,
            timeout_s=timeout_ms(spec.manifest, order.timeout_ms) / 1000,
            env={},
            database=None,
            cwd=self.tools.cwd,
        )
        if self.tools.judge is not None and (reason := self.tools.judge(asked)) is not None:
            return failed("refused", reason)
        try:
            return self._supplied(asked)
        except KeiseiError as error:
            return world_failed(error)

    def _supplied(self, asked: CallOrder) -> CallOrder:
        """With its database, up to date, and its environment. Raises OperatorError, WorldFault."""
        spec, database = asked.spec, self.tools.databases.database(asked.spec.package)
        env = {**self.tools.environment(spec.package, database), **_own_names(spec, database)}
        return msgspec.structs.replace(asked, env=env, database=database)

    def answered(self, ready: CallOrder) -> Answer:
        """What the worker says."""
        try:
            return self.tools.workers.call(ready)
        except KeiseiError as error:
            return world_failed(error)
        except KeyboardInterrupt:
            return failed("killed", "canceled", exit_code=CANCELED)

    def checked(self, output: Any) -> tuple[bytes, str | None]:  # noqa: ANN401 - any JSON
        """An output in canonical form; or how it differs from what was promised, in one sentence."""
        try:
            data = canonical(output)
        except ValueError as error:
            return b"", str(error)
        return data, self._complaints("out", self.order.spec.output_schema, output) or None

    def ended(self, answer: Answer) -> Invoked:
        """The record, with the output where it is a success."""
        if answer.error is not None:
            return self.ended_stream(answer, None)
        data, wrong = self.checked(answer.output)
        if wrong is not None:
            return self.ended_stream(failed("schema-out", wrong, said=answer.said), None)
        ended = self.ended_stream(answer, hashlib.sha256(data).hexdigest())
        return msgspec.structs.replace(ended, output=answer.output)

    def ended_stream(self, answer: Answer, sha: str | None) -> Invoked:
        """The record, without an output."""
        error = self._told(answer.error)
        code = exit_code(error, answer.exit_code) if error else 0
        return Invoked(record=self._record(error, code, sha), said=self._said(answer.said))

    def _record(self, error: InvocationError | None, code: int, sha: str | None) -> InvocationRecord:
        spec = self.order.spec
        return InvocationRecord(
            invocation_id=self.invocation_id,
            atom=spec.id,
            version=spec.manifest.version,
            spec_sha=spec.spec_sha,
            input_sha=self._input_sha,
            output_sha=sha,
            exit_code=code,
            error=error,
            duration_ms=round(max(0.0, self.tools.monotonic() - self._began) * 1000, 3),
            attempt_id=self.order.attempt_id,
            started_at=self._started_at,
        )

    def _told(self, error: InvocationError | None) -> InvocationError | None:
        """The error as it may be written down."""
        if error is None:
            return None
        known_codes = {each.code for each in self.order.spec.manifest.errors}
        code = error.code if error.code is None or error.code in known_codes else self._redacted(error.code)
        # our own words about a value hold no secret, and in `password: must be text` none must be found
        head = error.message.removesuffix(self._complained)
        message = self._redacted(head) + error.message[len(head) :]
        plain = InvocationError(kind=error.kind, code=code, message=message)
        known = declared(self.order.spec.manifest, plain)
        return InvocationError(kind=known.kind, code=known.code, message=shortened(known.message))

    def _said(self, said: str) -> str:
        """What the atom wrote for people, behind a note where it should not be called any more."""
        instead = self.order.spec.manifest.deprecated
        note = "" if instead is None else f"note: `{self.order.spec.id}` is deprecated: {instead}\n"
        return note + (self._redacted(said) if said else "")

    def _complaints(self, side: str, schema: dict[str, Any], value: Any) -> str:  # noqa: ANN401 - any JSON
        """How a value differs from what was promised, without secrets; empty where it does not."""
        key = f"{self.order.spec.spec_sha}:{side}"
        self._complained = "; ".join(complaints(key, schema, value, self._redacted))
        return self._complained

    def _redacted(self, text: str) -> str:
        if self._redactor is None:
            marked = secret_values(self.order.spec.input_schema, self.order.input)
            self._redactor = Redactor(_known(self.tools, self.order), marked)
        return self._redactor.text(text)


def _own_names(spec: AtomSpec, database: str | None) -> dict[str, str]:
    """What every atom finds in its environment; the worker adds the names of the one call."""
    return {"KEISEI_ATOM": spec.id, **({} if database is None else {"KEISEI_DATABASE": database})}


def failed(kind: Kind, message: str, *, exit_code: int | None = None, said: str = "") -> Answer:
    """The answer of a call that failed on our side of it."""
    code = EXIT[kind] if exit_code is None else exit_code
    return Answer(error=InvocationError(kind=kind, message=message), exit_code=code, said=said)


def world_failed(error: KeiseiError) -> Answer:
    """What the world did not do, in its own words."""
    hint = f" (hint: {error.hint})" if error.hint else ""
    code = MISSING_PROGRAM if isinstance(error, MissingProgram) else EXIT["io"]
    return failed("io", f"{error.message}{hint}", exit_code=code)
