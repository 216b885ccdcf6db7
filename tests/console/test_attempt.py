"""The page of an attempt and its stream: all is shown, nothing of it is obeyed, nothing is lost or told twice."""

import asyncio
import json
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from keisei.console import attempt_stream, diff, tail
from keisei.console.attempt_stream import Tailer, places_of, tailer_of
from keisei.console.diff import BRIEF, diff_of
from keisei.console.tail import FILES, STREAMS, WIDEST, Places, Tail, unfinished
from keisei.console.transcript import said
from keisei.evidence.file import FileEvidence
from keisei.records.attempt import TaskAttempt
from keisei.records.project import ProjectFile
from keisei.rules.evidence import keys_of
from keisei.wiring.hall import project_shop, runner_options, shop_runner
from keisei.wiring.store import Home
from tests.cli.landing import PATCH, finding
from tests.cli.shop import eventually
from tests.console.attempts import Listener, Run, served
from tests.console.house import VIEWER, open_house
from tests.console.landings import HOSTILE

CLAUDE = [
    {"type": "system", "subtype": "init", "model": "opus"},
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "I look <b>around</b>."}]}},
    {
        "type": "assistant",
        "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "git push"}}]},
    },
    {"type": "user", "message": {"content": [{"type": "tool_result", "is_error": True, "content": "no \x1b[31m git"}]}},
    {"type": "result", "is_error": False, "result": "Done."},
]


@pytest.fixture
def house(tmp_path, monkeypatch):
    monkeypatch.setattr(attempt_stream, "LOOK_S", 0.02)
    with open_house(tmp_path) as opened:
        yield opened


def stream(run, **query):
    words = "&".join(f"{name}={value}" for name, value in query.items())
    return f"/api/v1/attempts/{run.id}/stream?{words}"


def text_of(events, name="stdout"):
    return "".join(told["text"] for event, told in events if event == "output" and told["stream"] == name)


def lines_of(objects):
    return b"".join(json.dumps(each).encode() + b"\n" for each in objects)


# --- the page ---------------------------------------------------------------------------------------------------------


