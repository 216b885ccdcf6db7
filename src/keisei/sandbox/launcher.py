"""Launcher: becomes a program, after giving up everything the program must not have. Falls closed.

Run as `python -I -S launcher.py JSON... -- PROGRAM ARGUMENT...`; imports nothing of ours. The pieces of JSON before the
first `--` are one text (one argument holds at most 128 kB): an object made by `confine.py`, every key of it optional:

groups    files of cgroups to join                    ignore    signals to ignore; all others get their default back
cwd       the folder to start in                      pwd       what PWD is to be; null for none
limits    pairs of a resource and its limit           forward   a command that runs beside it and says when it is ready
seal      drop every capability, gain none again      landlock  rights, rules and ports (see `landlock.py`)
seccomp   a filter, in hex (see `seccomp.py`)           loader    variables that only the program is given

The environment is handed on byte for byte. A step that fails ends it with 126 and one line on standard error, a program
that is not there with 127: never is the program run with less than was asked for.
"""

# The bare modules behind `json`, `ctypes` and `signal`: their faces for people cost twice the start of the interpreter.
import _ctypes
import _json
import _signal as signal  # type: ignore[import-not-found]
import errno
import os
import sys

_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER, _BOUNDING_DROP, _AMBIENT, _AMBIENT_CLEAR = 38, 22, 2, 24, 47, 4
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH, _NET_PORT = 1, 2
_FILE_RIGHTS = 0b1100_0000_0000_0111
"""Landlock's rights that a file can have: execute, write, read, truncate, ioctl."""
_FOLDER, _LINK, _KIND = 0o040000, 0o120000, 0o170000
_CAPABILITIES, _CAPABILITY_VERSION = 64, 0x20080522
_REFUSED, _NOT_FOUND = 126, 127
_PLACES = b"/bin:/usr/bin"


def main() -> None:
    """Do every step that is asked for, then become the program."""
    step = "arguments"
    try:
        border = sys.argv.index("--")
        profile, program = _parsed("".join(sys.argv[1:border])), [os.fsencode(each) for each in sys.argv[border + 1 :]]
        environment = _environment(profile)
        os.closerange(3, 2**31 - 1)
        for step, apply in _STEPS:
            if step in profile:
                apply(profile[step])
        step = "program"
        _become(program, environment)
    except Exception as error:  # noqa: BLE001 - whatever it is, the program must not run
        told = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
        _end(_REFUSED, f"the program is not run: {step}: {told}")


def _parsed(text: str) -> dict:  # type: ignore[type-arg] # of anything, by whoever starts us
    """As `json.loads`, in a tenth of its time."""

    class Context:
        strict, memo = True, {}  # type: ignore[var-annotated]
        object_hook = object_pairs_hook = None
        parse_float, parse_int, parse_constant = float, int, float

    profile = _json.make_scanner(Context)(text, 0)[0]  # type: ignore[arg-type] # a class will do
    if not isinstance(profile, dict):
        raise TypeError("the profile is no object")
    return profile


def _environment(profile: dict) -> dict[bytes, bytes]:  # type: ignore[type-arg] # as above
    """What was given to us: the interpreter adds to its own (LC_CTYPE), bwrap sets PWD."""
    with open("/proc/self/environ", "rb") as given:  # noqa: PTH123 - pathlib costs 5 ms here
        pairs = [each.split(b"=", 1) for each in given.read().split(b"\0") if b"=" in each]
    environment = {name: value for name, value in pairs}  # noqa: C416 - a pair is a list here
    if "pwd" in profile:
        environment.pop(b"PWD", None)
        if profile["pwd"] is not None:
            environment[b"PWD"] = _bytes(profile["pwd"])
    for name, value in profile.get("loader", {}).items():
        environment[_bytes(name)] = _bytes(value)
    return environment


def _join(groups: list[str]) -> None:
    for each in groups:
        handle = os.open(_bytes(each), os.O_WRONLY)
        os.write(handle, b"%d" % os.getpid())
        os.close(handle)


