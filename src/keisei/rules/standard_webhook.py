"""Standard Webhooks 1.0: how a message is named, dated and signed, whoever sends it.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import binascii
import hashlib
import hmac
from datetime import datetime
from typing import Final

from keisei.records.error import OperatorError

PREFIX: Final = "whsec_"
SHORTEST: Final = 24
"""Bytes of a key that we sign with; the specification asks for at least so many."""


def message_id(key: str) -> str:
    """The id of a row's message: the same every time it is sent, so that a receiver knows a repeat. Holds no dot."""
    return f"msg_{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def signing_key(secret: str, shortest: int = SHORTEST) -> bytes:
    """The key behind `whsec_` and its base64, padded or not. Raises OperatorError, without a word of the secret."""
    hint = "it is `whsec_` and base64: `openssl rand -base64 32` makes one"
    coded = secret.strip().removeprefix(PREFIX).rstrip("=")
    try:
        key = base64.b64decode(coded + "=" * (-len(coded) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise OperatorError("the secret of a webhook is not base64", hint) from error
    if len(key) < shortest:
        raise OperatorError(f"the secret of a webhook has {len(key)} bytes; it needs at least {shortest}", hint)
    return key


def signature(webhook_id: str, stamp: str, body: bytes, key: bytes) -> str:
    """What says that whoever has the key has sent this message at this moment."""
    content = b".".join((webhook_id.encode("ascii"), stamp.encode("ascii"), body))
    return f"v1,{base64.b64encode(hmac.digest(key, content, 'sha256')).decode('ascii')}"


def signed_headers(webhook_id: str, at: datetime, body: bytes, key: bytes) -> dict[str, str]:
    """The three headers by which a receiver knows the message, the moment it was sent, and who sent it."""
    stamp = str(int(at.timestamp()))
    signed = signature(webhook_id, stamp, body, key)
    return {"webhook-id": webhook_id, "webhook-timestamp": stamp, "webhook-signature": signed}
