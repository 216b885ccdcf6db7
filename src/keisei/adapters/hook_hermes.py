"""Hermes Agent's hook: the files of its home with the gate's client in them. Pure.

Hermes lets a call run whenever a shell hook of its configuration fails, and half a surrogate pair in an argument is
enough to make every such hook fail before it is started. So the gate is a plugin, which runs inside Hermes and answers
itself when the client does not. One that cannot be loaded is no gate: the audit after the attempt finds its calls.
"""

import json
from collections.abc import Mapping, Sequence

from keisei.records.error import OperatorError

HARNESS = "hermes"
NAME = "keisei-gate"
"""The plugin."""
CONFIG = "config.yaml"
MANIFEST = f"plugins/{NAME}/plugin.yaml"
PLUGIN = f"plugins/{NAME}/__init__.py"
CONTEXT = 128_000
"""Tokens of context where nobody asks the model's server; Hermes refuses to begin with less than 64,000."""
KEY = "${OPENAI_API_KEY}"
"""Hermes fills variables into its configuration, so that no token stands in a file."""

_SOURCE = '''"""The gate: the client is asked before every tool call, and whatever goes wrong with it is a refusal."""

import json
import os
import subprocess

HOOK = %s
TIMEOUT_S = 8


def register(ctx):
    ctx.register_hook("pre_tool_call", judge)


def judge(tool_name="", args=None, session_id="", tool_call_id="", **_):
    try:
        told = {"hook_event_name": "pre_tool_call", "tool_name": tool_name, "tool_input": args, "cwd": os.getcwd()}
        told |= {"session_id": session_id, "extra": {"tool_call_id": tool_call_id}}
        asked = json.dumps(told).encode("ascii")
        done = subprocess.run(HOOK, input=asked, capture_output=True, timeout=TIMEOUT_S, check=False)
        if done.returncode == 0 and not done.stdout.strip():
            return None
        reason = done.stderr.decode("utf-8", "replace").strip() or f"the hook ended with {done.returncode}"
    except Exception as error:
        reason = f"keisei gate: the hook failed ({type(error).__name__}), so the call is refused"
    return {"action": "block", "message": reason}
'''


def attempt_files(hook: Sequence[str], model: str | None = None, address: str | None = None) -> dict[str, str]:
    """The files of HERMES_HOME for one attempt, by path; `hook` is the client's whole argv.

    `address` is where an OpenAI-compatible server answers, without a path; None leaves Hermes to its variables. Raises
    OperatorError for words that no program can be given.
    """
    for word in hook:
        if "\0" in word:
            raise OperatorError("a path contains a NUL", "name the file by its real path")
    return {
        CONFIG: json.dumps(_config(model, address), indent=1),
        MANIFEST: json.dumps(
            {"name": NAME, "version": "1", "description": "Asks keisei's gate.", "provides_hooks": ["pre_tool_call"]}
        ),
        PLUGIN: _SOURCE % ascii(list(hook)),
    }


def is_gated(files: Mapping[str, str]) -> bool:
    """Whether these files hold the plugin and a configuration that loads it."""
    try:
        config = json.loads(files.get(CONFIG, ""))
        enabled = config["plugins"]["enabled"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    return isinstance(enabled, list) and NAME in enabled and "register_hook" in files.get(PLUGIN, "")


def _config(model: str | None, address: str | None) -> dict[str, object]:
    """JSON is YAML too. Tools that stand behind a search are off, since the transcript names them otherwise.

    The reviews that Hermes does by itself in the background after a turn are off as well: nobody waits for their end.
    """
    asked: dict[str, object] = {"default": model} if model else {}
    if address is not None:
        asked |= {"provider": "custom", "base_url": f"{address}/v1", "api_key": KEY, "context_length": CONTEXT}
    config: dict[str, object] = {
        "plugins": {"enabled": [NAME]},
        "sessions": {"write_json_snapshots": True},
        "tools": {"tool_search": {"enabled": "off"}},
        "memory": {"nudge_interval": 0},
        "skills": {"creation_nudge_interval": 0},
    }
    return {"model": asked, **config} if asked else config
