"""Asking the gate from a process of ours: the same question as a hook's client asks, without starting one.

Falls closed: whatever is not an explicit allowance is a refusal that says why.
"""

import json
import socket
from typing import Any, Final, NamedTuple

from keisei.gate.client import client
from keisei.rules.atom_call import SPEC

DEADLINE_S: Final = 2.0
HARNESS: Final = "claude"
"""Whose form the question and the answer have."""


class Question(NamedTuple):
    """A call that is asked about."""

    tool: str
    input: dict[str, Any]
    cwd: str
    """Absolute."""
    call_id: str
    spec_sha: str
    """The page and schemas by which the atom would be run."""


def ask(socket_path: str, token: str, question: Question) -> str | None:
    """None where the gate allows the call; otherwise the reason why not, in a sentence. Never raises."""
    told = {
        "hook_event_name": "PreToolUse",
        "tool_name": question.tool,
        "tool_input": question.input,
        "tool_use_id": question.call_id,
        "cwd": question.cwd,
        SPEC: question.spec_sha,
    }
    try:
        body = f"{token}\n{HARNESS}\n".encode() + json.dumps(told).encode()
        return _answer(socket_path, body)
    except (OSError, TypeError, ValueError, RecursionError, client.Refusal) as error:
        return f"keisei gate: {error}; the call is refused because nobody judged it, which is no violation"


def _answer(path: str, body: bytes) -> str | None:
    if len(body) > client.INPUT:
        raise ValueError("the call's input is larger than 4 MB")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(DEADLINE_S)
        line.connect(path)
        line.sendall(len(body).to_bytes(4, "big") + body)
        answer = b""
        while len(answer) < client.expected(answer):
            part = line.recv(client.PART)
            if not part:
                raise ConnectionError("the gate service broke off its answer")
            answer += part
    if answer[:1] == b"A":
        return None
    middle = 5 + int.from_bytes(answer[1:5], "big")
    return answer[middle + 4 :].decode("utf-8", "replace").strip() or "the gate refuses the call and gives no reason"
