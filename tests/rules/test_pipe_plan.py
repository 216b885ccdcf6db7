"""Plans: everything that can be known of a pipe is known before it runs, and told at once, with its place."""

import pytest

from keisei.library.pipe import complaining
from keisei.records.error import AuthorError, OperatorError
from keisei.records.problem import Problem
from keisei.rules.pipe_plan import envelopes, plan
from keisei.rules.pipe_undo import undo_input
from tests.rules.pipe_world import ID, TITLE, WORLD, doubts, find, loaded, obj, planned, refused, spec, warned

SEED = """[[steps]]
atom = "kei-task::create"
input = { title = "X" }
capture_as = "task"

[[steps]]
atom = "kei-task::add-dependency"
input = { parent = "$task.id", child = 17 }
"""
ORIGIN = """[pipe]
cache = { enabled = true, ttl_sec = 60, db = "x.sqlite" }

[[steps]]
id = "first"
atom = "kei-task::create"
kind = "command"
cache = { enabled = true, ttl_sec = 60 }
input = { title = "X" }

[[steps]]
id = "second"
atom = "kei-task::add-dependency"
depends-on = ["first"]
input = { parent = "$first.result.id", child = 17 }
"""


def step(atom="kei-any::any", name=None, **more):
    """One step of a pipe; values are TOML."""
    lines = [f'capture_as = "{name}"'] if name else []
    lines += [f'atom = "{atom}"', *(f"{'if' if key == 'condition' else key} = {value}" for key, value in more.items())]
    return "[[steps]]\n" + "\n".join(lines) + "\n"


CREATE = step("kei-task::create", "task", input='{ title = "X" }')
SEARCH = step("kei-task::search", "found", input='{ query = "X" }')


def test_the_seeds_own_pipe_is_planned_as_it_stands():
    made = planned(SEED)

    assert [(each.name, each.needs, each.after) for each in made.steps] == [("task", (), ()), ("step-2", (0,), ())]
    assert (made.order, made.max_parallel, made.on_failure, made.warnings) == ((0, 1), 4, "stop", ())
    assert made.steps[0].words == (
        "runs beside nothing",
        "never retried: kei-task::create is not idempotent",
        "not cached: a command",
    )


def test_the_origins_dialect_means_the_same():
    made = planned(ORIGIN)

    assert [(each.name, each.needs) for each in made.steps] == [("first", ()), ("second", (0,))]
    assert made.warnings == ()
    assert envelopes(made) == {"first", "second"}
    assert "older dialect" in loaded(ORIGIN).warnings[0].message


def test_a_mistake_in_the_origins_dialect_is_told_where_it_was_written():
    text = ORIGIN.replace('depends-on = ["first"]', 'depends-on = ["frist"]').replace(
        "first.result.id", "first.result.ids"
    )

    told = refused(text)

    assert [line.partition(" leads")[0].partition(" |")[0] for line in told] == [
        "14:15 dangling there is no step `frist`",
        "15:20 bad-reference `$first.result.ids`",
    ]


def test_an_output_with_a_result_of_its_own_is_no_envelope():
    gives = obj(("result",), result=obj(("id",), id=ID))
    world = {"kei-x::own": spec("kei-x::own", gives=gives), "kei-x::use": spec("kei-x::use", takes=obj(("n",), n=ID))}
    text = step("kei-x::own", "own") + step("kei-x::use", input='{ n = "$own.result.id" }')

    assert planned(text, world).warnings == ()
    assert envelopes(planned(text, world)) == {"step-2"}
    assert "has no `id`" in refused(text.replace("$own.result.id", "$own.id"), world)[0]


