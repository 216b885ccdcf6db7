import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from keisei.testing.model import Fault, Raw, Request, ScriptedModel, Sent

CALL = {"tool": "look", "input": {"at": "it"}}


def ask(model, path, body=None, method="POST"):
    """One request: the status, the type and the text of the answer."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body)
    with closing(http.client.HTTPConnection("127.0.0.1", model.port, timeout=10)) as connection:
        connection.request(method, path, data)
        answer = connection.getresponse()
        return answer.status, answer.headers["content-type"], answer.read().decode()


def told(model, path, body):
    """The answer as JSON: one value, or the list of a stream's events."""
    status, kind, text = ask(model, path, body)
    assert status == 200
    if kind == "text/event-stream":
        data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
        return [json.loads(line) for line in data if line != "[DONE]"]
    return [json.loads(line) for line in text.splitlines()] if kind == "application/x-ndjson" else json.loads(text)


# --- what the model says, in every protocol ---------------------------------------------------------------------------


def test_messages_are_answered_whole():
    with ScriptedModel([["hello", CALL]]) as model:
        answer = told(model, "/v1/messages?beta=true", {"model": "m", "messages": []})

    assert (answer["type"], answer["role"], answer["model"], answer["stop_reason"]) == (
        "message",
        "assistant",
        "m",
        "tool_use",
    )
    assert answer["content"] == [
        {"type": "text", "text": "hello"},
        {"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": "it"}},
    ]


def test_messages_are_streamed():
    with ScriptedModel([["hello", CALL]]) as model:
        events = told(model, "/v1/messages", {"stream": True, "messages": []})

    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert [event["type"] for event in events] == ["message_start", *block, *block, "message_delta", "message_stop"]
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert (deltas[0]["text"], json.loads(deltas[1]["partial_json"])) == ("hello", {"at": "it"})
    assert events[4]["content_block"] == {"type": "tool_use", "id": "call_1", "name": "look", "input": {}}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"


def test_responses_are_answered_whole():
    with ScriptedModel([["hello", {**CALL, "namespace": "eyes"}, {"tool": "patch", "input": "*** text"}]]) as model:
        answer = told(model, "/v1/responses", {"input": "go"})

    message, function, custom = answer["output"]
    assert (answer["status"], message["content"][0]["text"]) == ("completed", "hello")
    assert (function["type"], function["namespace"], function["call_id"]) == ("function_call", "eyes", "call_1")
    assert json.loads(function["arguments"]) == {"at": "it"}
    assert (custom["type"], custom["input"], custom["call_id"]) == ("custom_tool_call", "*** text", "call_2")


def test_responses_are_streamed():
    with ScriptedModel([CALL]) as model:
        events = told(model, "/v1/responses", {"stream": True, "input": []})

    item = ["response.output_item.added", "response.output_item.done"]
    assert [event["type"] for event in events] == ["response.created", *item, "response.completed"]
    assert [event["sequence_number"] for event in events] == [0, 1, 2, 3]
    assert events[-1]["response"]["output"] == [events[2]["item"]]


@pytest.mark.parametrize("stream", [False, True])
def test_chat_completions_are_answered(stream):
    with ScriptedModel([["hello", CALL]]) as model:
        answer = told(model, "/v1/chat/completions", {"stream": stream, "messages": []})

    choices = [choice for part in (answer if stream else [answer]) for choice in part["choices"]]
    said = choices[0]["delta" if stream else "message"]
    assert (said["content"], said["tool_calls"][0]["function"]["name"]) == ("hello", "look")
    assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == {"at": "it"}
    assert choices[-1]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize("stream", [False, True])
def test_ollama_generates(stream):
    with ScriptedModel(["hello"]) as model:
        answer = told(model, "/api/generate", {"model": "m", "prompt": "go", **({} if stream else {"stream": False})})

    parts = answer if stream else [answer]
    assert "".join(part["response"] for part in parts) == "hello"
    assert (parts[-1]["done"], parts[-1]["done_reason"], parts[-1]["model"]) == (True, "stop", "m")


def test_ollama_chats():
    with ScriptedModel([CALL]) as model:
        answer = told(model, "/api/chat", {"stream": False, "messages": []})

    assert answer["message"]["tool_calls"] == [{"function": {"name": "look", "arguments": {"at": "it"}}}]


def test_models_are_listed_and_tokens_counted():
    with ScriptedModel([], name="tiny") as model:
        listed = [json.loads(ask(model, path, method="GET")[2]) for path in ("/v1/models", "/api/tags")]
        counted = told(model, "/v1/messages/count_tokens", {"messages": []})

        assert ask(model, "/", method="HEAD")[0] == 200

    assert (listed[0]["data"][0]["id"], listed[1]["models"][0]["name"]) == ("tiny", "tiny")
    assert counted["input_tokens"] > 0
    assert model.requests == []


# --- the script -------------------------------------------------------------------------------------------------------