def test_an_attempt_that_a_runner_has_made_is_shown_with_all_its_evidence(house):
    script = "echo '<script>alert(1)</script>'; printf '\\033[31m\\377' ; echo oh >&2"
    queued = house.order("/tasks", task_type="script", payload={"args": ["-c", script]})
    task_id = queued.json()["task_id"]
    shop = project_shop(house.premises.settings, house.premises.home, house.store)
    shop_runner(shop, runner_options(shop.runner, jobs=1, once=True, until_idle=True), lambda _line: None).run()
    (attempt,) = house.store.attempts(task_id)

    told, shown = house.api(f"/attempts/{attempt.attempt_id}"), house.page(f"/attempts/{attempt.attempt_id}")

    assert told["stage"] == "ended"
    assert told["output"]["stdout"]["text"] == "<script>alert(1)</script>\n\\x1b[31m\ufffd"
    assert told["output"]["stderr"]["text"] == "oh\n"
    assert told["end"]["code"] == 0
    assert told["bundle"]["attempt_id"] == attempt.attempt_id
    assert told["prompt"]["size"] > 0
    assert {"stdout.log", "result.json", "prompt.md"} <= {each["name"] for each in told["files"]}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\n\\x1b[31m" in shown
    assert "<script>alert" not in shown
    assert "\x1b" not in shown
    assert told["bundle"]["bundle_hash"] in shown
    assert house.client.get(f"/attempts/{attempt.attempt_id}/evidence/stdout.log").content == (
        b"<script>alert(1)</script>\n\x1b[31m\xff"
    )


def test_a_refused_call_is_told_with_its_capability_its_rule_and_the_agents_words(house):
    run = Run(house, "claude-code")
    run.call(command="ls -la")
    run.call(
        decision="deny",
        command="git push <b>",
        capability="policy::no-git-ops",
        rule="git (push|commit)",
        reason="policy::no-git-ops: `git push` is refused",
    )
    run.call(tool_use_id="canary-1", command="only a check")

    told, shown = house.api(f"/attempts/{run.id}"), house.page(f"/attempts/{run.id}")

    assert [each["decision"] for each in told["tools"]["calls"]] == ["allow", "deny", "allow"]
    refused = told["tools"]["calls"][1]
    assert (refused["about"], refused["rule"], refused["latency_ms"]) == ("git push <b>", "git (push|commit)", 1.5)
    assert "git push &lt;b&gt;" in shown
    assert 'href="/capabilities/policy%3A%3Ano-git-ops"' in shown
    assert "policy::no-git-ops: `git push` is refused" in shown
    assert "only a check" not in shown
    assert "1 of 2 was refused" in shown


def test_findings_changes_landing_and_last_words_are_shown(house):
    run = Run(house)
    run.put("diff.patch", PATCH)
    held = finding("quality::tests-pass", attempt_id=run.id)
    violated = finding(
        "policy::no-git-ops", "violated", attempt_id=run.id, reason="HEAD <i>moved", detail=HOSTILE, run_from="worktree"
    )
    run.end("permanent_failure", findings=(held, violated))

    told, shown = house.api(f"/attempts/{run.id}"), house.page(f"/attempts/{run.id}")

    assert [each["path"] for each in told["diff"]["files"]] == ["src/new.txt", "src/old.txt"]
    assert (told["diff"]["added"], told["diff"]["removed"], told["diff"]["whole"]) == (3, 1, True)
    assert told["diff"]["files"][0]["lines"][-1] == "+two \\x1b[31m"
    assert [each["status"] for each in told["findings"]] == ["held", "violated"]
    assert "HEAD &lt;i&gt;moved" in shown
    assert "the merged tree" in shown
    assert "the worktree" in shown
    assert "1 of 2 findings does not hold" in shown
    assert "<script>alert" not in shown
    assert "\u202e" not in shown
    assert '<span class="plus">+one\n</span>' in shown


def test_what_a_harness_says_in_json_is_shown_to_people(house):
    run = Run(house, "claude-code")
    run.write(lines_of(CLAUDE) + b"not json \x1b[2J <img>\n")

    told, shown = house.api(f"/attempts/{run.id}"), house.page(f"/attempts/{run.id}")

    entries = [(each["kind"], each["title"], each["text"]) for each in told["output"]["said"]]
    assert entries == [
        ("note", "session", "began with opus"),
        ("text", "", "I look <b>around</b>."),
        ("tool", "Bash", "git push"),
        ("fault", "result", "no \\x1b[31m git"),
        ("end", "done", "Done."),
        ("raw", "", "not json \\x1b[2J <img>"),
    ]
    assert "I look &lt;b&gt;around&lt;/b&gt;." in shown
    assert "<img>" not in shown


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        ({"type": "item.completed", "item": {"type": "agent_message", "text": "hi"}}, ("text", "", "hi")),
        (
            {"type": "item.started", "item": {"type": "command_execution", "command": "ls"}},
            ("tool", "command", "ls"),
        ),
        (
            {
                "type": "item.completed",
                "item": {"type": "command_execution", "exit_code": 2, "aggregated_output": "no"},
            },
            ("fault", "exit 2", "no"),
        ),
        (
            {"type": "item.completed", "item": {"type": "file_change", "changes": [{"kind": "add", "path": "a"}]}},
            ("tool", "file change", "add a"),
        ),
        ({"type": "turn.failed", "error": {"message": "broke"}}, ("fault", "turn failed", "broke")),
        ({"type": "error", "message": "late"}, ("fault", "error", "late")),
    ],
)
def test_codex_is_understood_too(line, entry):
    (found,) = said(lines_of([line]))
    assert (found.kind, found.title, found.text) == entry


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "item", "message", "content", "input", "error", "text"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@settings(max_examples=60)
@given(
    st.dictionaries(st.sampled_from(["type", "item", "message", "error", "usage", "result"]), JSON),
    st.sampled_from(["assistant", "user", "result", "item.completed", "turn.failed", "error", None]),
)
def test_whatever_stands_in_a_transcript_it_is_read(told, kind):
    for each in said(lines_of([told | ({} if kind is None else {"type": kind})])):
        assert each.title.isprintable()
        assert all(char.isprintable() or char in "\n\t" for char in each.text)


