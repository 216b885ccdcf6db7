"""Getting out through the network although it has none. Loopback only."""

from dataclasses import replace

from tests.sandbox.hostile.program import Program

_TCP = Program(
    name="tcp",
    tries="connects to a port of the machine",
    stopped_by=("network",),
    landlock="landlock",
    needs=("tcp",),
    source="""
import socket
link = socket.create_connection(('127.0.0.1', at.tcp), timeout=5)
link.sendall(at.hostile.encode())
""",
    effect=lambda rig, _: rig.heard("tcp"),
)
_URING = """
import mmap, socket, struct
setup = ctypes.create_string_buffer(120)
ring = libc().syscall(425, 8, setup)
told = struct.unpack('30I', setup.raw)
entries, sq_offsets, cq_offsets = told[0], told[10:20], told[20:30]
size = max(sq_offsets[6] + entries * 4, cq_offsets[5] + told[1] * 16)
rings = mmap.mmap(ring, size, flags=mmap.MAP_SHARED)
slots = mmap.mmap(ring, entries * 64, flags=mmap.MAP_SHARED, offset=0x10000000)
def submit(entry):
    tail = struct.unpack_from('I', rings, sq_offsets[1])[0]
    slots[0:64] = entry.ljust(64, b'\\0')
    struct.pack_into('I', rings, sq_offsets[6] + 4 * (tail & (entries - 1)), 0)
    struct.pack_into('I', rings, sq_offsets[1], tail + 1)
    libc().syscall(426, ring, 1, 1, 1, None, 0)
    head = struct.unpack_from('I', rings, cq_offsets[0])[0]
    answer = struct.unpack_from('Qi', rings, cq_offsets[5] + 16 * (head & (told[1] - 1)))[1]
    struct.pack_into('I', rings, cq_offsets[0], head + 1)
    return answer
made = submit(struct.pack('BBHiQQII', 45, 0, 0, socket.AF_INET, socket.SOCK_DGRAM, 0, 0, 0))
there = struct.pack('=HH4s8x', socket.AF_INET, socket.htons(at.udp), socket.inet_aton('127.0.0.1'))
where = ctypes.create_string_buffer(there)
text = ctypes.create_string_buffer(at.hostile.encode())
piece = ctypes.create_string_buffer(struct.pack('QQ', ctypes.addressof(text), len(at.hostile)))
message = ctypes.create_string_buffer(
    struct.pack('QIIQQQQI4x', ctypes.addressof(where), 16, 0, ctypes.addressof(piece), 1, 0, 0, 0))
submit(struct.pack('BBHiQQII', 9, 0, 0, made, 0, ctypes.addressof(message), 1, 0))
"""

_SERVE = """
import socket
def serve(server):
    server.settimeout(0.01)
    open(at.own + '/ready', 'w').close()
    while not os.path.exists(at.own + '/go'):
        try:
            server.accept()[0].sendall(at.hostile.encode())
        except TimeoutError:
            pass
"""

NETWORK = (
    _TCP,
    replace(
        _TCP,
        name="tcp-ipv6",
        tries="connects to a port of the machine over IPv6",
        needs=("tcp6",),
        source="import socket; socket.create_connection(('::1', at.tcp6), timeout=5).sendall(at.hostile.encode())",
        effect=lambda rig, _: rig.heard("tcp6"),
    ),
    replace(
        _TCP,
        name="tcp-shell",
        tries="connects with a program that it starts",
        source="#!sh\nbash -c 'echo $HOSTILE > /dev/tcp/127.0.0.1/$TCP'",
    ),
    replace(
        _TCP,
        name="tcp-fast-open",
        tries="sends data with the first packet and never calls connect",
        landlock="seccomp",
        source="import socket; socket.socket().sendto(at.hostile.encode(), socket.MSG_FASTOPEN, ('127.0.0.1', at.tcp))",
    ),
    replace(
        _TCP,
        name="mptcp",
        tries="connects with a protocol that becomes TCP on the way",
        landlock="seccomp",
        needs=("mptcp",),
        source="""
import socket
link = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
link.connect(('127.0.0.1', at.tcp))
link.sendall(at.hostile.encode())
""",
    ),
    replace(
        _TCP,
        name="udp",
        tries="sends a datagram, as a tunnel through DNS would",
        landlock="seccomp",
        needs=("udp",),
        source="""
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(at.hostile.encode(), ('127.0.0.1', at.udp))
""",
        effect=lambda rig, _: rig.heard("udp"),
    ),
    replace(
        _TCP,
        name="udp-ring",
        tries="has the kernel make and use a socket through io_uring, past the filter of calls",
        stopped_by=("network", "seccomp"),
        landlock="seccomp",
        needs=("ring",),
        source=_URING,
        effect=lambda rig, _: rig.heard("udp"),
    ),
    replace(
        _TCP,
        name="icmp",
        tries="sends a raw packet",
        landlock="seccomp, capabilities",
        root_only=True,
        stopped_by=("network", "capabilities"),
        needs=("raw",),
        source="""
import socket, struct
body = at.hostile.encode() + b'\\0' * (len(at.hostile) % 2)
head = struct.pack('!BBHHH', 8, 0, 0, 7, 1)
total = sum(struct.unpack(f'!{len(head + body) // 2}H', head + body))
total = (total >> 16) + (total & 0xffff)
head = struct.pack('!BBHHH', 8, 0, ~(total + (total >> 16)) & 0xffff, 7, 1)
socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).sendto(head + body, ('127.0.0.1', 0))
""",
        effect=lambda rig, _: rig.heard("raw"),
    ),
    replace(
        _TCP,
        name="sniff",
        tries="listens to what other programs say on loopback",
        landlock="seccomp, capabilities",
        root_only=True,
        stopped_by=("network", "capabilities", "seccomp"),
        needs=("talker",),
        source="""
import socket
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
link.bind(('lo', 0))
link.setblocking(False)
meet()
while True:
    take(link.recv(65536))
""",
        effect=lambda rig, _: rig.secret.encode() in rig.bytes_of("own/loot"),
    ),
    replace(
        _TCP,
        name="listen",
        tries="offers a service on a port of the machine",
        landlock="landlock",
        needs=("caller",),
        source=_SERVE
        + """
server = socket.create_server(('127.0.0.1', at.port))
serve(server)
""",
        effect=lambda rig, _: rig.observed,
    ),
    replace(
        _TCP,
        name="listen-unbound",
        tries="offers a service on a port it did not ask for, so that nothing is bound",
        landlock="seccomp",
        needs=("caller",),
        source=_SERVE
        + """
server = socket.socket()
server.listen()
open(at.own + '/port', 'w').write(str(server.getsockname()[1]))
serve(server)
""",
        effect=lambda rig, _: rig.observed,
    ),
)