def _ignore(signals: list[int]) -> None:
    """The interpreter ignores some, and who started us may have blocked others."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN if number in signals else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _enter(folder: str) -> None:
    os.chdir(_bytes(folder))


def _seal(_: bool) -> None:  # noqa: FBT001 - that it is there is all it says
    """Root too: no_new_privs keeps what is run later from getting any back, whatever the bounding set still holds."""
    for each in range(_CAPABILITIES):
        _call("prctl", _BOUNDING_DROP, each, 0, 0, 0)
    _call("prctl", _AMBIENT, _AMBIENT_CLEAR, 0, 0, 0)
    _call("capset", _CAPABILITY_VERSION.to_bytes(4, sys.byteorder) + bytes(4), bytes(24))
    _must("no_new_privs", _call("prctl", _NO_NEW_PRIVS, 1, 0, 0, 0))
    with open("/proc/self/status", "rb") as told:  # noqa: PTH123 - as above
        sets = {line[:6]: int(line[7:], 16) for line in told if line.startswith(b"Cap")}
    if any(sets[each] for each in (b"CapPrm", b"CapEff", b"CapInh", b"CapAmb")):
        raise OSError(errno.EPERM, "capabilities are left")


def _forward(command: list[str]) -> None:
    """Start it outside the program's own confinement, as nobody's child, and wait until it says that it is ready."""
    ready, say = os.pipe()
    if os.fork() == 0:
        if os.fork() == 0:
            _run_beside([*command, str(say)], say)
        os._exit(0)
    os.wait()
    os.close(say)
    if not os.read(ready, 1):
        raise OSError(errno.EIO, "the way to the model cannot be opened")
    os.close(ready)


def _run_beside(command: list[str], say: int) -> None:
    try:
        null = os.open("/dev/null", os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        os.setsid()
        os.set_inheritable(say, True)  # noqa: FBT003 - it takes no keyword
        os.execve(command[0], [_bytes(each) for each in command], {})  # noqa: S606 - as it is meant
    finally:
        os._exit(_REFUSED)


def _limit(limits: list[list[int]]) -> None:
    import resource  # noqa: PLC0415 - the first stage has no use for it

    for which, most in limits:
        hard = resource.getrlimit(which)[1]
        most_now = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most_now, most_now))


def _landlock(plan: dict) -> None:  # type: ignore[type-arg] # as above
    attributes = b"".join(plan[each].to_bytes(8, sys.byteorder) for each in ("fs", "net", "scope"))[: plan["size"]]
    rules = _call("syscall", _CREATE_RULESET, attributes, plan["size"], 0)
    if rules < 0:
        raise OSError(errno.EPERM, "the kernel makes no ruleset")
    for rights, paths in plan["rules"]:
        for path in paths:
            _allow(rules, rights, _bytes(path))
    for rights, port in plan["ports"]:
        attributes = rights.to_bytes(8, sys.byteorder) + port.to_bytes(8, sys.byteorder)
        _must("landlock port", _call("syscall", _ADD_RULE, rules, _NET_PORT, attributes, 0))
    _must("landlock", _call("syscall", _RESTRICT_SELF, rules, 0))
    os.close(rules)


def _allow(rules: int, rights: int, path: bytes) -> None:
    """One rule. What is gone needs none; what is a link now is not what was meant."""
    try:
        handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    kind = os.fstat(handle).st_mode & _KIND
    if kind == _LINK or os.readlink(b"/proc/self/fd/%d" % handle) != path:  # noqa: PTH115 - pathlib costs 5 ms here
        raise OSError(errno.ELOOP, f"a link stands in {path!r}")
    rights = rights if kind == _FOLDER else rights & _FILE_RIGHTS
    attributes = rights.to_bytes(8, sys.byteorder) + handle.to_bytes(4, sys.byteorder)
    if rights:
        _must(f"landlock rule for {path!r}", _call("syscall", _ADD_RULE, rules, _PATH_BENEATH, attributes, 0))
    os.close(handle)


def _filter(code: str) -> None:
    instructions = bytes.fromhex(code)

    class Byte(_ctypes._SimpleCData):  # type: ignore[type-arg] # noqa: SLF001 - what `ctypes.c_char` is
        _type_ = "c"

    class Program(_ctypes.Array):  # type: ignore[type-arg] # as above
        _type_, _length_ = Byte, len(instructions)

    program = Program.from_buffer_copy(instructions)
    count, address = len(instructions) // 8, _ctypes.addressof(program)
    pointer = count.to_bytes(8, sys.byteorder) + address.to_bytes(8, sys.byteorder)
    _must("seccomp", _call("prctl", _SET_SECCOMP, _FILTER, pointer, 0, 0))


def _become(program: list[bytes], environment: dict[bytes, bytes]) -> None:
    name, found = program[0], None
    folders = [b""] if b"/" in name else environment.get(b"PATH", _PLACES).split(b":")
    for folder in folders:
        try:
            os.execve(os.path.join(folder, name), program, environment)  # noqa: PTH118, S606 - as above
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:  # as a shell does: one further down the PATH may be meant
            found = error
    if found is not None:
        raise found
    _end(_NOT_FOUND, f"`{name.decode(errors='replace')}` is not there to be run")


def _call(name: str, *arguments: "int | bytes") -> int:
    ourselves = _ctypes.dlopen(None, 0)  # type: ignore[arg-type] # this program, and the C library in it
    answer: int = _ctypes.call_function(_ctypes.dlsym(ourselves, name), arguments)
    return answer


def _must(what: str, answer: int) -> None:
    if answer != 0:
        raise OSError(errno.EPERM, f"the kernel refuses it ({what})")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _end(code: int, line: str) -> None:
    os.write(2, f"keisei: {line}\n".encode(errors="replace"))
    os._exit(code)


_STEPS = (
    ("groups", _join),
    ("ignore", _ignore),
    ("cwd", _enter),
    ("seal", _seal),
    ("forward", _forward),
    ("limits", _limit),
    ("landlock", _landlock),
    ("seccomp", _filter),
)

if __name__ == "__main__":
    main()