def test_of_much_output_the_end_is_shown_and_how_much_is_before(house):
    run = Run(house)
    run.write(b"x" * 99 + b"\n")
    run.write((b"y" * 99 + b"\n") * 3000)

    told, shown = house.api(f"/attempts/{run.id}"), house.page(f"/attempts/{run.id}")

    output = told["output"]["stdout"]
    assert output["end"] == 300_100
    assert 0 < output["end"] - output["start"] <= 65_536
    assert output["text"].startswith("yyy")
    assert "before this are in" in shown


def test_a_huge_patch_is_bounded_and_counted():
    file = "diff --git a/f{0} b/f{0}\n--- a/f{0}\n+++ b/f{0}\n@@ -0,0 +1,9999 @@\n" + "+line\n" * 9999
    patch = "".join(file.format(number) for number in range(150)).encode()

    found = diff_of(patch, len(patch), BRIEF)

    assert (len(found.files), found.more_files, found.added) == (60, 90, 150 * 9999)
    assert sum(len("\n".join(each.lines)) for each in found.files) <= BRIEF.characters
    assert found.files[0].cut == 9999 + 1 - BRIEF.lines
    assert not found.whole


def test_of_files_that_are_not_told_nothing_but_their_lines_is_read(monkeypatch):
    patch = "".join(f"diff --git a/f{n} b/f{n}\n--- a/f{n}\n+++ b/f{n}\n@@ -1 +1 @@\n-x\n+y\n+z\n" for n in range(500))
    read = []
    real = diff.patched_files
    monkeypatch.setattr(diff, "patched_files", lambda text: read.append(text) or real(text))

    found = diff_of(patch.encode(), len(patch), BRIEF)

    assert (len(read), found.more_files, found.added, found.removed) == (BRIEF.files, 440, 1000, 500)


def test_binary_files_and_hostile_names_are_named():
    patch = (
        b"diff --git a/pic.png b/pic.png\nnew file mode 100644\nindex 0..1\nGIT binary patch\nliteral 3\nKc$\n\n"
        b'diff --git "a/\\033[31m\\n<b>" "b/\\033[31m\\n<b>"\ndeleted file mode 100644\n--- "a/x"\n+++ /dev/null\n'
        b"@@ -1 +0,0 @@\n-gone\n"
    )

    found = diff_of(patch, len(patch), BRIEF).files

    assert [(each.path, each.change, each.added, each.removed) for each in found] == [
        ("pic.png", "added", None, None),
        ("\\x1b[31m\\n<b>", "removed", 0, 1),
    ]
    assert found[0].lines == ()
    assert found[1].lines == ("@@ -1 +0,0 @@", "-gone")


def test_attempts_are_listed_page_by_page(house):
    runs = [Run(house) for _ in range(3)]
    runs[0].end()

    first = house.api("/attempts", limit=2)
    second = house.api("/attempts", limit=2, after=first["next"])

    assert [each["attempt"]["attempt_id"] for each in first["items"] + second["items"]] == [
        each.id for each in reversed(runs)
    ]
    assert second["next"] is None
    assert [each["attempt"]["attempt_id"] for each in house.api("/attempts", open="true")["items"]] == [
        runs[2].id,
        runs[1].id,
    ]
    assert runs[0].id in house.page("/attempts?limit=2&after=" + first["next"])


def test_where_nothing_was_tried_the_page_says_what_to_do(house):
    assert "No task was tried yet" in house.page("/attempts")
    assert "Nothing runs" in house.page("/attempts?open=true")