BAD = [
    pytest.param(
        CREATE + step(input='{ a = "$tsk.id" }'),
        ["7:15 bad-reference `$tsk.id` leads nowhere: there is no step `tsk`"],
        id="unknown-step",
    ),
    pytest.param(
        CREATE + step(input='{ a = "$task.idd" }'),
        ["7:15 bad-reference `$task.idd` leads nowhere: `$task`, the output of"],
        id="missing-property",
    ),
    pytest.param(
        CREATE + step(input='{ a = "$task.id.x" }'),
        ["7:15 bad-reference `$task.id.x` leads nowhere: `$task.id` is an integer and has no property `x`"],
        id="a-number-has-no-parts",
    ),
    pytest.param(
        CREATE + step(input='{ a = "$task.id.0" }'),
        ["7:15 bad-reference `$task.id.0` leads nowhere: `$task.id` is an integer and has no index `0`"],
        id="index-into-no-list",
    ),
    pytest.param(
        SEARCH + step(input='{ a = "$found.hits.id" }'),
        ["7:15 bad-reference `$found.hits.id` leads nowhere: `$found.hits` is a list"],
        id="name-into-a-list",
    ),
    pytest.param(
        CREATE + step("kei-task::search", input='{ query = "$task.id" }'),
        ["7:19 wrong-type `$task.id` is an integer, and `query` must be a string"],
        id="impossible",
    ),
    pytest.param(
        CREATE + step("kei-task::add-dependency", input='{ parent = "n ${task.id}", child = 1 }'),
        ["7:20 wrong-type the text with `$task.id` is a string, and `parent` must be an integer"],
        id="text-is-a-string",
    ),
    pytest.param(step(name="a", input='{ x = "$a.y" }'), ["4:15 cycle step `a` refers to itself"], id="itself"),
    pytest.param(step(name="a", needs='["a"]'), ["4:10 cycle step `a` needs itself"], id="needs-itself"),
    pytest.param(
        step(name="a", needs='["c"]') + step(name="b", needs='["a"]') + step(name="c", input='{ x = "$b" }'),
        ["4:10 cycle step `a` comes of itself: it needs `c`, which needs `b`, which needs `a`"],
        id="circle",
    ),
    pytest.param(step(needs='["nope"]'), ["3:10 dangling there is no step `nope`"], id="unknown-need"),
    pytest.param(step(name="item"), ["2:14 bad-name `item` is reserved: `$item` means something else"], id="reserved"),
    pytest.param(step(name="a") + step(name="a"), ["5:14 duplicate-name step 1 is already called `a`"], id="duplicate"),
    pytest.param(
        step(name="step-2") + step(),
        ["2:14 duplicate-name step 2 is already called `step-2`"],
        id="takes-the-name-of-a-nameless-one",
    ),
    pytest.param(
        step(input='{ a = "$item" }'),
        ["3:15 bad-reference `$item` means something only in"],
        id="item-without-for-each",
    ),
    pytest.param(
        step(for_each='"$item"'), ["3:12 bad-reference `$item` means something only in"], id="item-in-for-each"
    ),
    pytest.param(
        step(for_each='"all of it"'),
        ["3:12 bad-reference `all of it` is not a reference"],
        id="for-each-is-a-reference",
    ),
    pytest.param(
        CREATE + step(for_each='"$task.id"'),
        ["7:12 wrong-type `for_each` needs a list, and `$task.id` is an integer"],
        id="for-each-needs-a-list",
    ),
    pytest.param(
        SEARCH + step("kei-task::search", for_each='"$found.hits"', input='{ query = "$item.id" }'),
        ["8:19 wrong-type `$item.id` is an integer, and `query` must be a string"],
        id="item-is-typed",
    ),
    pytest.param(
        SEARCH + step(for_each='"$found.hits"', input='{ a = "$item.name" }'),
        ["8:15 bad-reference `$item.name` leads nowhere: `$item` has no `name`"],
        id="item-has-no-such",
    ),
    pytest.param(
        SEARCH + step("kei-task::search", for_each='"$found.hits"', input='{ query = "$index" }'),
        ["8:19 wrong-type `$index` is an integer, and `query` must be a string"],
        id="index-is-a-number",
    ),
    pytest.param(
        CREATE + step(condition="\"$task.id > 'x'\""),
        ["7:6 bad-condition `>` cannot order an integer and a string"],
        id="condition-types",
    ),
    pytest.param(
        CREATE + step(condition='"1 in $task.id"'), ["7:6 bad-condition `in` needs a list"], id="condition-in"
    ),
    pytest.param(
        CREATE + step(condition='"$task.id >"'),
        ["7:17 bad-condition expected a reference or a value, not the end"],
        id="condition-slip",
    ),
    pytest.param(
        CREATE + step(condition='"$task.x > 1"'),
        ["7:7 bad-reference `$task.x` leads nowhere: `$task`, the output of `kei-task::create`, "],
        id="condition-missing",
    ),
    pytest.param(
        step("kei-task::create", input='{ title = "", priority = "High" }'),
        [
            "3:19 wrong-value `title` must be not empty, not `(empty)`",
            "3:34 wrong-value `priority` must be one of `low`, `medium`, `high`, not `High`",
        ],
        id="literals",
    ),
    pytest.param(
        step("kei-task::create", input='{ titel = "x" }'),
        ["3:9 missing-key missing key `title`", "3:11 unknown-key unknown key `titel`"],
        id="keys",
    ),
    pytest.param(
        CREATE + step("kei-task::add-dependency", input='{ parent = "$task.id", chidl = 1 }'),
        ["7:9 missing-key missing key `child`", "7:32 unknown-key unknown key `chidl`"],
        id="keys-beside-references",
    ),
    pytest.param(
        step("kei-task::create", input='{ title = "$$", milestone_id = "$$5" }'),
        ["3:40 wrong-type `milestone_id` must be an integer, not a string"],
        id="a-dollar-is-a-literal",
    ),
    pytest.param(
        step("kei-task::creat", undo='"kei-task::uncreate"'),
        [
            "2:8 missing-atom there is no atom `kei-task::creat`",
            "3:8 missing-atom there is no atom `kei-task::uncreate`",
        ],
        id="unknown-atom",
    ),
    pytest.param(
        step("kei-task::create", input='{ title = "x" }', retry="{ max = 1 }"),
        ["4:9 not-retryable `kei-task::create` is never tried again by itself"],
        id="retry-widens",
    ),
    pytest.param(
        step("kei-task::search", input='{ query = "x" }', retry='{ max = 1, on = ["Busy", "InvalidQuery", "Bsy"] }'),
        [
            "4:34 not-retryable `InvalidQuery` of `kei-task::search` is never tried again",
            "4:50 wrong-value `kei-task::search` declares no error `Bsy`",
        ],
        id="retry-codes",
    ),
    pytest.param(
        step("kei-task::create", input='{ title = "x" }', undo='"kei-task::remove-dependency"'),
        [
            "4:8 missing-key `kei-task::remove-dependency` needs `child`, which neither",
            "4:8 missing-key `kei-task::remove-dependency` needs `parent`, which neither",
        ],
        id="undo-cannot-be-called",
    ),
    pytest.param(
        step("kei-log::tail", "tail") + step(name="a", for_each='"$tail"') + step(input='{ x = "$tail" }'),
        ["10:15 contradiction `tail` is a stream and has one consumer: `a` takes it already"],
        id="two-consumers",
    ),
]


