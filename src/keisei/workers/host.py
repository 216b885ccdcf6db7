"""Host: the program a Python atom lives in. It stands alone: nothing of keisei is imported here.

It is told on standard input where the function is, loads it once, and then answers one call after another, a JSON line
each. Both ends of that talk are moved out of the way: for the atom standard input is empty, and standard output goes
where standard error goes; one that looks for them can forge its own answer. Whatever an atom does to its own process
harms its own calls; who drives the host looks from outside, and ends it with its whole tree where it is not as it was.

Everything the host needs after the first line of an atom's code is held here, so that an atom that patches a module
patches it for itself.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import re
import resource
import signal
import sys
import time
from _signal import getitimer, getsignal  # type: ignore[import-not-found]
from fcntl import F_DUPFD_CLOEXEC, fcntl
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
    SourcelessFileLoader,
)
from importlib.util import module_from_spec
from json.decoder import JSONDecoder
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from os import _exit as leave
from os import chdir, environ, fstat, getpid, nice, umask, waitpid, write

PRIVATE = 20
MEMORY = 4 << 30
LONGEST = 16_384
"""Characters of a message. Who drives the host takes secrets out of it, and shortens it behind that."""
ENDED = 143
UMASK = 0o022
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 1, 36, 37
CODE = re.compile(r"[A-Z][A-Za-z0-9]{0,63}")
LIMITS = tuple(getattr(resource, f"RLIMIT_{name}") for name in ("CPU", "FSIZE", "DATA", "NPROC", "NOFILE", "AS"))
STRICT = (False, False, False)
"""Keys are not sorted, none is left out, and NaN is no number."""
HOLDERS = (dict, list, tuple)
KEPT_S, FEW = 90 * 86_400, 100
"""How long the answer of a keyed call is kept, and how many older ones a call takes away."""
OF_ONE_CALL = ("KEISEI_INVOCATION_ID", "KEISEI_DEADLINE")

TYPE_CHECKING = False  # `typing` takes longer to import than everything else here
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.abc import PathEntryFinder
    from types import ModuleType, TracebackType
    from typing import Any, BinaryIO, NoReturn

prctl = ctypes.CDLL(None).prctl
scan = JSONDecoder().scan_once  # type: ignore[attr-defined]
clock, unix_time = time.monotonic, time.time
getrlimit, getresuid = resource.getrlimit, os.getresuid


def json_text(value: object) -> bytes:
    """One line of JSON. Raises ValueError, TypeError or RecursionError for what JSON cannot carry."""
    encode = c_make_encoder({}, _refuse, encode_basestring, None, ":", ",", *STRICT)
    text = "".join(encode(value, 0)).encode("utf-8")
    _check_keys(value)  # behind the encoder, which finds out what holds itself
    return text


def _check_keys(value: object) -> None:
    """Raises TypeError for a key that is no text: 1 and "1" would become one key, and one value would be lost."""
    ahead = [value]
    while ahead:
        each = ahead.pop()
        if isinstance(each, dict):
            for key in each:
                if not isinstance(key, str):
                    raise TypeError(f"a key of type {type(key).__name__} is no text")
            ahead += [inner for inner in each.values() if isinstance(inner, HOLDERS)]
        elif isinstance(each, HOLDERS):
            ahead += [inner for inner in each if isinstance(inner, HOLDERS)]


def _refuse(value: object) -> NoReturn:
    raise TypeError(f"a value of type {type(value).__name__} is no JSON")


class AtomError(Exception):
    """What `context.error` makes."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Context:
    """What an atom is told about its call."""

    def __init__(self, host: Host, order: dict[str, Any]) -> None:
        self.atom = host.atom
        """The id of the atom."""
        self.invocation_id = order["invocation_id"]
        """The id of this call. The same again is the same call again."""
        self.database_path = order["database"]
        """The database of the package; None where it has none."""
        self._until: float = clock() + order["timeout_s"]
        self.deadline = unix_time() + order["timeout_s"]
        """When the call is ended, in unix seconds."""
        self._host = host
        self._is_answered = False

    def remaining_s(self) -> float:
        """How many seconds are left."""
        return max(0.0, self._until - clock())

    @property
    def log(self) -> Any:  # noqa: ANN401 - a module that is imported late
        """A logger; what it writes is shown to people."""
        return self._host.logger()

    def error(self, code: str, message: str) -> AtomError:
        """An exception to raise: the atom fails with one of the codes its page declares."""
        if not CODE.fullmatch(code):
            raise ValueError(f"an error code is PascalCase, at most 64 letters and digits, not {code!r}")
        return AtomError(code, str(message))

    def database(self) -> Any:  # noqa: ANN401 - a module that is imported late
        """A connection to the database of the package, kept open between calls."""
        if self.database_path is None:
            raise RuntimeError(f"the package of {self.atom} has no database")
        return self._host.connection(self.database_path)

    def once(self, work: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - any JSON
        """What `work(db)` returned, in one transaction: under one invocation id it is done once and told again.

        There is one answer to a call: a second use of it in the same call raises RuntimeError.
        """
        if self._is_answered:
            raise RuntimeError("context.once is for the whole of a call: do everything in one function")
        db = self.database()
        db.execute("BEGIN IMMEDIATE")
        try:
            kept = db.execute(
                "SELECT output FROM keisei_calls WHERE invocation_id = ?", (self.invocation_id,)
            ).fetchone()
            output = scan(kept[0], 0)[0] if kept else self._first(db, work)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        self._is_answered = True
        return output

    def _first(self, db: Any, work: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - any JSON
        output = work(db)
        if not db.in_transaction:
            raise RuntimeError("the work given to context.once must not end the transaction it runs in")
        now = unix_time()
        db.execute(
            "DELETE FROM keisei_calls WHERE invocation_id IN"
            " (SELECT invocation_id FROM keisei_calls WHERE called_at < ? LIMIT ?)",
            (stamp(now - KEPT_S), FEW),
        )
        db.execute(
            "INSERT INTO keisei_calls (invocation_id, output, called_at) VALUES (?, ?, ?)",
            (self.invocation_id, json_text(output).decode("utf-8"), stamp(now)),
        )
        return output


class Host:
    """One atom, ready to be called."""

    def __init__(self, orders: BinaryIO, answers: int, said: int) -> None:
        self._orders, self._answers, self._said = orders, answers, said
        self._pid = getpid()
        self._state = "idle"
        self._asked = False
        self._logger: Any = None
        self._connection: Any = None
        self._connected: str | None = None
        signal.signal(signal.SIGTERM, self._end)
        setup = self._order()
        self.atom, self._cap = setup["atom"], setup["cap"]
        self._run = self._load(setup)
        for name in OF_ONE_CALL:
            environ.pop(name, None)
        self._environ = dict(environ)
        self._environ_data = dict(environ._data)  # type: ignore[attr-defined]  # noqa: SLF001 - see _begin
        self._stdout, self._stderr = sys.stdout, sys.stderr
        self._shape = self._shaped()

    def serve(self) -> NoReturn:
        """Answer calls until nobody asks any more."""
        self._tell({"kind": "ready"})
        while True:
            order = self._order()
            self._begin(order)
            self._answer(order)

    def _order(self) -> dict[str, Any]:
        line = self._orders.readline()
        if not line:
            self._close_connection()
            leave(0)
        order: dict[str, Any] = scan(line.decode("utf-8"), 0)[0]
        return order

    def _end(self, *_: object) -> NoReturn:
        """Asked to end: an atom at work is interrupted, so that its `finally` blocks run."""
        self._asked = True
        if self._state == "stream":
            raise GeneratorExit
        if self._state == "call":
            raise SystemExit(ENDED)
        leave(ENDED)

    def _load(self, setup: dict[str, Any]) -> Callable[[Any, Context], Any]:
        try:
            run: Any = getattr(load(setup), "run", None)
            if callable(run):
                return run  # type: ignore[no-any-return]
            message = "it has no function `run`" if run is None else "its `run` is no function"
        except BaseException as error:  # noqa: BLE001 - whatever a module does when it is loaded
            if getpid() != self._pid:
                leave(0)
            self._trace(error)
            message = worded(error)
        self._tell({"kind": "unready", "message": message})
        leave(1)

    def _begin(self, order: dict[str, Any]) -> None:
        """Have everything as it was before the first call."""
        self._tell({"kind": "begun", "id": order["id"]})
        os.environ = environ  # noqa: B003 - the atom may have put another one in its place
        for name in OF_ONE_CALL:
            environ.pop(name, None)
        # Decoding all of it would take as long as the call.
        if environ._data != self._environ_data:  # type: ignore[attr-defined]  # noqa: SLF001
            environ.clear()
            environ.update(self._environ)
        umask(UMASK)

    def _answer(self, order: dict[str, Any]) -> None:
        identity, frame, spent = order["id"], b"", False
        try:
            self._state = "stream" if order["stream"] else "call"
            enter(order["cwd"])
            context = Context(self, order)
            environ["KEISEI_INVOCATION_ID"] = context.invocation_id
            environ["KEISEI_DEADLINE"] = repr(context.deadline)
            output = self._run(order["input"], context)
            if order["stream"]:
                self._items(identity, output)
                output = None
            self._state = "idle"
            frame = self._output("done", identity, output)
        except BaseException as error:  # noqa: BLE001 - whatever an atom raises is its answer
            self._state = "idle"
            if getpid() == self._pid and not self._asked:
                frame = json_text({"kind": "failed", "id": identity, **self._failure(error)})[:-1]
                spent = isinstance(error, MemoryError)
        if getpid() != self._pid:  # a child it forked came back from its function
            leave(0)
        if self._asked:
            self._settle()
            leave(ENDED)
        spent = self._settle() or spent
        self._write(frame + (b',"spent":true}\n' if spent else b"}\n"))

    def _items(self, identity: str, made: Any) -> None:  # noqa: ANN401 - whatever an atom returns
        if isinstance(made, (str, bytes, dict)) or not hasattr(made, "__iter__"):
            raise Unfit(f"a stream yields its items, and this one returned a value of type {type(made).__name__}")
        items = iter(made)
        try:
            for item in items:
                self._write(self._output("item", identity, item) + b"}\n")
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()

    def _output(self, kind: str, identity: str, value: object) -> bytes:
        """A frame without its end. Raises Unfit for what is no JSON, Flood for what is too much of it."""
        try:
            text = json_text(value)
        except UnicodeEncodeError:
            raise Unfit("it holds half a surrogate pair, which no JSON text can carry") from None
        except RecursionError:
            raise Unfit("it is nested too deeply") from None
        except (ValueError, TypeError) as error:
            raise Unfit(shown(error)) from None
        if len(text) > self._cap:
            raise Flood(f"it is {len(text)} bytes long, and the cap is {self._cap}")
        return b'{"kind":"%b","id":"%b","output":%b' % (kind.encode(), identity.encode(), text)

    def _failure(self, error: BaseException) -> dict[str, Any]:
        if isinstance(error, Unfit):
            return {"error": "schema-out", "message": f"the output is no JSON: {error}"}
        if isinstance(error, Homeless):
            return {"error": "io", "message": shown(error)}
        if isinstance(error, Flood):
            return {"error": "killed", "message": f"the output is too long: {error}"}
        code = coded(error)
        if code is None:
            self._trace(error)
        if isinstance(error, MemoryError):
            return {"error": "killed", "message": "it ran out of memory"}
        return {"error": "atom", "code": code, "message": (shown(error) or code) if code else worded(error)}

    def _settle(self) -> bool:
        """Flush what is still unsaid, end what is still open. True where this process is not as it was."""
        for stream in (self._stdout, self._stderr):
            try:
                stream.flush()
            except BaseException:  # noqa: BLE001, S112 - closed by the atom; the look at its shape says so
                continue
        try:
            if self._connection is not None and self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except BaseException:  # noqa: BLE001 - closed by the atom
            self._connection = None
        try:
            return self._has_children() or self._shaped() != self._shape
        except BaseException:  # noqa: BLE001 - what cannot be looked at is not as it was
            return True

    def _shaped(self) -> tuple[object, ...]:
        """What an atom can change of its process and nobody sees from outside."""
        return (
            tuple(sys.path),
            (id(sys.stdin), id(sys.stdout), id(sys.stderr), id(sys.excepthook)),
            (sys.getrecursionlimit(), gc.isenabled(), sys.gettrace(), sys.getprofile()),
            tuple((told.st_dev, told.st_ino) for told in map(fstat, (0, 1, 2))),
            (getsignal(signal.SIGTERM), getsignal(signal.SIGINT), getsignal(signal.SIGALRM)),
            tuple(getitimer(which) for which in (0, 1, 2)),
            tuple(getrlimit(which) for which in LIMITS),
            (getresuid(), nice(0)),
            prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(reaping), 0, 0, 0) or reaping.value,
        )

    def _has_children(self) -> bool:
        try:
            while waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return False
        return True

    def connection(self, path: str) -> Any:  # noqa: ANN401 - a module that is imported late
        """The connection, opened once."""
        if self._connection is None or self._connected != path or not is_open(self._connection):
            import apsw  # noqa: PLC0415 - most atoms need none

            self._connection, self._connected = apsw.Connection(path), path
            self._connection.set_busy_timeout(5000)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA foreign_keys = ON")
        return self._connection

    def _close_connection(self) -> None:
        try:
            if self._connection is not None:
                self._connection.close()
        except BaseException:  # noqa: BLE001 - the process ends now
            return

    def logger(self) -> Any:  # noqa: ANN401 - a module that is imported late
        """The logger, made once."""
        if self._logger is None:
            import logging  # noqa: PLC0415 - most atoms need none

            handler = logging.StreamHandler(open(self._said, "w", encoding="utf-8", errors="replace", closefd=False))  # noqa: SIM115 - a descriptor, open as long as the process
            handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
            self._logger = logging.getLogger(f"atom.{self.atom}")
            self._logger.addHandler(handler)
            self._logger.setLevel(logging.INFO)
            self._logger.propagate = False
        return self._logger

    def _trace(self, error: BaseException) -> None:
        try:
            import traceback  # noqa: PLC0415 - most calls need none

            text = "".join(traceback.format_exception(type(error), error, own_part(error), limit=-20, chain=False))
            write(self._said, (text if len(text) <= LONGEST else f"…{text[-LONGEST:]}").encode("utf-8", "replace"))
        except BaseException:  # noqa: BLE001 - an exception that cannot be printed
            return

    def _tell(self, frame: dict[str, Any]) -> None:
        self._write(json_text(frame) + b"\n")

    def _write(self, data: bytes) -> None:
        if getpid() != self._pid:
            leave(0)
        rest = memoryview(data)
        while rest:
            rest = rest[write(self._answers, rest) :]


def stamp(seconds: float) -> str:
    """A time as it stands in the database; the later one is the greater text."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class Homeless(Exception):
    """The folder of the call cannot be entered."""


class Unfit(Exception):
    """What came out is no JSON."""


class Flood(Exception):
    """What came out is too much."""


class Fresh(SourceFileLoader):
    """Loads the package's own files from their text.

    Compiled files are told apart by whole seconds and sizes: an edit within a second would not be seen.
    """

    own: tuple[str, ...] = ()

    def path_stats(self, path: Any) -> Any:  # noqa: ANN401 - as its parent says
        """Say that nothing compiled can be compared with it."""
        if path.startswith(self.own):
            raise OSError
        return super().path_stats(path)


def load(setup: dict[str, Any]) -> ModuleType:
    """The module of the function."""
    root, name, function = setup["root"], setup["module"], setup["function"]
    Fresh.own = (setup["own"] + "/", function)
    sys.path.insert(0, root)
    sys.path_importer_cache.pop(root, None)
    sys.path_hooks.insert(0, lambda path: finder(path, root))
    if name is not None:
        module = importlib.import_module(name)
        if os.path.realpath(module.__file__ or "") != os.path.realpath(function):
            raise ImportError(f"`{name}` is another module: {module.__file__}")
        return module
    loader = Fresh("keisei_atom", function)
    module = module_from_spec(ModuleSpec("keisei_atom", loader, origin=function))
    module.__file__ = function
    sys.modules["keisei_atom"] = module
    loader.exec_module(module)
    return module


def finder(path: str, root: str) -> PathEntryFinder:
    """A finder for the folders of the package; ImportError leaves others to the usual one."""
    if path != root and not f"{path}/".startswith(Fresh.own[0]):
        raise ImportError
    kinds = ((ExtensionFileLoader, EXTENSION_SUFFIXES), (Fresh, SOURCE_SUFFIXES))
    return FileFinder(path, *kinds, (SourcelessFileLoader, BYTECODE_SUFFIXES))


def enter(folder: str) -> None:
    """Work there. Raises Homeless."""
    try:
        chdir(folder)
    except (OSError, ValueError) as error:
        raise Homeless(f"its folder `{folder}` cannot be entered: {shown(error)}") from None


def is_open(connection: Any) -> bool:  # noqa: ANN401 - a module that is imported late
    """Whether a connection can still be used."""
    try:
        connection.in_transaction  # noqa: B018 - it raises where the connection is closed
    except BaseException:  # noqa: BLE001 - closed, in whatever way
        return False
    return True


def coded(error: BaseException) -> str | None:
    """The code of an atom's own error; None where it has none."""
    try:
        code = error.code if isinstance(error, Exception) else None  # type: ignore[attr-defined]
    except BaseException:  # noqa: BLE001 - no such attribute, or a hostile one
        return None
    return str(code) if isinstance(code, str) and CODE.fullmatch(code) else None


def own_part(error: BaseException) -> TracebackType | None:
    """Where it came from, without the way there through this file and the importing; None where that is all."""
    part = error.__traceback__
    while part is not None and part.tb_frame.f_code.co_filename.startswith((__file__, "<frozen importlib")):
        part = part.tb_next
    return part


def shown(error: BaseException) -> str:
    """What an exception says of itself, as far as it can."""
    try:
        text = str(error)
        return (text if len(text) <= LONGEST else f"{text[:LONGEST]}…").encode("utf-8", "replace").decode("utf-8")
    except BaseException:  # noqa: BLE001 - a hostile one
        return ""


def worded(error: BaseException) -> str:
    """An exception in one sentence."""
    try:
        name = str(type.__getattribute__(type(error), "__name__"))[:100].encode("utf-8", "replace").decode("utf-8")
    except BaseException:  # noqa: BLE001 - a hostile one
        name = "an exception"
    said = shown(error)
    return f"{name}: {said}" if said else name


reaping = ctypes.c_int()


def main() -> None:
    """Move the talk to private descriptors, bound this process, load the function and serve it."""
    orders, answers, said = (fcntl(number, F_DUPFD_CLOEXEC, PRIVATE) for number in (0, 1, 2))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout.reconfigure(  # type: ignore[union-attr]
        line_buffering=True, errors="backslashreplace"
    )
    umask(UMASK)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for limit, most in ((resource.RLIMIT_DATA, MEMORY), (resource.RLIMIT_CORE, 0)):
        _, hard = getrlimit(limit)
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (bound, bound))
    try:
        Host(open(orders, "rb"), answers, said).serve()  # noqa: PTH123, SIM115 - a descriptor, open as long as the process
    except BaseException:  # noqa: BLE001 - nobody is there to tell
        leave(1)


if __name__ == "__main__":
    main()