def test_turns_are_taken_in_order_and_then_the_work_is_done():
    with ScriptedModel(["one", "two"]) as model:
        said = [told(model, "/api/generate", {"prompt": "go", "stream": False})["response"] for _ in range(3)]

    assert said == ["one", "two", "done"]


def test_a_function_answers_each_conversation_by_what_it_says():
    with ScriptedModel(lambda request: request.prompt.upper()) as model:
        said = [told(model, "/api/generate", {"prompt": word, "stream": False})["response"] for word in ("a", "b")]

    assert said == ["A", "B"]


def test_many_requests_at_once_lose_nothing_and_share_no_call_id():
    busy = threading.Lock()

    def script(request):
        assert busy.acquire(blocking=False), "two turns at once"
        time.sleep(0.001)
        busy.release()
        return {"tool": request.prompt, "input": {}}

    def one(number):
        answer = told(model, "/v1/messages", {"messages": [{"role": "user", "content": f"n{number}"}]})
        return answer["content"][0]["name"], answer["content"][0]["id"]

    with ScriptedModel(script) as model, ThreadPoolExecutor(16) as pool:
        calls = list(pool.map(one, range(200)))

    assert [name for name, _ in calls] == [f"n{number}" for number in range(200)]
    assert len({call_id for _, call_id in calls}) == len(model.requests) == 200


@pytest.mark.parametrize(
    ("path", "kind"), [("/v1/messages", "rate_limit_error"), ("/v1/responses", "rate_limit_error")]
)
def test_a_fault_is_told_in_the_protocol_asked(path, kind):
    with ScriptedModel([Fault(429, "slow down")]) as model:
        status, _, text = ask(model, path, {"input": []})

    assert (status, json.loads(text)["error"]["type"], json.loads(text)["error"]["message"]) == (429, kind, "slow down")


def test_a_fault_is_told_as_ollama_does():
    with ScriptedModel([Fault(404, "model 'x' not found")]) as model:
        status, _, text = ask(model, "/api/generate", {"prompt": "go"})

    assert (status, json.loads(text)) == (404, {"error": "model 'x' not found"})


def test_an_error_in_the_script_is_raised_where_the_test_sees_it():
    def script(_request):
        raise KeyError("no such turn")

    with pytest.raises(KeyError, match="no such turn"), ScriptedModel(script) as model:
        assert ask(model, "/v1/messages", {"messages": []})[0] == 400


def test_an_error_in_the_script_does_not_hide_the_error_of_the_block():
    with pytest.raises(AssertionError, match="what the test saw"), ScriptedModel([{"tool": "no input"}]) as model:
        assert ask(model, "/v1/messages", {"messages": []})[0] == 200, "what the test saw"


def test_a_call_of_another_shape_is_an_error_in_the_script():
    with pytest.raises(ValueError, match="a call has `tool` and `input`"), ScriptedModel([{"name": "look"}]) as model:
        ask(model, "/v1/messages", {"messages": []})


@pytest.mark.parametrize(("path", "body", "status"), [("/v2/other", b"{}", 404), ("/v1/messages", b"{", 400)])
def test_what_is_no_request_takes_no_turn(path, body, status):
    with ScriptedModel(["one"]) as model:
        assert ask(model, path, body)[0] == status

    assert model.requests == []


def test_it_ends_although_a_client_keeps_its_connection():
    with ScriptedModel([]) as model:
        connection = http.client.HTTPConnection("127.0.0.1", model.port, timeout=10)
        connection.request("GET", "/v1/models")
        assert connection.getresponse().read()

    with closing(connection):
        assert connection.sock.recv(1) == b""


# --- how an answer travels --------------------------------------------------------------------------------------------


def whole(model, path="/v1/messages", headers=None):
    """One streamed answer: its status, its headers and every piece as it came."""
    with closing(http.client.HTTPConnection("127.0.0.1", model.port, timeout=10)) as connection:
        connection.request("POST", path, json.dumps({"stream": True, "messages": []}), headers or {})
        answer = connection.getresponse()
        return answer, list(iter(lambda: answer.read1(65536), b""))


def test_a_fault_brings_its_headers():
    with ScriptedModel([Fault(429, "slow down", {"retry-after": "20", "x-reset": "later"})]) as model:
        answer, pieces = whole(model)

    assert (answer.status, answer.headers["retry-after"], answer.headers["x-reset"]) == (429, "20", "later")
    assert json.loads(b"".join(pieces))["error"] == {"type": "rate_limit_error", "message": "slow down", "code": None}


@pytest.mark.parametrize("body", [b"", b"\xff\xfe\x00", b'{"half', b"x" * 3_000_000], ids=["no", "odd", "half", "huge"])
def test_bytes_are_sent_as_they_are(body):
    with ScriptedModel([Raw(body, "application/json", 201)]) as model:
        answer, pieces = whole(model)

    assert (answer.status, answer.headers["content-type"], b"".join(pieces)) == (201, "application/json", body)