@pytest.mark.parametrize(("text", "told"), BAD)
def test_what_is_wrong_is_told_with_its_place(text, told):
    assert [line[: len(want)] for line, want in zip(refused(text), told, strict=True)] == told


def test_all_problems_of_a_file_are_told_at_once_in_its_order():
    told = refused(
        SEED.replace("title", "titel").replace("$task.id", "$tsk.id").replace("17", '"x"') + step("kei-no::no")
    )

    assert [line.split(" ")[1] for line in told] == [
        "missing-key",
        "unknown-key",
        "bad-reference",
        "wrong-type",
        "missing-atom",
    ]


def test_a_missing_property_lists_what_there_is_with_the_nearest_first():
    assert refused(CREATE + step(input='{ a = "$task.notes" }'))[0].endswith(
        "| did you mean `note`? available: `note`, `created_at`, `id`"
    )


def test_broken_files_of_an_atom_are_told_beside_the_place_that_calls_it():
    problem = Problem(code="syntax", path="atoms/x.md", line=3, column=1, message="broken")

    def atom(atom_id):
        raise AuthorError([problem]) if atom_id == "kei-x::x" else OperatorError("the disk is full", "make room")

    found = loaded(step("kei-x::x") + step("kei-x::x") + step("kei-x::y"))
    with pytest.raises(AuthorError) as caught:
        plan(found.record, complaining(found.document), atom, name="x")

    assert [(each.code, each.line) for each in caught.value.problems] == [
        ("dangling", 2),
        ("dangling", 4),
        ("dangling", 6),
        ("syntax", 3),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            CREATE + step("kei-text::upper", input='{ text = "$task.note" }'),
            ["unproven `$task.note` may be absent: checked at run time"],
            id="optional",
        ),
        pytest.param(
            SEARCH + step("kei-task::search", input='{ query = "q ${found.hits.0.title}" }'),
            ["unproven `$found.hits.0.title` may be absent: checked at run time"],
            id="perhaps-empty",
        ),
        pytest.param(
            CREATE + step("kei-task::create", input='{ title = "x", priority = "$task.note" }'),
            [
                'unproven `$task.note` is not certain to fit `priority` ("Fix auth bug #42 (Zürich), today." ',
                "unproven `$task.note` may be absent: checked at run time",
            ],
            id="any-text-for-one-of-few",
        ),
        pytest.param(
            step("kei-task::create", input='{ title = "x", priority = "p${input.x}" }'),
            ['unproven the text with `$input.x` is not certain to fit `priority` ("pFix auth bug #42'],
            id="a-text-for-one-of-few",
        ),
        pytest.param(
            CREATE + step("kei-text::upper", input='{ text = "$task.note" }', condition="\"'note' in $task\""),
            [],
            id="asked-for-in-the-condition",
        ),
        pytest.param(
            SEARCH + step("kei-task::search", input='{ query = "q ${found.hits.0.title}" }', condition='"$found.hits"'),
            [],
            id="a-list-that-is-not-empty",
        ),
        pytest.param(
            CREATE + step("kei-text::upper", input='{ text = "$task.note" }', condition='"not $task.note"'),
            ["unproven `$task.note` may be absent"],
            id="the-condition-asks-too-late",
        ),
        pytest.param(
            step(
                "kei-task::search",
                input='{ query = "$input.q", limit = "$input.n" }',
                for_each='"$input.all"',
                condition='"$item.x"',
            ),
            [],
            id="input-is-anybodys",
        ),
        pytest.param(
            CREATE + step(condition="\"$task.note == 'x'\""),
            ["unproven `$task.note` may be absent"],
            id="optional-in-a-condition",
        ),
        pytest.param(CREATE + step(condition="\"'note' in $task and $task.note == 'x'\""), [], id="asked-for"),
        pytest.param(
            CREATE + step(condition="\"$task.id == 'x'\""),
            ["bad-condition `==` compares an integer and a string, which are never equal"],
            id="never-equal",
        ),
        pytest.param(
            '[pipe]\non_failure = "continue"\n'
            + step("kei-task::add-dependency", input="{ parent = 1, child = 2 }", undo='"kei-task::remove-dependency"'),
            ["unused `kei-task::remove-dependency` is never called"],
            id="undo-that-never-comes",
        ),
    ],
)
def test_what_cannot_be_proved_is_a_warning(text, told):
    found = warned(text)

    assert [line[: len(want)] for line, want in zip(sorted(found), sorted(told), strict=True)] == sorted(told)


