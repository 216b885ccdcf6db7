"""Scripts: what a gate.sh or verify.sh is handed, and what its exit means. The contract of seed 000, fallen closed."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from keisei.records.effect import ToolCall
from keisei.records.error import OperatorError

FIXED = ("AGENT_ID", "TASK_TOML", "WORKTREE_PATH", "MAIN_REPO", "RUN_MODE")
"""What every script finds in its environment, as far as it is known."""
TASK_KEYS = ("agent_id", "role", "scope", "verification", "parameters", "worktree_path")
"""What stands under `task` on standard input."""
LONGEST = 200
"""Characters of a reason."""

_PARAMETER = re.compile(r"[a-z][a-z0-9-]*")
_CAPABILITY = re.compile(rf"{_PARAMETER.pattern}::{_PARAMETER.pattern}")
_TAKEN = frozenset(
    {*FIXED, "PATH", "HOME", "LANG", "LANGUAGE", "SHELL", "USER", "LOGNAME", "PWD", "OLDPWD", "TMPDIR", "TERM", "IFS"}
    | {"ENV", "CDPATH", "BASH", "BASHOPTS", "SHELLOPTS", "FPATH", "ZDOTDIR", "GCONV_PATH", "LOCPATH"}
    | {"BASH_ENV", "BASH_COMPAT", "BASH_XTRACEFD", "PROMPT_COMMAND", "PS4", "NLSPATH", "HOSTALIASES", "CLASSPATH"}
)
_TAKEN_FAMILIES = (
    "LD_",
    "LC_",
    "DYLD_",
    "KEISEI_",
    "KEI_",
    "GIT_",
    "PYTHON",
    "PERL5",
    "RUBY",
    "NODE_",
    "GLIBC_",
    "JAVA_",
)


class Folders(NamedTuple):
    """Where a script finds what it is handed, absolute."""

    helpers: str
    """Holds the program `capability_patterns`."""
    patterns: str
    """Holds the files of `pattern_files`."""
    home: str
    """An empty folder outside the worktree."""


class Meaning(NamedTuple):
    """What a gate's script said."""

    decision: Literal["allow", "deny"]
    cause: Literal["rule", "error"]
    """The script decided, or it broke and `on-error` decided."""
    reason: str
    """One line; empty where the script plainly allows."""


class Checked(NamedTuple):
    """What a verify's script said."""

    status: Literal["held", "violated", "error"]
    reason: str
    """One line of at most 200 characters; empty where it held."""
    detail: str
    """The rest of what it wrote."""


def variable(parameter: str) -> str:
    """The environment variable of a parameter: `files-whitelist` is `FILES_WHITELIST`.

    Raises OperatorError for a name that is none, or that stands for a variable with a meaning of its own.
    """
    name = parameter.upper().replace("-", "_")
    if not _PARAMETER.fullmatch(parameter):
        raise OperatorError(
            f"`{parameter}` is not the name of a parameter", "use lower-case letters, digits and hyphens"
        )
    if name in _TAKEN or name.startswith(_TAKEN_FAMILIES):
        raise OperatorError(f"the parameter `{parameter}` would overwrite the variable {name}", "give it another name")
    return name


def environment(
    task: Mapping[str, Any],
    parameters: Mapping[str, Any],
    base_path: str,
    folders: Folders,
) -> dict[str, str]:
    """The whole environment of a script; nothing else is inherited.

    `task` gives AGENT_ID and the rest by their lower-case names; what is not known is not set. `base_path` is a PATH;
    the helpers come before it. Raises OperatorError for a parameter that cannot be handed over.
    """
    known = {name: task.get(name.lower()) for name in FIXED}
    return {
        **{variable(name): _text(name, value) for name, value in parameters.items() if value is not None},
        **{name: str(value) for name, value in known.items() if value is not None},
        "PATH": f"{folders.helpers}:{base_path}" if base_path else folders.helpers,
        "HOME": folders.home,
        "LANG": "C.UTF-8",
        "KEISEI_PATTERNS_DIR": folders.patterns,
    }