def test_an_answer_in_pieces_is_the_same_answer():
    with ScriptedModel(["hello", Sent("hello", piece=7, pause_s=0.001)]) as model:
        _, at_once = whole(model)
        _, slowly = whole(model)

    assert b"".join(slowly).replace(b"reply_2", b"reply_1") == b"".join(at_once)
    assert len(slowly) > len(at_once)


def test_a_reset_connection_delivers_what_was_sent_before():
    with ScriptedModel([Sent("hello", cut_at=20), "again"]) as model:
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)) as caught:
            ask(model, "/v1/messages", {"messages": []})
        status, _, _ = ask(model, "/v1/messages", {"messages": []})

    assert status == 200
    assert len(getattr(caught.value, "partial", b"")) <= 20


@pytest.mark.parametrize("turn", [Sent(Fault(500)), Sent(Raw(b"x", status=500))], ids=["fault", "raw"])
def test_faults_and_bytes_travel_as_answers_do(turn):
    with ScriptedModel([turn]) as model:
        assert whole(model)[0].status == 500


def test_a_block_ends_although_an_answer_is_late():
    """The wait ends with the block, else this test would take an hour."""
    with (
        ScriptedModel([Sent("late", after_s=3600.0)]) as model,
        closing(http.client.HTTPConnection("127.0.0.1", model.port, timeout=10)) as connection,
    ):
        connection.request("POST", "/v1/messages", "{}")
        while not model.requests:
            time.sleep(0.001)

    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({"x-api-key": "sk-1"}, "sk-1"),
        ({"Authorization": "Bearer sk-2"}, "sk-2"),
        ({"authorization": "sk-3"}, None),
        ({}, None),
    ],
    ids=["x-api-key", "bearer", "no scheme", "none"],
)
def test_a_request_tells_the_key_it_came_with(headers, key):
    with ScriptedModel([]) as model:
        whole(model, headers=headers)

    assert model.requests[0].key == key


def test_ollama_describes_its_model():
    with ScriptedModel([], name="small") as model:
        status, _, text = ask(model, "/api/show", {"model": "small"})

    assert (status, json.loads(text)["model_info"]["scripted.context_length"], model.requests) == (200, 131_072, [])


def test_what_is_no_turn_is_raised_where_the_test_sees_it():
    with pytest.raises(TypeError), ScriptedModel([Sent(7)]) as model:
        ask(model, "/v1/messages", {"messages": []})


# --- what the model was told ------------------------------------------------------------------------------------------

MESSAGES = {
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "1", "name": "look", "input": {"prompt": "inner"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "refused"}]},
        {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "seen"}]}]},
    ],
    "tools": [{"name": "look", "input_schema": {}}],
}
RESPONSES = {
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "function_call", "call_id": "1", "name": "look", "arguments": '{"prompt": "inner"}'},
        {"type": "function_call_output", "call_id": "1", "output": "refused"},
        {"type": "custom_tool_call_output", "call_id": "2", "output": [{"type": "input_text", "text": "seen"}]},
    ],
    "tools": [
        {"type": "namespace", "name": "eyes", "tools": [{"type": "function", "name": "look"}]},
        {"type": "web_search"},
    ],
}
CHAT = {
    "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": []},
        {"role": "tool", "content": "refused"},
        {"role": "tool", "content": [{"type": "text", "text": "seen"}]},
    ],
    "tools": [{"type": "function", "function": {"name": "look"}}],
}


@pytest.mark.parametrize(
    ("path", "body", "tools"),
    [
        ("/v1/messages", MESSAGES, ["look"]),
        ("/v1/responses", RESPONSES, ["eyes.look", "web_search"]),
        ("/v1/chat/completions", CHAT, ["look"]),
        ("/api/chat", CHAT, ["look"]),
    ],
    ids=["messages", "responses", "chat", "ollama"],
)
def test_a_request_tells_its_prompt_its_tools_and_what_the_calls_came_to(path, body, tools):
    with ScriptedModel([]) as model:
        ask(model, path, body)

    request = model.requests[0]
    assert (request.path, request.body) == (path, body)
    assert (request.prompt, request.tools, request.results) == ("go", tools, ["refused", "seen"])
    assert model.results == ["refused", "seen"]


@pytest.mark.parametrize("body", [{"prompt": "go"}, {"input": "go"}, {"messages": [{"role": "user", "content": "go"}]}])
def test_a_prompt_may_be_plain_text(body):
    assert Request("/", {}, body).prompt == "go"


def test_tools_that_are_offered_in_the_conversation_count_too():
    offer = {
        "type": "additional_tools",
        "tools": [{"type": "namespace", "name": "functions", "tools": [{"name": "exec"}]}],
    }

    assert Request("/", {}, {"input": [offer]}).tools == ["functions.exec"]
