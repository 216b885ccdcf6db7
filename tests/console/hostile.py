"""A hostile house: everything that agents and authors can write holds markup and commands, and the real console serves
it on a real port. A digest tells whether anything in it has changed, a parser whether anything of it became markup."""

import hashlib
import json
import re
import socket
import threading
import time
import tomllib
from contextlib import closing, contextmanager
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote

import apsw
from msgspec.structs import replace

from keisei.console import service
from keisei.console.address import address
from keisei.console.atom_call import Asked, AtomCalled, AtomFailure, AtomMetadata, Calls
from keisei.console.guard import Guard
from keisei.console.guard_closing import Closing
from keisei.console.key import open_keys
from keisei.console.premises import Premises
from keisei.console.server import listen, serve
from keisei.console.session import cookie_name, csrf_of, new_session, signed
from keisei.engine import control
from keisei.engine.fire import firing
from keisei.engine.schedule import upsert
from keisei.engine.sensor import observe
from keisei.engine.workflow import create
from keisei.records.approval import ApprovalRecord
from keisei.records.artifact import ArtifactRecord
from keisei.records.attempt import Usage
from keisei.records.breaker import Breaker
from keisei.records.invocation import InvocationError
from keisei.records.landing import LandingRecord
from keisei.records.move import NewEntry, NewEvent, NewTask, PauseOrder, Settlement
from keisei.records.outcome import TaskOutcome
from keisei.records.pipe_run import PipeMember, PipeMove, PipeRun
from keisei.records.runner import RunnerRecord
from keisei.records.slot import Slot
from keisei.settings import read_settings
from keisei.testing.queue import new_task
from keisei.wiring.fresh import new_id
from tests.cli.landing import COMMIT, TREE, finding
from tests.console.attempts import Run
from tests.console.fortress import Reply, parsed

WAIT_S = 30
MARKUP = "\"'></pre></textarea></title></script><x-evil onmarker=1 href=javascript:evil(1)><!--&lt;x-evil&gt;"
COMMANDS = "\x1b[31m\x07\x9b\u202e\u2066\u200f\u2028"
SECRET = "the words of a file that nobody may read"  # noqa: S105 - planted, to be looked for
UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def evil(where, *, commands=True):
    """What an agent writes there; `evil-WHERE` is the part of it that a page may show as it is."""
    return f"evil-{where} {MARKUP}{COMMANDS if commands else ''}"


# --- authored files


def _toml(text):
    return json.dumps(text).replace("\x7f", "\\u007f")


