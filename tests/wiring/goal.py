"""A house whose planner, implementer and verifier are one small program that answers as a test has written down."""

import json
import sys
from pathlib import Path

from keisei.engine.office import Office
from keisei.engine.workflow import advance, create
from keisei.records.progression import WorkflowQuery
from keisei.wiring.registry import defaults_of
from keisei.wiring.runner import new_id
from tests.wiring.house import House

AGENT = """
import json, os, sys
state, desk = sys.argv[1], sys.argv[2]
payload = json.load(open(os.environ["AGENT_RUNTIME_TASK_PAYLOAD_FILE"]))
goal = payload["objective"]
count = os.path.join(desk, f"{goal}.{state}.count")
turn = int(open(count).read()) if os.path.exists(count) else 0
open(count, "w").write(str(turn + 1))
answers = json.load(open(os.path.join(desk, "answers.json")))[goal][state]
answer = answers[min(turn, len(answers) - 1)]
prompt = open(os.path.join(os.environ["AGENT_RUNTIME_STATE_DIR"], "prompt.md")).read()
with open(os.path.join(desk, "seen.jsonl"), "a") as seen:
    seen.write(json.dumps({"state": state, "turn": turn, "payload": payload, "prompt": prompt,
                           "folder": os.environ["AGENT_RUNTIME_ARTIFACT_DIR"]}) + "\\n")
for name, text in answer.pop("leaves", {}).items():
    open(os.path.join(os.environ["AGENT_RUNTIME_ARTIFACT_DIR"], name), "w").write(text)
print(json.dumps({"status": "completed", "operator_summary": f"{state} {turn + 1}"} | answer))
"""
PROFILE = """
profile_id = "{profile}"
style = "claude-like"
role = "program"
default_adapter_id = "{state}"
fallback_adapter_ids = []
prompt_parts = []
skill_ids = []

[context_policy]
max_prompt_chars = 200000
include_recent_memory = false

[result_policy]
allow_follow_up_tasks = true
allow_external_messages = false
"""
ADAPTER = """
[adapters.{state}]
kind = "script"
command = {command}
extra_args = {args}
timeout_ms = 60000
"""
STATES = {"plan": "architect", "execute": "code-implementer", "verify": "validator"}


class Goal(House):
    """The shipped goal-loop, with agents that do as they are told."""

    def __init__(self, folder: Path, **options: str) -> None:
        self.desk = folder / "desk"
        self.desk.mkdir(parents=True)
        agent = self.desk / "agent.py"
        agent.write_text(AGENT)
        adapters = "".join(
            ADAPTER.format(
                state=state,
                command=json.dumps(sys.executable),
                args=json.dumps([str(agent), state, str(self.desk)]),
            )
            for state in STATES
        )
        super().__init__(folder, adapters=adapters, **options)
        profiles = self.root / ".keisei" / "profiles"
        profiles.mkdir()
        for state, profile in STATES.items():
            (profiles / f"{profile}.toml").write_text(PROFILE.format(profile=profile, state=state))
        self.answers = {}

    def say(self, goal: str, **signals: list) -> None:
        """What the agents of one goal answer, state by state and turn by turn: a signal, or a whole answer."""
        told = {"plan": ["continue"], "execute": ["continue"], "verify": ["complete"]} | signals
        self.answers[goal] = {
            state: [{"workflow_signal": each} if isinstance(each, str) else each for each in answers]
            for state, answers in told.items()
        }
        (self.desk / "answers.json").write_text(json.dumps(self.answers))

    def begin(self, goal: str, **given: object):
        """A workflow for a goal."""
        asked = {"workflow_type": "goal-loop", "instance_key": goal, "actor": "test"}
        context = {"objective": goal, "scope": ["src/**"]}
        return create(self.office, **({**asked, "context": context} | given))

    @property
    def office(self):
        return Office(self.store, self.shop.registry, self.defaults, new_id)

    @property
    def defaults(self):
        return defaults_of(self.home)

    def advance(self) -> int:
        return advance(self.office)

    def work(self) -> None:
        """Run and advance until nothing moves any more."""
        self.run()
        while self.advance():
            self.run()

    def workflow(self, goal: str):
        found = self.store.instance(goal)
        assert found is not None
        return found

    def workflows(self):
        return self.store.workflows(WorkflowQuery(limit=1000))

    def seen(self) -> list[dict]:
        """What the agents were given, in order."""
        return [json.loads(line) for line in (self.desk / "seen.jsonl").read_text().splitlines()]

    def turns(self, goal: str) -> dict[str, int]:
        """How many tasks of each state have run."""
        return {
            state: sum(each["state"] == state and each["payload"]["objective"] == goal for each in self.seen())
            for state in STATES
        }
