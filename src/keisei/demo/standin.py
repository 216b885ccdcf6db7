"""A stand-in for Claude Code: the same flags, the same stream, the same hooks, four of its tools.

It runs as a file of its own with nothing but the standard library. Like the real one it asks its model over HTTP, asks
the hook of its --settings before and after each call, and obeys: a hook that refuses, breaks or says nothing to a call
means that the call does not happen.
"""

import http.client
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

Block = dict[str, Any]

MODEL = "scripted"
PATIENCE_S = 120
TOOLS = ("Bash", "Read", "Write", "Edit")


def main() -> int:
    """Play one conversation: ask the model, make its calls, until it makes none."""
    settings = json.loads(sys.argv[sys.argv.index("--settings") + 1])
    say(type="system", subtype="init", model=MODEL)
    messages: list[Block] = [{"role": "user", "content": sys.stdin.read()}]
    turns = 0
    while True:
        turns += 1
        content = ask(messages)
        say(type="assistant", message={"role": "assistant", "content": content})
        calls = [block for block in content if block["type"] == "tool_use"]
        if not calls:
            break
        results = [made(call, settings) for call in calls]
        say(type="user", message={"role": "user", "content": results})
        messages += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
    text = "".join(block["text"] for block in content if block["type"] == "text")
    usage = {"input_tokens": 10 * turns, "output_tokens": 5 * turns}
    say(type="result", subtype="success", is_error=False, result=text, num_turns=turns, usage=usage)
    return 0


def say(**line: object) -> None:
    """One line of the stream."""
    sys.stdout.write(json.dumps({**line, "session_id": "stand-in"}) + "\n")
    sys.stdout.flush()


def ask(messages: list[Block]) -> list[Block]:
    """The model's next turn. Leaves with its words where it has none."""
    address = os.environ["ANTHROPIC_BASE_URL"].removeprefix("http://").rstrip("/")
    connection = http.client.HTTPConnection(address, timeout=PATIENCE_S)
    tools = [{"name": name, "description": "", "input_schema": {"type": "object"}} for name in TOOLS]
    body = {"model": MODEL, "max_tokens": 1000, "messages": messages, "tools": tools}
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
    connection.request("POST", "/v1/messages", json.dumps(body), headers)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    if answer.status != http.HTTPStatus.OK:
        sys.exit(f"the model says {answer.status}: {data.decode(errors='replace')}")
    content: list[Block] = json.loads(data)["content"]
    return content


def made(call: Block, settings: Block) -> Block:
    """One call, if the hook allows it: what came of it, or the refusal."""
    given = dict(call["input"])
    if "file_path" in given:
        given["file_path"] = os.path.abspath(given["file_path"])  # noqa: PTH100 - links stay, as in the real one
    refused = hooked("PreToolUse", call, given, settings)
    if refused:
        return result(call, refused, is_error=True)
    try:
        text, failed = DEEDS[call["name"]](given)
    except (OSError, KeyError, ValueError) as error:
        text, failed = str(error), True
    hooked("PostToolUse", call, given, settings, {"tool_response": {"stdout": text, "stderr": ""}})
    return result(call, text, is_error=failed)


def result(call: Block, text: str, *, is_error: bool) -> Block:
    """What the model is told of a call."""
    return {"type": "tool_result", "tool_use_id": call["id"], "content": text, "is_error": is_error}


def hooked(event: str, call: Block, given: Block, settings: Block, more: Block | None = None) -> str:
    """What the hooks say against it; empty where all of them allow it. Falls closed before a call."""
    told = {
        "session_id": "stand-in",
        "transcript_path": "",
        "cwd": str(Path.cwd()),
        "permission_mode": "dontAsk",
        "hook_event_name": event,
        "tool_name": call["name"],
        "tool_input": given,
        "tool_use_id": call["id"],
        **(more or {}),
    }
    hooks = [each for group in settings["hooks"].get(event, ()) for each in group["hooks"]]
    answers = [answered(each["command"], told) for each in hooks]
    if event == "PreToolUse" and not answers:
        return "no hook was asked"
    return next((each for each in answers if each), "")


def answered(command: str, told: Block) -> str:
    """One hook's refusal; empty where it allows."""
    done = subprocess.run(  # noqa: S603 - the harness's settings name it
        ["/bin/sh", "-c", command], input=json.dumps(told), capture_output=True, text=True, check=False
    )
    said = json.loads(done.stdout).get("hookSpecificOutput", {}) if done.stdout.strip() else {}
    allowed = said.get("permissionDecision") == "allow" or told["hook_event_name"] != "PreToolUse"
    if done.returncode == 0 and allowed:
        return ""
    return done.stderr.strip() or str(said.get("permissionDecisionReason") or "nobody has allowed it")


def run(given: Block) -> tuple[str, bool]:
    """A command of the shell."""
    argv = ["/bin/bash" if Path("/bin/bash").exists() else "/bin/sh", "-c", given["command"]]
    done = subprocess.run(  # noqa: S603 - that is the tool; the hook was asked, and the sandbox stands around
        argv, capture_output=True, text=True, errors="replace", start_new_session=True, check=False
    )
    return done.stdout + done.stderr, done.returncode != 0


def read(given: Block) -> tuple[str, bool]:
    """A file's text."""
    return Path(given["file_path"]).read_text(encoding="utf-8"), False


def write(given: Block) -> tuple[str, bool]:
    """A whole file."""
    Path(given["file_path"]).write_text(given["content"], encoding="utf-8")
    return f"wrote {given['file_path']}", False


def edit(given: Block) -> tuple[str, bool]:
    """One piece of text for another, which must be there once."""
    path = Path(given["file_path"])
    text = path.read_text(encoding="utf-8")
    if text.count(given["old_string"]) != 1:
        return "the text to replace is not there once", True
    path.write_text(text.replace(given["old_string"], given["new_string"]), encoding="utf-8")
    return f"edited {path}", False


DEEDS = {"Bash": run, "Read": read, "Write": write, "Edit": edit}

if __name__ == "__main__":
    sys.exit(main())