@pytest.mark.parametrize("word", ["no", "%00", "%F0%9F%98%80", "..", "a" * 150])
def test_an_attempt_that_nobody_has_is_not_found(house, word):
    for path in (f"/attempts/{word}x", f"/attempts/{word}x/diff", f"/api/v1/attempts/{word}x/stream"):
        assert house.client.get(path).status_code == 404
    assert house.client.get(f"/attempts/{word}x/evidence/stdout.log").status_code == 404


def test_a_viewer_sees_no_orders(tmp_path):
    with open_house(tmp_path, visitor=VIEWER) as house:
        run = Run(house)
        assert "/cancel" not in house.page(f"/attempts/{run.id}")


def test_an_operator_can_cancel_what_runs_and_retry_what_is_over(house):
    run = Run(house)
    assert f'action="/tasks/{run.task_id}/cancel"' in house.page(f"/attempts/{run.id}")
    run.end("permanent_failure")
    assert f'action="/tasks/{run.task_id}/retry"' in house.page(f"/attempts/{run.id}")


# --- evidence ---------------------------------------------------------------------------------------------------------


def test_evidence_is_handed_out_to_be_kept_and_never_shown(house):
    run = Run(house)
    run.put("report.md", b"<script>alert(1)</script>")
    run.write(b"grows")

    told = house.client.get(f"/attempts/{run.id}/evidence/report.md")

    assert told.content == b"<script>alert(1)</script>"
    assert told.headers["content-type"] == "text/plain; charset=utf-8"
    assert told.headers["content-disposition"] == "attachment; filename*=UTF-8''report.md"
    assert told.headers["x-content-type-options"] == "nosniff"
    assert told.headers["content-security-policy"].startswith("sandbox")
    assert house.client.get(f"/api/v1/attempts/{run.id}/evidence/stdout.log").content == b"grows"
    assert house.client.head(f"/attempts/{run.id}/evidence/report.md").headers["content-length"] == "25"


@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "..%2fsecret",
        "%2e%2e/%2e%2e/secret",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "stdout.log/../../secret",
        ".part-1",
        "link",
        "stderr.log",
        "%00",
        "a%ffb",
        "",
    ],
)
def test_nothing_but_evidence_is_handed_out(house, name):
    run = Run(house)
    run.put("report.md", b"fine")
    folder = house.premises.home.evidence / run.keys.folder
    for place in (folder.parent / "secret", folder / ".part-1", house.premises.home.folder / "secret"):
        place.write_bytes(b"secret")
    (folder / "link").symlink_to(folder.parent / "secret")
    (run.folder / "stderr.log").symlink_to(folder.parent / "secret")

    told = house.client.get(f"/attempts/{run.id}/evidence/{name}")

    assert told.status_code == 404
    assert b"secret" not in told.content.replace(b"secret`", b"")
    assert house.client.get(f"/attempts/{run.id}/evidence/report.md").content == b"fine"


def test_a_link_in_the_running_folder_is_neither_shown_nor_followed(house, tmp_path):
    (tmp_path / "secret").write_bytes(b"the key")
    run = Run(house)
    (run.folder / "stdout.log").symlink_to(tmp_path / "secret")

    assert "the key" not in house.page(f"/attempts/{run.id}")
    assert house.api(f"/attempts/{run.id}")["output"]["stdout"]["text"] == ""


# --- the stream -------------------------------------------------------------------------------------------------------


def test_output_calls_and_stage_come_as_they_happen_up_to_the_end(house):
    run = Run(house)
    run.write(b"one\n")
    with served(house) as port, Listener(port, stream(run)) as listener:
        assert text_of(listener.until(lambda event, _told: event == "state")) == "one\n"
        run.write("tw\u00f6 <b>\x1b[1m".encode())
        found = listener.until(lambda event, _told: event == "output")
        assert found[-1][1] == {
            "stream": "stdout", "offset": 4, "end": 16, "skipped": 0, "text": "tw\u00f6 <b>\\x1b[1m", "said": None,
        }  # fmt: skip
        run.call(decision="deny", reason="no", capability="policy::no-git-ops")
        (told,) = listener.until(lambda event, _told: event == "gate")
        assert (told[1]["call"]["decision"], told[1]["call"]["reason"]) == ("deny", "no")
        run.write(b"err", "stderr.log")
        run.returned()
        listener.until(lambda event, told: event == "state" and told["stage"] == "verifying")
        run.write(b"last \xc3")
        run.end()

        rest = listener.rest()

        assert text_of(rest) == "last \ufffd"
        assert rest[-1] == ("state", {"stage": "ended", "ended": True, "exit_status": "ok"})