PROJECT = f"""[project]
name = "house"
[adapters.own]
kind = "script"
command = "sh"
timeout_ms = 5000
extra_args = [{_toml(evil("adapter"))}]
[sensors.eye]
[webhooks.gh]
kind = "github"
secret-env = "KEISEI_TEST_HOOK_SECRET"
"""
AGENT = f"""[identity]
agent_id = "indra"
internal_name = "indra"
display_name = {_toml(evil("agent"))}
codename = {_toml(evil("codename"))}
[constitution]
version = "<script>version()</script>"
revised_at = 2026-01-01T00:00:00Z
"""
ROLE = f"""[role]
name = "careful"
description = {_toml(evil("role"))}
[capabilities]
extends = "edit-local"
"""
CAPABILITY = f"""[capability]
name = "policy::own"
category = "policy"
version = "1.0"
description = {_toml(evil("capability"))}
[restricts]
tool-patterns = ["^shout( |$)"]
[text]
path = "text.md"
[gate]
kind = "pattern"
[lineage]
creator = {_toml(evil("creator"))}
[[test]]
name = {_toml(evil("vector"))}
tool = "Bash"
input = {{ command = {_toml(evil("vector-command"))} }}
expect = "allow"
"""
WORKFLOW = f"""workflow_type = "release"
description = {_toml(evil("workflow"))}
initial_state = "write"
[[states]]
state_id = "write"
transitions = [{{ signal = "written", next_state = "done" }}]
[[states]]
state_id = "done"
"""
TYPE = f"""task_type = "odd"
description = {_toml(evil("task-type"))}
payload_schema_id = "schemas/odd.json"
default_profile_id = "script"
default_adapter_id = "script"
[success_policy]
complete_by_exit_code = true
"""
DRAFT = "http://json-schema.org/draft-07/schema#"
ODD = {"$schema": DRAFT, "$id": "odd", "type": "object", "examples": [{"args": evil("type-example")}]}
ATOM = f"""---
atom: kei-shop::look
kind: query
version: 0.1.0
input: {{schema: schemas/look.json, example: {json.dumps({"path": evil("atom-example")})}}}
output: {{schema: schemas/look.json}}
errors: [{{code: Refused, http_analog: 409, description: {json.dumps(evil("atom-error"))}}}]
side_effects: []
idempotent: true
timeout_ms: 20000
stability: beta
keywords: [bakery]
---
# kei-shop::look

Looks evil-atom {MARKUP}

## Gotchas

[click](javascript:evil(1)) [click](JaVa&#115;cript:evil(1)) <javascript:evil(1)> ![i](javascript:evil(1))
[click](data:text/html,evil) [[x-evil"><x-evil>]] evil-page {MARKUP}{COMMANDS}
"""
LOOK = {"$schema": DRAFT, "$id": "look", "type": "object"}
LOOK |= {"properties": {"path": {"type": "string", "title": evil("field"), "description": evil("field-words")}}}
PACKAGE = '[project]\nname = "kei-shop"\nversion = "0.1.0"\n[tool.keisei]\nbackend = "memory"\n'
SKILL = f"---\nname: eye\ndescription: {json.dumps(evil('skill', commands=False))}\n---\n\nIt sees.\n"
PIPE = f"""[pipe]
name = {_toml(evil("pipe"))}
[[steps]]
capture_as = "look"
atom = "kei-shop::look"
input = {{ path = {_toml(evil("pipe-input"))} }}
"""
FILES = {
    "keisei.toml": PROJECT,
    ".keisei/agents/indra/agent.toml": AGENT,
    ".keisei/agents/indra/SOUL.md": evil("soul"),
    ".keisei/agents/indra/PURPOSE.md": evil("purpose"),
    ".keisei/roles/careful.toml": ROLE,
    ".keisei/capabilities/policy/own/capability.toml": CAPABILITY,
    ".keisei/capabilities/policy/own/text.md": evil("capability-text"),
    ".keisei/workflows/release.toml": WORKFLOW,
    ".keisei/task-types/odd.toml": TYPE,
    ".keisei/task-types/schemas/odd.json": json.dumps(ODD),
    ".keisei/primitives/kei-shop/pyproject.toml": PACKAGE,
    ".keisei/primitives/kei-shop/atoms/look.md": ATOM,
    ".keisei/primitives/kei-shop/atoms/look.py": "def run(input, context):\n    return input\n",
    ".keisei/primitives/kei-shop/atoms/schemas/look.json": json.dumps(LOOK),
    ".keisei/skills/eye/SKILL.md": SKILL,
    ".keisei/skills/eye/skill.toml": 'sensor_path = "sensor"\n',
    ".keisei/skills/eye/sensor": "#!/bin/sh\ncat >/dev/null\n",
}
PATCH = (
    f"""\
diff --git a/{MARKUP} b/{MARKUP}
new file mode 100644
--- /dev/null
+++ b/evil-diff-name {MARKUP}{COMMANDS[:4]}
@@ -0,0 +1,2 @@ {MARKUP}
+evil-diff {MARKUP}
+{COMMANDS}
""".encode()
    + b"+\xff\xfe\x00\xed\xa0\x80 invalid\n"
)
CLAUDE = (
    {"type": "assistant", "message": {"content": [{"type": "text", "text": evil("said")}]}},
    {"type": "assistant", "message": {"content": [{"type": "thinking", "thinking": evil("thought")}]}},
    {
        "type": "assistant",
        "message": {"content": [{"type": "tool_use", "name": evil("tool"), "input": {"command": evil("call")}}]},
    },
    {"type": "user", "message": {"content": [{"type": "tool_result", "content": evil("result")}]}},
    {"type": evil("kind"), "subtype": evil("subtype")},
    {"type": "result", "is_error": True, "result": evil("end")},
)


# --- rows


