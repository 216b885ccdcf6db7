#!/usr/bin/python3 -IS
"""A stand-in for Claude Code that starts in a moment: the same flags, the same stream, the same hooks, one tool.

Like the real one it asks its model over HTTP, asks the hook of its --settings before and after each call, and starts
programs in sessions of their own. A child that ignores TERM is with it from the beginning.
"""

import http.client
import json
import os
import subprocess
import sys
import time
from pathlib import Path

STUBBORN = "trap '' TERM HUP INT; while :; do sleep 1; done"
LINGER = "linger"
"""An answer with this word is said, and then it does not end."""


def main():
    settings = json.loads(sys.argv[sys.argv.index("--settings") + 1])
    subprocess.Popen(["/bin/sh", "-c", STUBBORN], start_new_session=True, stdout=subprocess.DEVNULL)
    say(type="system", subtype="init", model="scripted")
    messages = [{"role": "user", "content": sys.stdin.read()}]
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
    usage = {"input_tokens": turns, "output_tokens": turns}
    say(type="result", subtype="success", is_error=False, result=text, num_turns=turns, usage=usage)
    if LINGER in text:
        time.sleep(600)


def say(**line):
    print(json.dumps({**line, "session_id": "stand-in"}), flush=True)  # noqa: T201 - its stream


def ask(messages):
    """The model's next turn."""
    address = os.environ["ANTHROPIC_BASE_URL"].removeprefix("http://").rstrip("/")
    connection = http.client.HTTPConnection(address, timeout=120)
    tools = [{"name": "Bash", "description": "", "input_schema": {"type": "object"}}]
    body = {"model": "scripted", "max_tokens": 1000, "messages": messages, "tools": tools}
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
    connection.request("POST", "/v1/messages", json.dumps(body), headers)
    answer = connection.getresponse()
    data = answer.read()
    if answer.status != 200:
        sys.exit(f"the model says {answer.status}: {data.decode(errors='replace')}")
    connection.close()
    return json.loads(data)["content"]


def made(call, settings):
    """One call, if the hook does not refuse it."""
    refused = hooked("PreToolUse", call, settings, {})
    if refused:
        return result(call, refused, is_error=True)
    done = subprocess.run(
        ["/bin/bash", "-c", call["input"]["command"]],
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
    )
    hooked("PostToolUse", call, settings, {"tool_response": {"stdout": done.stdout, "stderr": done.stderr}})
    return result(call, done.stdout + done.stderr, is_error=done.returncode != 0)


def result(call, text, *, is_error):
    return {"type": "tool_result", "tool_use_id": call["id"], "content": text, "is_error": is_error}


def hooked(event, call, settings, more):
    """What the hook says against it; nothing where it says nothing."""
    told = {
        "session_id": "stand-in",
        "transcript_path": "",
        "cwd": str(Path.cwd()),
        "permission_mode": "dontAsk",
        "hook_event_name": event,
        "tool_name": call["name"],
        "tool_input": call["input"],
        "tool_use_id": call["id"],
        **more,
    }
    for hook in [each for group in settings["hooks"][event] for each in group["hooks"]]:
        done = subprocess.run(
            ["/bin/sh", "-c", hook["command"]], input=json.dumps(told), capture_output=True, text=True, check=False
        )
        said = json.loads(done.stdout).get("hookSpecificOutput", {}) if done.stdout.strip() else {}
        if done.returncode != 0 or said.get("permissionDecision") == "deny":
            return done.stderr or said.get("permissionDecisionReason") or "refused"
    return ""


if __name__ == "__main__":
    main()
