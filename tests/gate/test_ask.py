"""Asking the gate from a process of ours."""

import socket
import threading

import pytest

from keisei.gate.ask import Question, ask
from keisei.gate.socket import LENGTH

QUESTION = Question("mcp__keisei__kei-fs__read", {"path": "a"}, "/tree", "atom:1", "a" * 64)
TOKEN = "t" * 24


@pytest.fixture
def service(tmp_path):
    """Answers the next question with these bytes; the question is kept."""
    path = tmp_path / "gate.sock"
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.bind(str(path))
    line.listen(1)
    heard = []

    def serve(answer):
        caller, _ = line.accept()
        with caller:
            size = LENGTH.unpack(caller.recv(4, socket.MSG_WAITALL))[0]
            heard.append(caller.recv(size, socket.MSG_WAITALL))
            caller.sendall(answer)

    def start(answer):
        threading.Thread(target=serve, args=(answer,), daemon=True).start()
        return str(path), heard

    yield start
    line.close()


def told(byte, out=b"", err=b""):
    return byte + LENGTH.pack(len(out)) + out + LENGTH.pack(len(err)) + err


def test_an_allowance_has_no_reason(service):
    path, heard = service(told(b"A", b'{"hookSpecificOutput":{}}'))

    assert ask(path, TOKEN, QUESTION) is None
    assert heard[0].startswith(f"{TOKEN}\nclaude\n".encode())
    assert b'"tool_use_id": "atom:1"' in heard[0]


def test_a_refusal_has_the_gates_reason(service):
    path, _ = service(told(b"D", b"{}", b"scope::files-whitelist: outside\n"))

    assert ask(path, TOKEN, QUESTION) == "scope::files-whitelist: outside"


@pytest.mark.parametrize(
    "answer",
    [b"", b"A", told(b"A")[:5], b"X" + told(b"A")[1:], told(b"D"), b"A" + LENGTH.pack(2**31)],
    ids=["nothing", "half", "half a length", "another letter", "no reason", "too long"],
)
def test_whatever_is_no_allowance_refuses(service, answer):
    path, _ = service(answer)

    assert ask(path, TOKEN, QUESTION)


def test_a_gate_that_is_not_there_refuses(tmp_path):
    assert "nobody judged it" in ask(str(tmp_path / "none.sock"), TOKEN, QUESTION)


@pytest.mark.parametrize("given", [{"a": "x" * 5_000_000}, {"a": float}], ids=["large", "no JSON"])
def test_a_question_that_cannot_be_put_refuses(tmp_path, given):
    assert ask(str(tmp_path / "none.sock"), TOKEN, QUESTION._replace(input=given))