def test_who_comes_again_goes_on_where_they_were(house):
    run = Run(house)
    run.write(b"one\n")
    run.call(command="first")
    with served(house) as port:
        with Listener(port, stream(run)) as listener:
            listener.until(lambda event, _told: event == "state")
            mark = listener.mark
        run.write(b"two\n")
        run.call(command="second")
        run.end()
        with Listener(port, stream(run), mark=mark) as listener:
            rest = listener.rest()
        assert text_of(rest) == "two\n"
        assert [told["call"]["about"] for event, told in rest if event == "gate"] == ["second"]
        with Listener(port, stream(run, stdout=5), mark="no mark") as listener:
            assert text_of(listener.rest()) == "wo\n"
        with Listener(port, stream(run, stdout=999, stderr=9, gate=99999)) as listener:
            assert [event for event, _ in listener.rest()] == ["state"]


def test_the_page_and_its_stream_fit_together(house):
    run = Run(house, "claude-code")
    run.write(lines_of(CLAUDE[:2]) + b'{"type": "assist')
    told = house.api(f"/attempts/{run.id}")
    assert len(told["output"]["said"]) == 2
    run.write(b'ant", "message": {"content": "more"}}\n')
    run.end()

    with served(house) as port:
        places = {"stdout": told["output"]["stdout"]["end"], "stderr": 0, "gate": told["tools"]["end"]}
        with Listener(port, stream(run, readable="true", **places)) as listener:
            (output, _state) = listener.rest()

    assert [each["text"] for each in output[1]["said"]] == ["more"]


def test_fifty_viewers_share_one_reader(house):
    run = Run(house)
    with served(house) as port:
        listeners = [Listener(port, stream(run)) for _ in range(50)]
        for listener in listeners:
            listener.until(lambda event, _told: event == "state")
        tailer = tailer_of(house.app, run.attempt)
        assert len(tailer.audience) == 50
        made = []
        parts_of = attempt_stream.parts_of
        attempt_stream.parts_of = lambda *words, **more: made.append(1) or parts_of(*words, **more)
        try:
            run.write(b"to all\n")
            run.end()
            assert {text_of(listener.rest()) for listener in listeners} == {"to all\n"}
        finally:
            attempt_stream.parts_of = parts_of
        assert len(made) < 5
        for listener in listeners:
            listener.close()
        eventually(lambda: not house.app.state.tailers)
        assert tailer.tail._sources["stdout"]._handle == -1


class Seat:
    """One viewer of an attempt, and looks that come when a test says so."""

    def __init__(self, house, run):
        self.tailer = Tailer(house.premises, run.attempt, lambda: None)
        self.run = run

    def sit(self, places=Places()):  # noqa: B008 - a value
        asks, box = attempt_stream.AttemptStreamAsk(attempt_id=self.run.id), self.tailer.audience.join()
        self.tailer.audience._task.cancel()
        return attempt_stream._Viewer(self.tailer, asks, box, places).frames()

    async def all(self, frames):
        """The text of everything up to the end, which is the state."""
        told = b"".join([piece async for piece in frames])
        found = [json.loads(line.removeprefix(b"data: ")) for line in told.split(b"\n") if line.startswith(b"data: ")]
        assert found[-1]["ended"]
        assert all(each["text"] for each in found if "text" in each)
        return "".join(each.get("text") or "" for each in found)

    async def end(self):
        self.run.end()
        while not self.tailer.finished:
            await self.tailer._look()


