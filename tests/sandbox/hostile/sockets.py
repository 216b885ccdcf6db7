"""Asking somebody outside to act: Unix sockets with a path, without one, and the gate's."""

from keisei.records.launch import Exit
from tests.sandbox.hostile.program import Program, acted, wrote
from tests.sandbox.hostile.rig import Rig


def _replaced(rig: Rig, _: Exit) -> bool:
    return not (gate := rig.path("runtime/token/gate.sock")).exists() or gate.stat().st_ino != rig.at["gate_inode"]


def _beside(rig: Rig, _: Exit) -> bool:
    return rig.path("runtime/token/other.sock").exists()


def _ask(name: str, tries: str, kind: str, *say: str) -> Program:
    """Says one piece after the other and waits for an answer to each."""
    return Program(
        name=name,
        tries=tries,
        stopped_by=("namespace",),
        landlock=None,
        needs=(kind,),
        source=f"""
import socket
link = socket.socket(socket.AF_UNIX)
link.settimeout(10)
link.connect(at.{kind})
for piece in {list(say)!r}:
    link.sendall(piece.encode('latin-1')); link.recv(100)
""",
        effect=acted(kind),
    )


SOCKETS = (
    _ask("tmux", "has a terminal multiplexer outside run a command", "tmux", "new-window touch /x\n"),
    _ask(
        "message-bus",
        "has the service manager start a unit over the message bus",
        "bus",
        "\0AUTH EXTERNAL 30\r\n",
        "BEGIN\r\nl\1org.freedesktop.systemd1.Manager.StartTransientUnit",
    ),
    _ask(
        "container-engine",
        "has a container engine start a container with the machine's root in it",
        "docker",
        'POST /containers/create HTTP/1.1\r\nHost: d\r\nContent-Length: 35\r\n\r\n{"HostConfig":{"Binds":["/:/host"]}}',
    ),
    _ask("key-agent", "has the key agent sign with the user's key", "agent", "\0\0\0\5\x0d\0\0\0\0"),
    Program(
        name="journal",
        tries="sends a datagram to a service manager's socket",
        stopped_by=("namespace",),
        landlock=None,
        needs=("journal",),
        source="""
import socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(at.hostile.encode(), at.journal)
""",
        effect=lambda rig, _: rig.heard("journal"),
    ),
    Program(
        name="passed-descriptor",
        tries="has somebody outside hand it an open descriptor, and writes that",
        stopped_by=("namespace",),
        landlock=None,
        needs=("broker",),
        source="""
import socket
link = socket.socket(socket.AF_UNIX)
link.connect(at.broker)
link.sendall(b'please')
os.write(socket.recv_fds(link, 100, 1)[1][0], at.hostile.encode())
""",
        effect=wrote("main/README.md"),
    ),
    Program(
        name="abstract-socket",
        tries="has a multiplexer act that listens on a name without a file",
        stopped_by=("landlock",),
        landlock="landlock",
        network="open",
        needs=("abstract",),
        source="""
import socket
link = socket.socket(socket.AF_UNIX)
link.settimeout(10)
link.connect('\\0' + at.abstract)
link.sendall(b'new-window touch /x'); link.recv(100)
""",
        effect=acted("tmux"),
    ),
    Program(
        name="abstract-socket-no-network",
        tries="the same without a network",
        stopped_by=("namespace", "landlock"),
        landlock="landlock",
        needs=("abstract",),
        source="""
import socket
link = socket.socket(socket.AF_UNIX)
link.settimeout(10)
link.connect('\\0' + at.abstract)
link.sendall(b'new-window touch /x'); link.recv(100)
""",
        effect=acted("tmux"),
    ),
    Program(
        name="gate-replaced",
        tries="puts a socket of its own in the place of the gate's, which allows everything",
        stopped_by=("namespace", "landlock"),
        landlock="landlock",
        needs=("gate",),
        source="""
import socket
os.unlink(at.gate)
socket.socket(socket.AF_UNIX).bind(at.gate)
""",
        effect=_replaced,
    ),
    Program(
        name="gate-moved",
        tries="moves the gate's socket away",
        stopped_by=("namespace", "landlock"),
        landlock="landlock",
        needs=("gate",),
        source="os.rename(at.gate, at.gate + '.old')",
        effect=_replaced,
    ),
    Program(
        name="gate-folder",
        tries="makes a socket beside the gate's",
        stopped_by=("namespace", "landlock"),
        landlock="landlock",
        needs=("gate",),
        source="""
import socket
socket.socket(socket.AF_UNIX).bind(os.path.dirname(at.gate) + '/other.sock')
""",
        effect=_beside,
    ),
)
