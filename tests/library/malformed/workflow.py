"""workflows/*.toml."""

# ruff: noqa: E501 - a message stands on one line here, as it is compared

from tests.library.malformed.case import Kind, case, kit

MAIN = "workflows/goal-loop.toml"
AS_JSON = "workflows/other.json"

KIND = Kind("workflow", MAIN, {MAIN: kit(MAIN)}, by="workflow")

HEAD = 'workflow_type = "goal-loop"\ninitial_state = "a"\n'
PLAN = '[[states]]\nstate_id = "plan"\ntask_type = "goal-plan"\n'
END = '[[states]]\nstate_id = "complete"\nemits_task_intent = false\n'
TO_END = '{ signal = "complete", next_state = "complete" }'


def states(*lines: str) -> dict[str, str]:
    """A small workflow: `a > b c` is a state with two transitions, `a` an end, `a !3 > b` a capped state."""
    text = HEAD
    for line in lines:
        left, _, right = line.partition(" > ")
        name, _, cap = left.partition(" !")
        targets = ", ".join(f'{{ signal = "s{n}", next_state = "{to}" }}' for n, to in enumerate(right.split()))
        marked = f'‸"{name[1:]}"' if name.startswith("‸") else f'"{name}"'
        text += f"\n[[states]]\nstate_id = {marked}\ntransitions = [{targets}]\n"
        text += f"max_visits = {cap}\n" if cap else ""
    return {MAIN: text}