def stdin(call: ToolCall, task: Mapping[str, Any]) -> bytes:
    """What a gate's script reads: the harness's JSON and one key `task`. Raises OperatorError for what is not JSON."""
    told = {
        "hook_event_name": call.event,
        "tool_name": call.tool,
        "tool_input": call.input,
        "cwd": call.cwd,
        "tool_use_id": call.tool_use_id,
        "agent_id": call.agent_id,
        "agent_type": call.agent_type,
    }
    document = {**call.told, **{key: value for key, value in told.items() if value is not None}}
    document["task"] = {key: task.get(key) for key in TASK_KEYS}
    try:
        return json.dumps(msgspec.to_builtins(document), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise OperatorError(f"the call and its task cannot be told to a script as JSON: {error}") from error


def gate_meaning(  # noqa: PLR0913 - the facts of an exit
    code: int | None,
    stdout: bytes,
    stderr: bytes,
    on_error: Literal["deny", "allow"],
    timed_out: bool,  # noqa: FBT001 - one of the five facts of an exit
    *,
    truncated: bool = False,
) -> Meaning:
    """What a gate's exit means: 0 allows unless its output refuses, 2 refuses, anything else is a broken gate.

    A broken gate falls the way `on_error` says, and its reason says that it broke. `code` is None where the script was
    not started or was killed; `truncated` says that standard output was longer than what is here.
    """
    if timed_out:
        return _broken("did not answer in time", stderr, on_error)
    if code == 0 and truncated:
        return _broken("wrote more than can be read", stderr, on_error)
    if code == 0:
        said = _refusal(stdout)
        return Meaning("allow", "rule", "") if said is None else _refused(said, stderr)
    if code == 2:  # noqa: PLR2004 - the contract's number
        return _refused(_refusal(stdout) or _reason_of(stdout), stderr)
    return _broken(_ended(code), stderr, on_error)


def verify_meaning(code: int | None, stderr: bytes, *, timed_out: bool = False) -> Checked:
    """What a verify's exit means: 0 held, anything else violated; late, killed or never started is an error."""
    first, rest = _first_line(stderr)
    if timed_out or code is None:
        what = "did not answer in time" if timed_out else _ended(code)
        return Checked("error", f"its script {what}", "\n".join(filter(None, (first, rest))))
    if code == 0:
        return Checked("held", "", "\n".join(filter(None, (first, rest))))
    return Checked("violated", _cut(first) or f"its script {_ended(code)} and gave no reason", _detail(first, rest))


def pattern_files(lists: Mapping[str, Mapping[str, Sequence[object]]]) -> dict[str, bytes]:
    """The files `capability_patterns` reads, by path below the folder of patterns, from each capability's lists.

    Empty lists have files too. Raises OperatorError for a name or a key the helper would not take, and for a value
    that is not one line.
    """
    files = {}
    for name, keys in lists.items():
        if not _CAPABILITY.fullmatch(name):
            raise OperatorError(f"`{name}` is not the name of a capability", "names are `category::slug`")
        for key, values in keys.items():
            if not _PARAMETER.fullmatch(key):
                raise OperatorError(f"`{key}` of {name} is not the name of a list")
            text = "".join(f"{_line(f'{name} {key}', value)}\n" for value in values)
            files[f"{name.replace('::', '__')}/{key}"] = text.encode(errors="surrogateescape")
    return files


def _text(name: str, value: object) -> str:
    if isinstance(value, list | tuple):
        return "\n".join(_line(name, each) for each in value)
    return _single(name, value)


def _line(name: str, value: object) -> str:
    text = _single(name, value)
    if "\n" in text:
        raise OperatorError(f"a value of `{name}` has several lines; a script reads one value per line")
    return text


def _single(name: str, value: object) -> str:
    """A value as text, as a script would write it."""
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str | int | float):
        text = str(value)
    else:
        plain = msgspec.to_builtins(value)
        text = plain if isinstance(plain, str) else json.dumps(plain)
    if "\0" in text:
        raise OperatorError(f"a value of `{name}` contains a NUL, which no script can be handed")
    return text


def _refused(said: str | None, stderr: bytes) -> Meaning:
    return Meaning("deny", "rule", _cut(said or "") or _cut(_first_line(stderr)[0]) or "refused by its script")


def _broken(what: str, stderr: bytes, on_error: Literal["deny", "allow"]) -> Meaning:
    first = _first_line(stderr)[0]
    fell = "refused, because a broken gate refuses" if on_error == "deny" else "let through, because on-error is allow"
    known = f"its script {what}"
    room = LONGEST - len(known) - len(fell) - len(" (); ")
    quoted = f" ({first[: room - 1]}…)" if len(first) > room else f" ({first})" if first else ""
    return Meaning(on_error, "error", f"{known}{quoted}; {fell}")


def _ended(code: int | None) -> str:
    return "was killed or not started" if code is None else f"ended with exit code {code}"


def _refusal(stdout: bytes) -> str | None:
    """The reason of a refusal on standard output, empty where it has none; None where nothing there refuses."""
    for answer in _answers(stdout):
        inner = answer.get("hookSpecificOutput")
        decision = inner.get("permissionDecision") if isinstance(inner, dict) else None
        # A script that wants a person asked has not allowed it, and nobody is here to ask.
        if (
            decision in {"deny", "ask"}
            or answer.get("decision") in {"block", "deny"}
            or answer.get("continue") is False
        ):
            return _reason_in(answer)
    return None


def _reason_of(stdout: bytes) -> str | None:
    return next((reason for answer in _answers(stdout) if (reason := _reason_in(answer))), None)


def _reason_in(answer: dict[str, Any]) -> str:
    inner = answer.get("hookSpecificOutput")
    inner = inner if isinstance(inner, dict) else {}
    places = (inner.get("permissionDecisionReason"), answer.get("reason"), answer.get("stopReason"))
    return next((text for text in places if isinstance(text, str) and text.strip()), "")


def _answers(stdout: bytes) -> list[dict[str, Any]]:
    """Every JSON object on standard output: the whole of it, or one a line among other words."""
    found = []
    for text in (stdout, *(line for line in stdout.splitlines() if line.lstrip().startswith(b"{"))):
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def _first_line(stderr: bytes) -> tuple[str, str]:
    """The first line that says something, and what follows it."""
    lines = stderr.decode(errors="replace").splitlines()
    for number, line in enumerate(lines):
        if clean := _clean(line):
            return clean, "\n".join(lines[number + 1 :]).strip()
    return "", ""


def _clean(text: str) -> str:
    """One line without colours and control characters."""
    plain = re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", text)
    return " ".join("".join(char if char.isprintable() else " " for char in plain).split())


def _cut(text: str) -> str:
    clean = _clean(text)
    return clean if len(clean) <= LONGEST else clean[: LONGEST - 1] + "…"


def _detail(first: str, rest: str) -> str:
    return "\n".join(filter(None, (first if len(first) > LONGEST else "", rest)))
