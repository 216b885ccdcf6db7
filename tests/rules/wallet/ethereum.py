"""eth-account, without what its import does to the process: a package below it lifts the limit of recursion."""

import sys
from pathlib import Path

_before = sys.getrecursionlimit()
import eth_account  # noqa: E402
from eth_account import Account  # noqa: E402
from eth_account.messages import encode_defunct  # noqa: E402
from eth_utils import to_checksum_address  # noqa: E402

sys.setrecursionlimit(_before)

WORDS = Path(eth_account.__file__).parent / "hdaccount" / "wordlist" / "english.txt"
"""The words of mnemonics."""

__all__ = ["WORDS", "Account", "encode_defunct", "to_checksum_address"]
