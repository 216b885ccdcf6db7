"""The curve secp256k1: ECDSA verified, public keys recovered, BIP-340 signatures verified. Points are public here.

Sums of multiples are computed in Jacobian coordinates (x / z^2, y / z^3), with one inversion at the end.
"""

import hashlib
from typing import Final

P: Final = 2**256 - 2**32 - 977
"""The field's size."""
N: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""How many points the curve has."""
HALF: Final = N // 2
"""The largest `s` that is called low; of `s` and `N - s`, both of which verify, it is the canonical one."""
Point = tuple[int, int]
Jacobian = tuple[int, int, int]
G: Final[Point] = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)
INFINITY: Final[Jacobian] = (0, 1, 0)
WIDTH: Final = 32
"""Bytes of a coordinate and of a scalar."""


def lift(x: int, *, odd: bool) -> Point | None:
    """The point with this x and a y of this parity; None where the curve has none."""
    if not 0 <= x < P:
        return None
    square = (pow(x, 3, P) + 7) % P
    y = pow(square, (P + 1) // 4, P)
    if y * y % P != square:
        return None
    return (x, y if y % 2 == odd else P - y)


def parse_public(raw: bytes) -> Point | None:
    """The point of a public key, compressed (33 bytes) or not (65); None for anything else."""
    if len(raw) == 1 + WIDTH and raw[0] in (2, 3):
        return lift(int.from_bytes(raw[1:]), odd=raw[0] == 3)  # noqa: PLR2004 - the mark of an odd y
    if len(raw) == 1 + 2 * WIDTH and raw[0] == 4:  # noqa: PLR2004 - the mark of both coordinates
        x, y = int.from_bytes(raw[1:33]), int.from_bytes(raw[33:])
        return (x, y) if x < P and y < P and (y * y - x * x * x - 7) % P == 0 else None
    return None


def compressed(point: Point) -> bytes:
    """A public key in 33 bytes."""
    return bytes([2 + point[1] % 2]) + point[0].to_bytes(WIDTH)


def uncompressed(point: Point) -> bytes:
    """A public key in 65 bytes."""
    return b"\x04" + point[0].to_bytes(WIDTH) + point[1].to_bytes(WIDTH)


def ecdsa_verify(key: Point, digest: bytes, r: int, s: int) -> bool:
    """Whether (r, s) is a signature of the digest; a high `s` counts as well."""
    if not (0 < r < N and 0 < s < N):
        return False
    inverse = pow(s, -1, N)
    sum_ = sum_of(int.from_bytes(digest) * inverse % N, r * inverse % N, key)
    return sum_ is not None and sum_[0] % N == r


def recover(digest: bytes, r: int, s: int, recovery: int) -> Point | None:
    """The one public key under which (r, s) is a signature of the digest; None where there is none."""
    if not (0 < r < N and 0 < s < N and 0 <= recovery <= 3):  # noqa: PLR2004 - two bits
        return None
    nonce = lift(r + N * (recovery >> 1), odd=bool(recovery & 1))
    if nonce is None:
        return None
    inverse = pow(r, -1, N)
    return sum_of(-int.from_bytes(digest) * inverse % N, s * inverse % N, nonce)


def schnorr_verify(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a BIP-340 signature holds under a key of 32 bytes."""
    if len(key) != WIDTH or len(signature) != 2 * WIDTH:
        return False
    point = lift(int.from_bytes(key), odd=False)
    r, s = int.from_bytes(signature[:WIDTH]), int.from_bytes(signature[WIDTH:])
    if point is None or r >= P or s >= N:
        return False
    challenge = int.from_bytes(tagged("BIP0340/challenge", signature[:WIDTH] + key + message)) % N
    sum_ = sum_of(s, N - challenge, point)
    return sum_ is not None and sum_[1] % 2 == 0 and sum_[0] == r


def tagged(tag: str, message: bytes) -> bytes:
    """BIP-340's hash of a message for one purpose."""
    mark = hashlib.sha256(tag.encode("ascii")).digest()
    return hashlib.sha256(mark + mark + message).digest()


def sum_of(base: int, other: int, point: Point) -> Point | None:
    """`base` times the generator plus `other` times a point, bit by bit of both at once; None for infinity."""
    both = _add((*G, 1), (*point, 1))
    table = (None, (*G, 1), (*point, 1), both)
    found = INFINITY
    for bit in range(255, -1, -1):
        found = _double(found)
        chosen = table[(base >> bit & 1) + 2 * (other >> bit & 1)]
        if chosen is not None:
            found = _add(found, chosen)
    return _affine(found)


def _double(point: Jacobian) -> Jacobian:
    x, y, z = point
    if not z or not y:
        return INFINITY
    square = y * y % P
    middle = 4 * x * square % P
    slope = 3 * x * x % P
    new = (slope * slope - 2 * middle) % P
    return new, (slope * (middle - new) - 8 * square * square) % P, 2 * y * z % P


def _add(one: Jacobian, two: Jacobian) -> Jacobian:
    if not one[2]:
        return two
    if not two[2]:
        return one
    (x1, y1, z1), (x2, y2, z2) = one, two
    z1z1, z2z2 = z1 * z1 % P, z2 * z2 % P
    u1, u2 = x1 * z2z2 % P, x2 * z1z1 % P
    s1, s2 = y1 * z2 * z2z2 % P, y2 * z1 * z1z1 % P
    if u1 == u2:
        return _double(one) if s1 == s2 else INFINITY
    height, slope = u2 - u1, s2 - s1
    square = height * height % P
    cube, middle = square * height % P, u1 * square % P
    x = (slope * slope - cube - 2 * middle) % P
    return x, (slope * (middle - x) - s1 * cube) % P, height * z1 * z2 % P


def _affine(point: Jacobian) -> Point | None:
    x, y, z = point
    if not z:
        return None
    inverse = pow(z, -1, P)
    square = inverse * inverse % P
    return x * square % P, y * square * inverse % P
