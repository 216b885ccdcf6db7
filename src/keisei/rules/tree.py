"""The tree of RFC 6962 over the ledger's leaf hashes: roots, and proofs that grow with the logarithm of the ledger.

A chain tells that nothing was changed to whoever reads all of it. A tree tells it of one row, or of two sizes of the
same ledger, with a few hashes.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Final

NODE: Final = b"\x01"
EMPTY: Final = hashlib.sha256(b"").digest()
"""The root of no rows."""
HASH: Final = 32

Subtree = Callable[[int, int], bytes]
"""The hash of a perfect subtree, by its level and its place among those of that level: leaf `n` is `(0, n)`."""


def node_hash(left: bytes, right: bytes) -> bytes:
    """RFC 6962's hash of two neighbours."""
    return hashlib.sha256(NODE + left + right).digest()


class Frontier:
    """The tree so far, as its perfect subtrees from left to right: all that is needed to go on."""

    def __init__(self, size: int = 0, peaks: Sequence[bytes] = ()) -> None:
        """Go on from a size and the peaks it had. Raises ValueError where they do not fit each other."""
        if size < 0 or len(peaks) != size.bit_count():
            raise ValueError(f"a tree of {size} leaves does not have {len(peaks)} peaks")
        self.size, self._peaks = size, list(peaks)

    @property
    def peaks(self) -> tuple[bytes, ...]:
        """From left, the largest, to right."""
        return tuple(self._peaks)

    def push(self, leaf: bytes) -> None:
        """Add a leaf hash at the right."""
        done, peaks = self.size, self._peaks
        while done & 1:
            leaf, done = node_hash(peaks.pop(), leaf), done >> 1
        peaks.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        """The root of everything so far."""
        return _folded(self._peaks)


def root_of(size: int, subtree: Subtree) -> bytes:
    """The root of the first `size` leaves."""
    return _range(0, size, subtree) if size else EMPTY


def inclusion_path(index: int, size: int, subtree: Subtree) -> list[bytes]:
    """The hashes that lead from a leaf to the root, the lowest first. Raises ValueError where the leaf is not there."""
    if not 0 <= index < size:
        raise ValueError(f"a tree of {size} leaves has no leaf {index}")
    path, first, last = list[bytes](), 0, size
    while last - first > 1:
        middle = first + _split(last - first)
        if index < middle:
            path.append(_range(middle, last, subtree))
            last = middle
        else:
            path.append(_range(first, middle, subtree))
            first = middle
    return path[::-1]


def consistency_path(old: int, new: int, subtree: Subtree) -> list[bytes]:
    """The hashes that show one tree to be the beginning of another. Raises ValueError where it cannot be."""
    if not 0 <= old <= new:
        raise ValueError(f"a tree of {old} leaves is not the beginning of one of {new}")
    if old in (0, new):
        return []
    path, first, last, known = list[bytes](), 0, new, True
    while old != last - first:  # `old` is counted from `first`
        middle = _split(last - first)
        if old <= middle:
            path.append(_range(first + middle, last, subtree))
            last = first + middle
        else:
            path.append(_range(first, first + middle, subtree))
            first, old, known = first + middle, old - middle, False
    if not known:
        path.append(_range(first, last, subtree))
    return path[::-1]


def verify_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Whether the path leads from the leaf hash at this place to the root. Never raises."""
    if not 0 <= index < size or any(len(each) != HASH for each in (leaf, root, *path)):
        return False
    place, last, found = index, size - 1, leaf
    for each in path:
        if last == 0:
            return False
        if place & 1 or place == last:
            found = node_hash(each, found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node_hash(found, each)
        place, last = place >> 1, last >> 1
    return last == 0 and found == root


def verify_consistency(old: int, old_root: bytes, new: int, new_root: bytes, path: Sequence[bytes]) -> bool:
    """Whether the path shows that the smaller tree is the beginning of the larger. Never raises."""
    if not 0 <= old <= new or any(len(each) != HASH for each in (old_root, new_root, *path)):
        return False
    if old == new:
        return not path and old_root == new_root
    if old == 0:
        return not path and old_root == EMPTY
    hashes = list(path) if old & (old - 1) else [old_root, *path]
    if not hashes:
        return False
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    was = now = hashes[0]
    for each in hashes[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            was, now = node_hash(each, was), node_hash(each, now)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            now = node_hash(now, each)
        place, last = place >> 1, last >> 1
    return last == 0 and (was, now) == (old_root, new_root)


def _split(count: int) -> int:
    """The largest power of two below the count."""
    return 1 << ((count - 1).bit_length() - 1)


def _range(first: int, last: int, subtree: Subtree) -> bytes:
    """The hash over leaves of a range that begins at a multiple of the largest power of two in it."""
    peaks, count = list[bytes](), last - first
    while count:
        level = count.bit_length() - 1
        peaks.append(subtree(level, first >> level))
        first, count = first + (1 << level), count - (1 << level)
    return _folded(peaks)


def _folded(peaks: Sequence[bytes]) -> bytes:
    if not peaks:
        return EMPTY
    found = peaks[-1]
    for each in reversed(peaks[:-1]):
        found = node_hash(each, found)
    return found