class Stronghold:
    """The real console of a hostile house, on a port; and ways to ask it that no browser has."""

    def __init__(self, folder, **limits):
        self.folder, self.root, self.limits = folder, folder / "the project", limits
        for name, text in FILES.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        (self.root / ".keisei/skills/eye/sensor").chmod(0o755)
        (folder / "secret.txt").write_text(SECRET)
        surroundings = {
            "HOME": str(folder / "home"),
            "KEISEI_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_RUNTIME_DIR": str(folder / "run"),
        }
        self.premises = Premises(read_settings(surroundings), self.root)
        self.store, self.refused, self.bugs = self.premises.store, [], []
        self.closing, self.opened, self._moment = Closing(), threading.Event(), 0.0
        self.line = listen(address(port=0))
        self.port = self.line.getsockname()[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        self.keys = open_keys(self.premises.home.folder)
        self.app = self._guarded()
        self.ids, self.known = {}, None

    def _guarded(self):
        """As it is served, but that nobody is ever too quick, bodies are soon too slow, and no refusal is a row."""

        def guard(app, config):
            limits = replace(config.limits, **{"body_s": 0.5, **self.limits})
            told = {"refused": self.refused.append, "broken": self.bugs.append, "clock": self._clock}
            return Guard(app, replace(config, limits=limits, **told))

        real, service.Guard = service.Guard, guard
        try:
            return service.guarded(self.premises, address().at(self.port), self.closing)
        finally:
            service.Guard = real

    def _clock(self):
        self._moment += 100
        return self._moment

    # --- what stands in it

    def fill(self):
        """Hostile text in every field that an agent or a stranger has a hand in."""
        self._runners()
        self._running()
        self._ended()
        self._waiting()
        self._by_itself()
        self._told()

    def _runners(self):
        now = self.store.now()
        told = {"boot_id": "b", "pid": 1, "born": "1", "slots": 1, "lease_s": 600.0}
        told |= {"host": evil("host"), "version": evil("runner-version")}
        self.ids["runner_id"] = new_id()
        self.store.register(RunnerRecord(runner_id=self.ids["runner_id"], started_at=now, heartbeat_at=now, **told))

    def _running(self):
        """Attempts under way: one whose output is text, one whose output is JSON lines."""
        plain = Run(self, "script", subject=evil("running"))
        plain.write(evil("stdout").encode() + b"\n\x00\xff\xfe\xed\xa0\x80\n")
        plain.write(evil("stderr").encode() + b"\n\x00\xff", "stderr.log")
        talking = Run(self, "claude-code", subject=evil("talking"))
        talking.write("".join(json.dumps(each) + "\n" for each in CLAUDE).encode() + b"\xff\x00" + MARKUP.encode())
        for run in (plain, talking):
            run.call(tool=evil("gate-tool"), command=evil("gate-command"))
            run.call(
                decision="deny",
                capability=evil("gate-capability"),
                rule=evil("gate-rule"),
                reason=evil("gate-reason"),
                notes=[evil("gate-note")],
                agent_id=evil("gate-agent"),
            )
        self.runs = (plain, talking)
        (plain.folder / "relay.jsonl").symlink_to(self.folder / "secret.txt")
        self.ids["running"] = plain.id

    def _ended(self):
        """A task that has completed, with everything that may hang on it."""
        store = self.store
        run = Run(self, "script", subject=evil("ended"))
        now, task, attempt = store.now(), run.claimed.task, run.claimed.attempt
        run.write(evil("old-stdout").encode())
        run.call(tool=evil("old-tool"))
        run.put("diff.patch", PATCH)
        run.put("prompt.md", evil("prompt").encode() + b"\x00\xff")
        run.put("report.md", evil("report").encode())
        run.seal()
        folder = self.premises.home.artifacts / task.task_id
        folder.mkdir(parents=True)
        (folder / "link.txt").symlink_to(self.folder / "secret.txt")
        (folder / "out").symlink_to(self.folder)
        name = "evil-file\"';\u202e\x9b<x-evil>%0d%0a.html"
        (folder / name).write_text(evil("artifact"))
        paths = (name, "link.txt", "out/secret.txt", "out", "gone.txt", "./link.txt", "a//link.txt")
        artifacts = [
            ArtifactRecord(
                artifact_id=new_id(), task_id=task.task_id, role="output", relative_path=each,
                content_type="text/html", created_at=now,
            )
            for each in paths
        ]  # fmt: skip
        self.artifacts = [each.artifact_id for each in artifacts]
        outcome = TaskOutcome(
            status="completed",
            machine_status="ok",
            operator_summary=evil("summary"),
            raw_output=evil("raw"),
            file_changes=(evil("changed"),),
            artifact_paths=(evil("path"),),
        )
        diagnostics = {"reason": evil("diagnostics"), MARKUP: evil("diagnostics-key")}
        usage = Usage(input_tokens=1, output_tokens=None, cache_read_tokens=None, cache_write_tokens=None, cost_usd=0.5)
        closed = replace(
            attempt,
            ended_at=now, exit_status="ok", model=evil("model"), adapter_kind=evil("adapter-kind"),
            diagnostics=diagnostics, session_ref=evil("session"), isolation=(evil("isolation"),), usage=usage,
        )  # fmt: skip
        landing = LandingRecord(
            landing_id=new_id(), task_id=task.task_id, attempt_id=attempt.attempt_id, branch=evil("branch"),
            candidate_commit=COMMIT, tree=TREE, before_commit=None, after_commit=None, status="held",
            reason=evil("landing"), decided_by=evil("decider"), created_at=now, updated_at=now,
        )  # fmt: skip
        done = replace(task, status="completed", outcome=outcome, finished_at=now, lease=None, last_error=evil("error"))
        settled = store.settle(
            Settlement(
                task=done,
                attempt=closed,
                findings=tuple(
                    finding(
                        capability=evil(f"finding-{status}"),
                        status=status,
                        attempt_id=attempt.attempt_id,
                        reason=evil(f"reason-{status}"),
                        detail=evil(f"detail-{status}"),
                    )
                    for status in ("violated", "held")
                ),
                artifacts=tuple(artifacts),
                events=(
                    NewEvent(
                        event_type="task_finished",
                        task_id=task.task_id,
                        attempt_id=attempt.attempt_id,
                        detail={"reason": evil("event"), MARKUP: [evil("event-key")]},
                    ),
                ),
                ledger=(self._entry("settled"),),
                breaker=Breaker(adapter_id=evil("breaker"), failures=9, needs_person=True, updated_at=now),
                landings=(landing,),
            )
        )
        assert settled == "settled"
        self.ids |= {
            "attempt_id": attempt.attempt_id,
            "task_id": task.task_id,
            "landing_id": landing.landing_id,
            "artifact_id": self.artifacts[0],
            "name": "stdout.log",
        }

    def _waiting(self):
        """A blocked task that asks, a workflow that is held, and tasks that nobody took yet."""
        store, now = self.store, self.store.now()
        run = Run(self, "script", subject=evil("blocked"))
        asked = ApprovalRecord(
            approval_id=new_id(), kind="question", key=evil("approval-key"), reason=evil("approval"),
            task_id=run.task_id, attempt_id=run.id, questions=(evil("question"),), detail={"note": evil("detail")},
            evidence=(evil("evidence"),), created_at=now, decided_at=None,
        )  # fmt: skip
        tripped = Breaker(
            adapter_id="own", failures=9, reason=evil("breaker-reason"), needs_person=True, updated_at=now
        )
        run.end("blocked", approvals=(asked,), error=evil("blocked-error"), breaker=tripped)
        self.ids["approval_id"] = asked.approval_id
        told = {
            "subject": evil("subject"),
            "description": evil("description"),
            "payload": {MARKUP: evil("payload"), "text": evil("payload-text")},
            "source": evil("source"),
            "task_type": evil("type"),
            "requested_model": evil("requested-model"),
            "requested_adapter_id": evil("requested-adapter"),
            "idempotency_key": evil("key"),
            "agent": "indra",
        }
        self.ids["pending"] = new_id()
        store.enqueue([NewTask(task=new_task(self.ids["pending"], now, **told))])
        over = new_task(new_id(), now, subject=evil("over"), agent="indra")
        store.enqueue([NewTask(task=over)])
        control.cancel(store, over.task_id, evil("cancel"), evil("canceler"))
        store.pause(PauseOrder(scope="all", paused=True, reason=evil("pause"), actor=evil("pauser")))

    def _by_itself(self):
        """Schedules, sensors, workflows, pipes."""
        store, now = self.store, self.store.now()
        office = self.premises.office()
        script = {"task_type": "script", "payload": {"args": ["-c", "true"]}, "subject": evil("schedule-subject")}
        told = {"name": evil("schedule", commands=False)[:128], "interval_seconds": 60, "once": False, "task": script}
        made = upsert(office, {**told, "delay": None, "overlap": None}, evil("schedule-actor"))
        self.ids["schedule_id"] = made.schedule_id
        slot = {"schedule_id": made.schedule_id, "status": "skipped", "first_due_at": now, "due_at": now}
        found = store.schedule(made.schedule_id)
        assert store.fire(firing(found, found.record, slots=(Slot(**slot, recorded_at=now, reason=evil("slot")),)))
        seen = {
            "sensor_id": "eye",
            "source_ref": evil("sensed", commands=False),
            "dedupe_key": evil("dedupe", commands=False),
        }
        observe(office, {**seen, "payload": {MARKUP: evil("sensed-payload")}}, evil("sensor-actor"))
        self.ids["sensor_id"] = "eye"
        flow, _ = create(
            office, workflow_type="release", instance_key="evil-instance", state=None,
            context={"objective": evil("objective"), MARKUP: evil("context")}, actor=evil("starter"),
        )  # fmt: skip
        self.ids |= {"workflow_id": flow.record.workflow_id, "definition": "release"}
        run = PipeRun(
            run_id=new_id(), name=evil("pipe-run"), source=evil("pipe-source"), definition=tomllib.loads(PIPE),
            definition_sha="a" * 64, input={"text": evil("pipe-given")}, input_kept=True, status="running", fence=1,
            actor=evil("pipe-actor"), error=None, created_at=now, updated_at=now,
        )  # fmt: skip
        store.begin_run(run)
        fault = InvocationError(kind="atom", code=evil("pipe-code"), message=evil("pipe-message"))
        members = (
            PipeMember(step="look", index=0, state="done", step_sha="a" * 64, output={MARKUP: evil("pipe-output")}),
            PipeMember(step="look", index=1, state="failed", step_sha="a" * 64, error=fault),
            PipeMember(step="look", index=2, state="skipped", step_sha="a" * 64, note=evil("pipe-note")),
        )
        assert store.move_run(
            PipeMove(run_id=run.run_id, fence=1, members=members, status="failed", error=evil("pipe-error"))
        )
        self.ids["run_id"] = run.run_id

    def _told(self):
        store = self.store
        entry = store.append(self._entry("ledger"))
        store.unsealed()
        self.ids |= {"seq": str(entry.seq or 1), "agent_id": "indra", "adapter_id": "own", "role": "careful"}
        self.ids |= {"capability": "policy::own", "atom_id": "kei-shop::look", "call_id": new_id()}
        failure = AtomFailure(kind="atom", code=evil("call-code"), message=evil("call-message"))
        self.failed_call = new_id()
        for key, came in (
            (self.ids["call_id"], {"result": {MARKUP: evil("call-result")}}),
            (self.failed_call, {"error": failure, "said": evil("call-said")}),
        ):
            about = AtomMetadata(duration_ms=1.0, atom="kei-shop::look", invocation_id=key)
            called = AtomCalled(**came, page="/", metadata=about)
            asked = Asked(atom="kei-shop::look", input={"path": evil("call-input")}, spec_sha="a" * 64, called=called)
            self.premises.keep(Calls).remember(key, asked)

    @staticmethod
    def _entry(where):
        body = {"reason": evil(f"{where}-body"), MARKUP: [evil(f"{where}-key")]}
        return NewEntry(kind="note", actor=evil(f"{where}-actor"), subject=evil(f"{where}-subject"), body=body)

    # --- addresses

    def filled(self, path):
        """A route's address with ids that are there."""

        def named(found):
            name = found[1].partition(":")[0]
            special = {"/roles/": "role", "/capabilities/": "capability", "/workflows/definitions/": "definition"}
            if name == "name":
                name = next((key for begins, key in special.items() if begins in path), name)
            return quote(self.ids[name], safe="")

        return re.sub(r"\{([^}]*)\}", named, path)

    # --- asking

    def connect(self):
        line = socket.create_connection(("127.0.0.1", self.port), WAIT_S)
        line.settimeout(WAIT_S)
        return line

    def raw(self, data):
        with self.connect() as line:
            line.sendall(data)
            return read(line)

    def request(self, method, path, headers=(), body=b"", *, host=None):
        """The bytes of a request; `headers` may say anything."""
        told = [("Host", host or f"127.0.0.1:{self.port}"), *dict(headers).items()]
        if body and not any(name.lower() in ("content-length", "transfer-encoding") for name, _ in told):
            told.append(("Content-Length", str(len(body))))
        head = "".join(f"{name}: {value}\r\n" for name, value in [*told, ("Connection", "close")])
        return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body

    def ask(self, method, path, headers=(), body=b"", *, host=None):
        return self.raw(self.request(method, path, headers, body, host=host))

    def get(self, path, role="operator"):
        """As a browser with a session looks at a page."""
        return self.ask("GET", path, {"Cookie": self.session(role)[0]})

    def bearer(self, role="operator"):
        return {"Authorization": f"Bearer {getattr(self.keys, role)}"}

    def session(self, role="operator"):
        """A cookie header and the token of its forms."""
        session = new_session(role, time.time())
        name = cookie_name(self.premises.home.folder, is_tls=False)
        return f"{name}={signed(session, self.keys.key)}", csrf_of(session, self.keys.key)

    # --- whether anything has changed

    def digest(self):
        """Of every table, and of every file below the house, by their names."""
        found = {}
        with closing(apsw.Connection(str(self.premises.home.folder / "state.db"))) as database:
            tables = [row[0] for row in database.execute("select name from sqlite_schema where type = 'table'")]
            for table in tables:
                rows = sorted(repr(row) for row in database.execute(f'select * from "{table}"'))  # noqa: S608 - ours
                found[table] = _digest(repr(rows).encode("utf-8", "backslashreplace"))
        for path in self.folder.rglob("*"):
            if path.is_file() and not path.is_symlink() and not PASSING.search(str(path)):
                found[str(path)] = _digest(path.read_bytes())
        return found


PASSING = re.compile(r"\.db(-wal|-shm)?$|\.lock$|/__pycache__/")
"""Files that say nothing that is not said elsewhere."""


def _digest(data):
    return hashlib.sha256(data).hexdigest()


def read(line):
    """A whole answer, its pieces joined; None where there is none."""
    data = b""
    while piece := line.recv(65_536):
        data += piece
    found = parsed(data)
    if found is not None and found.headers.get("transfer-encoding") == "chunked":
        return Reply(found.status, found.headers, _joined(found.body))
    return found


def _joined(body):
    told = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        told += rest[: int(size, 16)]
        body = rest[int(size, 16) + 2 :]
    return told


@contextmanager
def open_stronghold(folder, **limits):
    """One that is filled and served, in a thread."""
    made = Stronghold(Path(folder), **limits)
    try:
        made.fill()
        thread = threading.Thread(
            target=serve, args=(made.app, made.line, made.closing), kwargs={"ready": made.opened.set}
        )
        thread.start()
        try:
            assert made.opened.wait(WAIT_S)
            yield made
        finally:
            made.closing.begin()
            thread.join(WAIT_S)
            assert not thread.is_alive()
    finally:
        made.premises.close()


# --- pages


class Markup(HTMLParser):
    """What a browser makes of a page, and everything in it that is none of ours."""

    ADDRESSES = frozenset({"href", "src", "action", "formaction", "data", "poster", "srcset", "xlink:href", "content"})
    OWN = re.compile(r"(/|\?|#|https?://|mailto:)")

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.faults, self.links, self.tags, self._typed = [], [], [], 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "textarea":
            self._typed += 1
        if "evil" in tag or tag in ("iframe", "object", "embed", "base", "applet", "style"):
            self.faults.append(f"<{tag}>")
        for name, value in attrs:
            self._attribute(tag, name, value or "")

    def _attribute(self, tag, name, value):
        if name.startswith("on") or name in ("style", "srcdoc", "onmarker"):
            self.faults.append(f"<{tag} {name}=>")
        if name.startswith("hx-") and name != "hx-preserve":
            self.faults.append(f"<{tag} {name}=>")
        if name in self.ADDRESSES and tag != "meta" and value and not self.OWN.match(value):
            self.faults.append(f"<{tag} {name}={value[:80]!r}>")
        if "javascript:" in unquote(value).lower() and name in self.ADDRESSES and not value.startswith(("/", "?", "#")):
            self.faults.append(f"<{tag} {name}={value[:80]!r}>")
        if tag == "script" and name == "src" and not value.startswith("/static/"):
            self.faults.append(f"<script src={value[:80]!r}>")
        if name == "href" and tag == "a":
            self.links.append(value)
        if UNSEEN.search(value) and not (tag in ("input", "option", "button") and name == "value"):
            self.faults.append(f"<{tag} {name}={value[:80]!r}>: unseen characters")

    def handle_endtag(self, tag):
        if tag == "textarea":
            self._typed -= 1
        if "evil" in tag:
            self.faults.append(f"</{tag}>")

    def handle_data(self, data):
        if not self._typed and (found := UNSEEN.search(data)):  # what somebody goes on typing stays as it was typed
            around = data[max(0, found.start() - 40) : found.end() + 20]
            self.faults.append(f"unseen characters in {around!r}")

    def handle_comment(self, data):
        if "evil" in data:
            self.faults.append(f"<!--{data[:60]!r}-->")

    def handle_decl(self, decl):
        if decl != "doctype html":
            self.faults.append(f"<!{decl[:60]!r}>")

    unknown_decl = handle_decl

    def handle_pi(self, data):
        self.faults.append(f"<?{data[:60]!r}>")