def test_a_text_is_known_to_be_as_long_as_what_stands_around_its_references():
    takes = obj(("t",), t={"type": "string", "minLength": 5})
    world = {"kei-x::x": spec("kei-x::x", takes=takes)}

    assert warned(step("kei-x::x", input='{ t = "Fix: ${input.a}" }'), world) == []
    assert warned(step("kei-x::x", input='{ t = "Fix ${input.a}" }'), world) == []
    assert doubts(step("kei-x::x", input='{ t = "Fix: ${input.a}" }'), world) == []
    assert doubts(step("kei-x::x", input='{ t = "Fix ${input.a}" }'), world) == [
        "the text with `$input.a` is not certain to fit `t` (a text of 4 characters would not): checked at run time"
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            step(name="any") + step("kei-task::search", input='{ query = "$any.x" }'),
            ["`$any.x` may be absent", "`$any.x` is"],
        ),
        (step(name="any") + step(for_each='"$any"'), ["`$any` is not certain to be a list"]),
        (
            CREATE + step("kei-task::search", input='{ query = "$task.created_at" }'),
            ["`$task.created_at` is not certain"],
        ),
        (
            CREATE + step("kei-task::search", input='{ query = "n ${task.created_at}" }'),
            ["the text with `$task.created_at`"],
        ),
        (CREATE + step("kei-task::search", input='{ query = "n", limit = "$task.id" }'), []),
    ],
)
def test_what_only_the_unusual_would_break_stands_among_the_words(text, told):
    assert warned(text) == []
    assert [line[: len(want)] for line, want in zip(sorted(doubts(text)), sorted(told), strict=True)] == sorted(told)


