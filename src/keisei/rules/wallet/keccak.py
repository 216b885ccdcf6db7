"""Keccak-256 as Ethereum uses it: the competition's padding, which differs from that of SHA3-256."""

from typing import Final

RATE: Final = 136
"""Bytes taken in at once."""
MASK: Final = 2**64 - 1


def _round_constants() -> list[int]:
    """The 24 constants, from the linear feedback shift register that defines them."""
    found, state = [], 1
    for _ in range(24):
        constant = 0
        for power in range(7):
            constant ^= (state & 1) << ((1 << power) - 1)
            state = (state << 1) ^ (0x171 if state & 0x80 else 0)
        found.append(constant)
    return found


def _moves() -> list[tuple[int, int, int]]:
    """Where each lane goes and how far it is turned on the way: from, to, bits."""
    found, x, y = [(0, 0, 0)], 1, 0
    for step in range(24):
        turn = (step + 1) * (step + 2) // 2 % 64
        x2, y2 = y, (2 * x + 3 * y) % 5
        found.append((x + 5 * y, x2 + 5 * y2, turn))
        x, y = x2, y2
    return found


ROUNDS: Final = _round_constants()
MOVES: Final = _moves()


def keccak256(data: bytes) -> bytes:
    """The digest, 32 bytes."""
    padded = bytearray(data) + b"\x01" + bytes(-(len(data) + 1) % RATE)
    padded[-1] |= 0x80
    lanes = [0] * 25
    for start in range(0, len(padded), RATE):
        for index in range(RATE // 8):
            lanes[index] ^= int.from_bytes(padded[start + 8 * index : start + 8 * index + 8], "little")
        lanes = _permuted(lanes)
    return b"".join(lane.to_bytes(8, "little") for lane in lanes[:4])


def _permuted(lanes: list[int]) -> list[int]:
    """Keccak-f[1600]."""
    for constant in ROUNDS:
        column = [lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20] for x in range(5)]
        mix = [column[x - 1] ^ _turned(column[(x + 1) % 5], 1) for x in range(5)]
        moved = [0] * 25
        for source, target, turn in MOVES:
            moved[target] = _turned(lanes[source] ^ mix[source % 5], turn)
        lanes = [
            moved[i] ^ (~moved[i - i % 5 + (i + 1) % 5] & moved[i - i % 5 + (i + 2) % 5] & MASK) for i in range(25)
        ]
        lanes[0] ^= constant
    return lanes


def _turned(lane: int, bits: int) -> int:
    return (lane << bits | lane >> (64 - bits)) & MASK
