"""eth-account, without what its import does to the process: a package below it lifts the limit of recursion."""

import sys

_before = sys.getrecursionlimit()
from eth_account import Account  # noqa: E402
from eth_account.messages import encode_defunct  # noqa: E402

sys.setrecursionlimit(_before)

__all__ = ["Account", "encode_defunct"]