NULL = {"anyOf": [ID, {"type": "null"}]}
TASK = obj(("m", "s", "tags"), m=NULL, s={"enum": ["open", "done", None]}, tags={"type": "array", "items": TITLE})
NULLS = WORLD | {
    "kei-x::get": spec("kei-x::get", gives=TASK),
    "kei-x::put": spec("kei-x::put", takes=obj((), id=ID, text={"type": "string"})),
}
GET = step("kei-x::get", "t")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            step("kei-x::put", input='{ id = "$t.m" }'),
            ["16 unproven `$t.m` is not certain to fit `id` (null would not)"],
        ),
        (step("kei-x::put", input='{ id = "$t.m" }', condition='"$t.m != null"'), []),
        (step("kei-x::put", input='{ id = "$t.m" }', condition='"$t.m"'), []),
        (step("kei-x::put", input='{ id = "$t.m" }', condition='"not ($t.m == null) and true"'), []),
        (
            step("kei-x::put", input='{ id = "$t.m" }', condition='"$t.m != null or true"'),
            ["16 unproven `$t.m` is not"],
        ),
        (step("kei-x::put", input='{ id = "$t.m" }', condition='"$t.m != 3"'), ["16 unproven `$t.m` is not certain"]),
        (step("kei-x::put", input='{ text = "a ${t.m}" }'), ["21 unproven `$t.m` may be null, and null is no text"]),
        (step("kei-x::put", input='{ text = "a ${t.m}" }', condition='"$t.m > 1"'), []),
        (
            step("kei-x::put", "p", input="{}", condition='"$t.m != null"')
            + step("kei-x::put", input='{ id = "$t.m" }', needs='["p"]'),
            [],
        ),
        (
            step("kei-x::put", "p", input="{}", condition='"$t.m != null"', for_each='"$t.tags"')
            + step("kei-x::put", input='{ id = "$t.m" }', needs='["p"]'),
            ["16 unproven `$t.m` is not certain"],
        ),
        (step(condition="\"$t.s == 'done'\""), []),
        (step(condition="\"$t.s != 'dne'\""), ["7 bad-condition `$t.s` is never `dne`"]),
        (step(condition="\"1 > 0 and 'closed' == $t.s\""), ["29 bad-condition `$t.s` is never `closed`"]),
    ],
)
def test_conditions_that_held_are_taken_for_granted(text, told):
    found = [f"{each.column} {each.code} {each.message}" for each in planned(GET + text, NULLS).warnings]

    assert [line[: len(want)] for line, want in zip(found, told, strict=True)] == told


def test_a_problem_inside_a_text_is_told_where_it_stands():
    told = refused(
        CREATE
        + step(input='{ a = "x ${task.id} ${task.uid}" }')
        + step(input='{ a = """\nx\n  ${nobody.x}""" }')
        + step(input='{ a = "\\u0024{tsk.id}" }')
        + step(condition="'$task.id == $task.uid'")
        + step(condition="'$task.id = 1'")
    )

    assert [line.split(" ")[0] for line in told] == ["7:29", "12:3", "15:15", "18:19", "21:16"]