CASES = [
    case("empty-file", "missing-key", write={MAIN: ""}),
    case(
        "no-type",
        "missing-key",
        write={MAIN: '‸initial_state = "a"\n\n[[states]]\nstate_id = "a"\n'},
        says="missing key `workflow_type`",
    ),
    case(
        "no-initial-state",
        "missing-key",
        write={MAIN: '‸workflow_type = "goal-loop"\n\n[[states]]\nstate_id = "a"\n'},
        says="missing key `initial_state`",
    ),
    case("no-states", "missing-key", write={MAIN: "‸" + HEAD}, says="missing key `states`"),
    case(
        "states-empty",
        "wrong-value",
        write={MAIN: HEAD + "states = ‸[]\n"},
        says="`states` must be a list that is not empty, not `[]`",
    ),
    case(
        "states-are-a-table",
        "wrong-type",
        write={MAIN: HEAD + "\n‸[states]\na = 1\n"},
        says="`states` must be a list, not an object",
    ),
    case(
        "states-by-name",
        "wrong-type",
        write={MAIN: HEAD + '\n‸[states.a]\ntask_type = "script"\n'},
        says="`states` must be a list, not an object",
    ),
    case(
        "state-is-text",
        "wrong-type",
        write={MAIN: HEAD + 'states = [‸"a"]\n'},
        says="states[0] must be an object, not a string",
    ),
    case(
        "state-without-id",
        "missing-key",
        (PLAN, '‸[[states]]\ntask_type = "goal-plan"\n'),
        says="missing key `state_id`",
    ),
    case(
        "state-key-misspelt",
        "unknown-key",
        ('task_type = "goal-plan"', '‸task_typ = "goal-plan"'),
        says="unknown key `task_typ`",
        hint="did you mean `task_type`?",
    ),
    case(
        "state-key-with-a-dash",
        "unknown-key",
        ("max_visits = 3", "‸max-visits = 3"),
        says="unknown key `max-visits`",
        hint="did you mean `max_visits`?",
    ),
    case(
        "top-key-misspelt",
        "unknown-key",
        ("initial_state =", "‸inital_state ="),
        also=("missing-key",),
        says="unknown key `inital_state`",
        hint="did you mean `initial_state`?",
    ),
    case(
        "transition-key-misspelt",
        "unknown-key",
        (TO_END, '{ ‸signl = "complete", next_state = "complete" }'),
        also=("missing-key",),
        says="unknown key `signl`",
        hint="did you mean `signal`?",
    ),
    case(
        "transition-without-target",
        "missing-key",
        (TO_END, '‸{ signal = "complete" }'),
        says="missing key `next_state`",
    ),
    case(
        "transition-is-text",
        "wrong-type",
        (TO_END, '‸"complete"'),
        says="states[2].transitions[2] must be an object, not a string",
    ),
    case(
        "transitions-are-a-table",
        "wrong-type",
        write={MAIN: HEAD + '\n[[states]]\nstate_id = "a"\ntransitions = ‸{ done = "a" }\n'},
        says="`transitions` must be a list, not an object",
    ),
    case(
        "type-of-another-file",
        "bad-name",
        ('workflow_type = "goal-loop"', 'workflow_type = ‸"goal-lop"'),
        says="workflow_type `goal-lop` differs from the file `goal-loop.toml`",
    ),
    case(
        "type-in-capitals",
        "wrong-value",
        ('workflow_type = "goal-loop"', 'workflow_type = ‸"Goal"'),
        says="`workflow_type` must be lower-case letters, digits, `_` and `-`, starting with a letter, not `Goal`",
    ),
    case(
        "type-is-a-list",
        "wrong-type",
        ('workflow_type = "goal-loop"', 'workflow_type = ‸["goal-loop"]'),
        says="`workflow_type` must be a string, not a list",
    ),
    case(
        "description-is-a-number",
        "wrong-type",
        ('description = "Reach', 'description = ‸5 # "Reach'),
        says="`description` must be a string, not an integer",
    ),
    case(
        "initial-state-leads-nowhere",
        "dangling",
        ('initial_state = "plan"', 'initial_state = ‸"plann"'),
        says="initial state `plann` does not exist",
    ),
    case(
        "initial-state-with-a-space",
        "wrong-value",
        ('initial_state = "plan"', 'initial_state = ‸"the plan"'),
        says="`initial_state` must be lower-case letters, digits, `_` and `-`, starting with a letter, not `the plan`",
    ),
    case(
        "transition-leads-nowhere",
        "dangling",
        (TO_END, '{ signal = "complete", next_state = ‸"completed" }'),
        says="signal `complete` leads to state `completed`, which does not exist",
    ),
    case(
        "transition-to-itself-by-another-case",
        "wrong-value",
        (TO_END, '{ signal = "complete", next_state = ‸"Complete" }'),
        says="`next_state` must be lower-case letters, digits, `_` and `-`, starting with a letter, not `Complete`",
    ),
    case(
        "signal-with-a-space",
        "wrong-value",
        (TO_END, '{ signal = ‸"all done", next_state = "complete" }'),
        says="`signal` must be lower-case letters, digits, `_` and `-`, starting with a letter, not `all done`",
    ),
    case("signal-empty", "wrong-value", (TO_END, '{ signal = ‸"", next_state = "complete" }')),
    case("signal-of-65-letters", "wrong-value", (TO_END, f'{{ signal = ‸"{"s" * 65}", next_state = "complete" }}')),
    case(
        "signal-twice",
        "contradiction",
        (
            '{ signal = "complete", next_state = "verify" },\n]\nmax_visits = 3',
            '{ signal = ‸"continue", next_state = "verify" },\n]\nmax_visits = 3',
        ),
    ),
    case(
        "signal-completes-and-moves",
        "contradiction",
        (
            TO_END + ",\n]\n",
            '{ signal = ‸"complete", next_state = "complete" },\n]\ncompletion_signals = ["complete"]\n',
        ),
        says="signal `complete` is used twice in state `verify`",
    ),
    case(
        "state-twice",
        "duplicate-name",
        (END, END + '\n[[states]]\nstate_id = ‸"complete"\n'),
        says="state `complete` is defined 2 times",
    ),
    case(
        "state-three-times",
        "duplicate-name",
        (END, END + '\n[[states]]\nstate_id = "complete"\n\n[[states]]\nstate_id = ‸"complete"\n'),
        says="state `complete` is defined 3 times",
    ),
    case(
        "state-never-reached",
        "unreachable-state",
        (END, END + '\n[[states]]\nstate_id = ‸"island"\n'),
        says="state `island` is never reached",
    ),
    case("states-never-reached-but-by-each-other", "unreachable-state", write=states("a", "b > c", "c > b")),
    case("no-end", "endless", write=states("‸a > a"), says="no end can be reached from state `a`"),
    case("no-end-though-capped", "endless", write=states("‸a !3 > a"), says="no end can be reached from state `a`"),
    case("two-states-without-an-end", "endless", write=states("a > b", "b > a")),
    case(
        "circle-without-a-cap",
        "endless",
        write=states("‸a > a b", "b"),
        says="state `a` can come round forever: no state of the circle has `max_visits`",
    ),
    case("circle-of-three-without-a-cap", "endless", write=states("a > b", "b > c", "c > a d", "d")),
    case(
        "circle-beside-a-capped-one",
        "endless",
        write=states("a !3 > b c", "‸b > b a", "c"),
        says="state `b` can come round forever: no state of the circle has `max_visits`",
    ),
    case(
        "cap-of-zero",
        "wrong-value",
        ("max_visits = 3", "max_visits = ‸0"),
        says="`max_visits` must be at least 1, not `0`",
    ),
    case(
        "cap-is-text",
        "wrong-type",
        ("max_visits = 3", 'max_visits = ‸"3"'),
        says="`max_visits` must be an integer, not a string",
    ),
    case(
        "cap-is-a-half",
        "wrong-type",
        ("max_visits = 3", "max_visits = ‸2.5"),
        says="`max_visits` must be an integer, not a number",
    ),
    case(
        "cap-too-large",
        "wrong-value",
        ("max_visits = 3", "max_visits = ‸9007199254740993"),
        says="must be an integer between -(2^53-1) and 2^53-1",
    ),
    case(
        "task-type-leads-nowhere",
        "dangling",
        ('task_type = "goal-plan"', 'task_type = ‸"goal-plans"'),
        says="task-type `goal-plans` does not exist",
        hint="did you mean `goal-plan`?",
    ),
    case(
        "profile-leads-nowhere",
        "dangling",
        ('"architect"', '‸"architekt"'),
        says="profile `architekt` does not exist",
        hint="did you mean `architect`?",
    ),
    case(
        "skill-leads-nowhere",
        "dangling",
        ("max_visits = 3", 'max_visits = 3\ndefault_skill_ids = ["code-review", ‸"bounded-changes"]'),
        says="skill `bounded-changes` does not exist",
        hint="did you mean `bounded-change`?",
    ),
    case(
        "skills-are-text",
        "wrong-type",
        ("max_visits = 3", 'max_visits = 3\ndefault_skill_ids = ‸"code-review"'),
        says="`default_skill_ids` must be a list, not a string",
    ),
    case(
        "intent-is-text",
        "wrong-type",
        ("emits_task_intent = false", 'emits_task_intent = ‸"no"'),
        says="`emits_task_intent` must be true or false, not a string",
    ),
    case(
        "completion-signals-are-text",
        "wrong-type",
        ("emits_task_intent = false", 'completion_signals = ‸"complete"'),
        says="`completion_signals` must be a list, not a string",
    ),
    case(
        "key-twice",
        "duplicate-key",
        ("max_visits = 3", 'max_visits = 3\n‸state_id = "again"'),
        says="this key or table is already there",
    ),
    case(
        "key-twice-inline",
        "duplicate-key",
        (TO_END, '{ signal = "complete", ‸signal = "complete", next_state = "complete" }'),
    ),
    case(
        "inline-table-over-lines",
        "syntax",
        write={MAIN: HEAD + '\n[[states]]\nstate_id = "a"\ntransitions = [{ signal = "x",‸\n next_state = "a" }]\n'},
    ),
    case("list-not-closed", "syntax", write={MAIN: HEAD + 'states = [{ state_id = "a" }\n'}),
    case("json-that-is-a-list", "wrong-type", write={AS_JSON: "‸[]\n"}, says="document must be an object, not a list"),
    case("json-with-a-comma-too-many", "syntax", write={AS_JSON: '{"workflow_type": "other",}\n'}),
    case("json-with-a-comment", "syntax", write={AS_JSON: "{ ‸// states\n}\n"}),
    case(
        "json-key-twice",
        "duplicate-key",
        write={
            AS_JSON: '{"workflow_type": "other", "initial_state": "a",\n ‸"initial_state": "a", "states": [{"state_id": "a"}]}\n'
        },
        says="the key `initial_state` is written twice",
    ),
    case(
        "json-without-states",
        "missing-key",
        write={AS_JSON: '‸{"workflow_type": "other", "initial_state": "a"}\n'},
        says="missing key `states`",
    ),
    case(
        "json-and-toml-of-one-name",
        "duplicate-name",
        write={
            "workflows/goal-loop.json": '{"workflow_type": "goal-loop", "initial_state": "a", "states": [{"state_id": "a"}]}\n'
        },
        placed=False,
    ),
]