def test_a_viewer_who_is_ahead_is_told_only_what_is_new(house):
    async def scene():
        seat = Seat(house, Run(house))
        frames = seat.sit(Places(6, 0, 0))
        await seat.tailer._look()
        assert b"event: state" in await anext(frames) + await anext(frames)
        for word in (b"one\n", b"t", b"wo\nthree"):
            seat.run.write(word)
            await seat.tailer._look()
        await seat.end()
        return await seat.all(frames)

    assert asyncio.run(scene()) == "o\nthree"


def test_what_waits_already_when_a_viewer_catches_up_is_not_told_twice(house):
    async def scene():
        seat = Seat(house, Run(house))
        seat.sit()
        await seat.tailer._look()
        frames = seat.sit()
        seat.run.write(b"once")
        await seat.tailer._look()
        told = await anext(frames) + await anext(frames)
        assert b"once" in told
        await seat.end()
        return await seat.all(frames)

    assert asyncio.run(scene()) == ""


def test_the_end_is_told_behind_everything_that_came_while_a_viewer_caught_up(house):
    async def scene():
        seat, loop = Seat(house, Run(house)), asyncio.get_running_loop()
        frames = seat.sit()
        await anext(frames)
        await seat.tailer._look()
        between = seat.tailer.tail.between

        def slowly(places, ends):
            seat.tailer.tail.between = between
            found = between(places, ends)
            seat.run.write(b"last")
            asyncio.run_coroutine_threadsafe(seat.end(), loop).result()
            return found

        seat.tailer.tail.between = slowly
        return await seat.all(frames)

    assert asyncio.run(scene()) == "last"


def test_all_that_is_left_at_the_end_is_told(house):
    async def scene():
        seat = Seat(house, Run(house))
        frames = seat.sit()
        await seat.tailer._look()
        assert b"event: state" in await anext(frames) + await anext(frames)
        seat.run.write(b"y" * 2 * tail.PIECE + b"end")
        await seat.end()
        return await seat.all(frames)

    told = asyncio.run(scene())
    assert (len(told), told[-3:]) == (2 * tail.PIECE + 3, "end")


def test_a_slow_reader_holds_nobody_and_misses_nothing(house):
    async def scene():
        seat = Seat(house, Run(house))
        slow, quick = seat.sit(), seat.sit()
        await anext(slow)
        await anext(quick)
        await seat.tailer._look()
        assert b"event: state" in await anext(quick)
        for number in range(attempt_stream.WAITING + 5):
            seat.run.write(b"%d\n" % number)
            await seat.tailer._look()
            assert b'"text":"%d\\n"' % number in await anext(quick)
        await seat.end()
        return await seat.all(slow)

    assert asyncio.run(scene()) == "".join(f"{number}\n" for number in range(attempt_stream.WAITING + 5))


def test_a_flood_is_told_by_its_end_and_how_much_was_left_out(house):
    run = Run(house)
    run.write(b"first\n")
    with served(house) as port, Listener(port, stream(run)) as listener:
        listener.until(lambda event, _told: event == "state")
        run.write((b"z" * 999 + b"\n") * 3000)
        run.end()
        outputs = [told for event, told in listener.rest() if event == "output"]

    place = 6
    for each in outputs:
        assert each["offset"] == place + each["skipped"]
        place = each["end"]
    assert place == 3_000_006
    assert sum(each["skipped"] for each in outputs) > 1_000_000
    assert sum(len(each["text"]) for each in outputs) < 2_000_000


@pytest.mark.parametrize(
    "query", ["stdout=-1", "stdout=x", "gate=99999999999999999999", "colour=blue", "readable=maybe"]
)
def test_a_stream_that_nobody_understands_is_a_problem(house, query):
    run = Run(house)
    told = house.client.get(f"/api/v1/attempts/{run.id}/stream?{query}")
    assert (told.status_code, told.headers["content-type"]) == (422, "application/problem+json")