def test_an_undeclared_key_of_an_open_input_is_a_warning():
    world = {"kei-x::x": spec("kei-x::x", takes=obj((), closed=False, title={"type": "string"}))}

    assert warned(step("kei-x::x", input='{ titel = "$input.x" }'), world) == [
        "unknown-key `kei-x::x` declares no key `titel`"
    ]


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [obj(("a",), a={"type": "string"}), obj(("b",), b=ID)]},
        {"type": "object", "if": {"properties": {"a": {"const": None}}}, "then": {"required": ["z"]}},
        {"type": "object", "not": {"properties": {"a": {"type": "null"}}}},
        {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True, "items": {"type": "string"}}}},
        {"type": "object", "dependencies": {"a": ["z"]}}
        if False
        else {"type": "object", "propertyNames": {"maxLength": 3}},
    ],
    ids=["any-of", "if-then", "not", "unique", "names"],
)
def test_a_reference_is_never_taken_for_the_null_that_stands_in_for_it(schema):
    world = {"kei-x::x": spec("kei-x::x", takes=schema)}

    assert refused(step("kei-x::x", input='{ a = "$input.x" }'), world) == []


def test_steps_that_conflict_are_ordered_by_the_file_and_it_is_said():
    made = planned(CREATE + step("kei-task::create", "other", input='{ title = "Y" }') + SEARCH + step(name="free"))

    assert [each.after for each in made.steps] == [(), (0,), (1,), ()]
    assert made.steps[1].words[0] == "waits for `task`, both write kei-task-db; the file gives the order"
    assert made.steps[2].words[0] == (
        "waits for `other`, one reads kei-task-db and the other writes it; the file gives the order"
    )
    assert "may run beside: `task`, `other`, `found`" in made.steps[3].words
    assert made.warnings == ()


def test_what_needs_order_is_no_ambiguity():
    made = planned(
        CREATE
        + step("kei-text::upper", "mid", input='{ text = "t ${task.id}" }')
        + step("kei-task::create", input='{ title = "Y" }', needs='["mid"]')
    )

    assert [each.after for each in made.steps] == [(), (), ()]
    assert "file-order" not in {each.code for each in made.warnings}


def test_needs_against_the_file_turn_the_order_of_a_conflict():
    made = planned(
        step("kei-task::create", "late", input='{ title = "Y" }', needs='["first"]') + SEARCH + step(name="first")
    )

    assert made.order == (1, 2, 0)
    assert [each.after for each in made.steps] == [(1,), (), ()]
    assert [(each.code, each.line, each.message) for each in made.warnings] == [
        (
            "file-order",
            3,
            "`found` goes before `late`, which stands above it: one writes kei-task-db and the other reads it",
        )
    ]


def test_an_effect_that_says_nothing_runs_alone():
    made = planned(step(name="a") + step("kei-sys::boot", "boot") + step(name="b") + step(name="c"))

    assert [each.after for each in made.steps] == [(), (0,), (1,), (1,)]
    assert "runs beside nothing" in made.steps[1].words
    assert (
        "waits for `a`, nothing runs beside `kei-sys::boot`: it declares the effect `other`; the file gives the order"
        in (made.steps[1].words)
    )


def test_members_of_a_step_that_writes_run_one_after_another():
    made = planned(
        SEARCH
        + step("kei-task::create", "many", for_each='"$found.hits"', input='{ title = "$item.title" }')
        + step("kei-text::upper", "up", for_each='"$found.hits"', input='{ text = "$item.title" }')
    )

    assert [each.serial for each in made.steps] == [False, True, False]
    assert "members run one after another: they write kei-task-db" in made.steps[1].words
    assert "members run side by side" in made.steps[2].words


@pytest.mark.parametrize(
    ("text", "most", "why", "cached"),
    [
        (CREATE, 0, "never retried: kei-task::create is not idempotent", False),
        (SEARCH, 2, "retried up to 2 times: a query changes nothing", False),
        (
            step("kei-text::upper", input='{ text = "x" }'),
            2,
            "retried up to 2 times: a transform changes nothing",
            True,
        ),
        (
            step("kei-task::remove-dependency", input="{ parent = 1, child = 2 }"),
            2,
            "retried up to 2 times: it is idempotent",
            False,
        ),
        (
            step("kei-task::search", input='{ query = "x" }', retry='{ max = 1, on = ["Busy"] }'),
            1,
            "retried up to once, on Busy: a query changes nothing",
            False,
        ),
        (
            step("kei-task::search", input='{ query = "x" }', retry="{ max = 0 }"),
            0,
            "never retried: the step says so",
            False,
        ),
    ],
)
def test_retry_and_cache_follow_from_the_atom(text, most, why, cached):
    made = planned(text).steps[0]

    assert (made.retry.max, made.retry.why, made.cached) == (most, why, cached)
    assert why in made.words


TAIL = step("kei-log::tail", "tail")
TAKE = step("kei-text::upper", "take", for_each='"$tail"', input='{ text = "$item.line" }')


def test_a_stream_is_taken_as_it_comes():
    made = planned(TAIL + TAKE)

    assert (made.steps[0].streamed, made.steps[1].consumes, made.steps[1].needs) == (True, 0, (0,))
    assert "a stream: `take` takes its items as they come" in made.steps[0].words
    assert "takes the items of `tail` as they come" in made.steps[1].words
    assert made.steps[0].retry.max == 0


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(TAIL + step(name="take", input='{ all = "$tail" }'), id="as-a-value"),
        pytest.param(TAIL + TAKE.replace("$item.line", "${item.line} ${tail.0.line}"), id="also-as-a-value"),
        pytest.param(TAIL + step("kei-log::write", "take", for_each='"$tail"'), id="in-conflict"),
        pytest.param(TAIL + step(name="mid", needs='["tail"]') + TAKE + 'needs = ["mid"]\n', id="with-a-step-between"),
        pytest.param(TAIL + step("kei-log::write", "mid") + TAKE + 'needs = ["mid"]\n', id="with-a-conflict-between"),
        pytest.param(TAIL + 'for_each = "$input.x"\n' + TAKE.replace("item.line", "item.0.line"), id="many-streams"),
    ],
)
def test_a_stream_that_cannot_run_beside_its_consumer_is_collected(text):
    made = planned(text)

    assert not any(each.streamed or each.consumes is not None for each in made.steps)
    assert "a stream: its items are collected into a list" in made.steps[0].words


def test_a_stream_waits_for_what_its_consumer_waits_for():
    made = planned(TAIL + step(name="first") + TAKE + 'needs = ["first"]\n')

    assert made.steps[0].after == (1,)
    assert made.order == (1, 0, 2)


def test_undo_is_called_with_what_the_step_has():
    text = step(
        "kei-task::add-dependency", input='{ parent = 1, child = "$input.c" }', undo='"kei-task::remove-dependency"'
    )

    assert planned(text).steps[0].undo is WORLD["kei-task::remove-dependency"]
    assert undo_input(WORLD["kei-task::remove-dependency"], {"child": 3, "x": 1}, {"parent": 1, "child": 2}) == {
        "parent": 1,
        "child": 3,
    }


def test_a_digest_changes_with_what_decides_about_the_result_and_with_nothing_else():
    first = planned(CREATE).steps[0].step_sha

    assert planned(CREATE.replace('"X"', '"Y"')).steps[0].step_sha != first
    assert planned(CREATE + 'if = "$input.x"\n').steps[0].step_sha != first
    assert planned(CREATE.replace('"task"', '"other"') + step()).steps[0].step_sha == first
    assert planned(CREATE).definition_sha == planned("\n" + CREATE).definition_sha != planned(SEED).definition_sha


def test_atoms_are_asked_for_once():
    asked = []

    def atom(atom_id):
        asked.append(atom_id)
        return find(atom_id)

    found = loaded(CREATE + SEARCH + step("kei-task::search", input='{ query = "$found.hits.0.title" }'))
    plan(found.record, complaining(found.document), atom, name="x")

    assert asked == ["kei-task::create", "kei-task::search"]


def test_a_long_pipe_is_planned_and_its_warnings_are_counted_not_listed():
    steps = [step("kei-task::search", f"t{n}", input='{ query = "x" }', needs='["last"]') for n in range(2_000)]

    made = planned("".join(steps) + CREATE + step(name="last"))

    assert [each.after for each in made.steps[:3]] == [(2_000,)] * 3
    assert len(made.warnings) == 21
    assert [each.message for each in made.warnings if "more pairs" in each.message] == [
        "and 1980 more pairs of steps go against the order of the file"
    ]


def test_a_flood_of_problems_is_cut_short():
    told = refused("".join(step(input='{ a = "$no.x" }') for _ in range(300)))

    assert len(told) == 201
    assert "and 100 more" in told[-1]