@pytest.mark.parametrize("mark", ["", "1-2", "1-2-3-4", "a-b-c", "-1-2-3", "1-2-\u0663", "9" * 16 + "-0-0"])
def test_what_is_no_mark_is_none(mark):
    assert places_of(mark) is None


def test_a_mark_is_three_places():
    assert places_of("1-22-333") == Places(1, 22, 333)


# --- no gap, no repetition --------------------------------------------------------------------------------------------

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ATTEMPT = TaskAttempt(
    attempt_id="a1",
    task_id="t",
    adapter_id="x",
    adapter_kind="script",
    model=None,
    runner_id="r",
    started_at=NOW,
    ended_at=None,
    exit_status=None,
    retry_class="none",
)
PIECES = st.sampled_from(
    [b"a", b"\n", b"\r", "\u00f6".encode(), "\U0001f600".encode(), b"\xff", b"\xf0\x9f", b"\x1b[1m", b"\0"]
)
STEPS = st.lists(
    st.tuples(st.sampled_from(STREAMS), st.lists(PIECES, max_size=4).map(b"".join))
    | st.just("read")
    | st.just("again"),
    max_size=25,
)


@settings(max_examples=40)
@given(STEPS, st.integers(0, 25), st.sampled_from(["script", "codex"]), st.integers(WIDEST, 9))
def test_every_byte_is_told_once_across_the_seal(steps, sealed, kind, piece):
    """Writes, reads, viewers that come again, and at some moment the attempt ends and its folder goes."""
    with tempfile.TemporaryDirectory() as place:
        scene = Scene(Path(place, "with space"), kind)
        before, tail.PIECE = tail.PIECE, piece
        try:
            for step in steps[:sealed]:
                scene.play(step)
            scene.seal()
            for step in [*steps[sealed:], "read"]:
                if isinstance(step, str):
                    scene.play(step)
        finally:
            tail.PIECE = before
            scene.reader.close()

    for each in STREAMS:
        assert b"".join(scene.told[each]) == scene.written[each]
    if kind == "script":
        texts = [data.decode("utf-8", "replace") for data in scene.told["stdout"]]
        assert "".join(texts) == scene.written["stdout"].decode("utf-8", "replace")


class Scene:
    """One attempt, one viewer."""

    def __init__(self, folder, kind):
        self.home, self.ended, self.places = Home("h", None, ProjectFile(), folder), False, Places()
        self.attempt = replace(ATTEMPT, adapter_kind=kind)
        self.running = self.home.run / "a1"
        self.running.mkdir(parents=True)
        self.written, self.told = dict.fromkeys(STREAMS, b""), {each: [] for each in STREAMS}
        self.reader = Tail(SimpleNamespace(home=self.home), self.attempt)

    def play(self, step):
        if step == "again":
            self.reader.close()
            self.reader = Tail(SimpleNamespace(home=self.home), self.attempt)
        elif step == "read":
            while (news := self.reader.news(self.places, ended=self.ended)) and self.heard(news):
                pass
        else:
            with (self.running / FILES[step[0]]).open("ab") as file:
                file.write(step[1])
            self.written[step[0]] += step[1]

    def heard(self, pieces):
        for piece in pieces:
            assert piece.start == self.places.at(piece.stream)
            self.told[piece.stream].append(piece.data)
            self.places = self.places.moved(piece.stream, piece.end)
        return self.ended

    def seal(self):
        for each in STREAMS:
            if (self.running / FILES[each]).exists():
                key = keys_of("a1", NOW).of(FILES[each])
                FileEvidence(self.home.evidence).put_file(key, self.running / FILES[each])
        shutil.rmtree(self.running)
        self.ended = True


@given(st.lists(PIECES, max_size=6).map(b"".join))
def test_a_character_on_its_way_is_waited_for(data):
    rest = unfinished(data)
    assert rest < 4
    head = data[: len(data) - rest]
    assert head.decode("utf-8", "replace") + data[len(head) :].decode("utf-8", "replace") == data.decode(
        "utf-8", "replace"
    )
