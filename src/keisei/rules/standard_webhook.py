"""Standard Webhooks 1.0: how a message that leaves is named, dated and signed.

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
"""Bytes of a key; the specification asks for at least so many."""


def message_id(key: str) -> str:
    """The id of a row's message: the same every time it is sent, so that a receiver knows a repeat. Holds no dot."""
    return f"msg_{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def signing_key(secret: str) -> bytes:
    """The key behind `whsec_` and its base64. Raises OperatorError, without a word of the secret."""
    hint = "it is `whsec_` and base64: `openssl rand -base64 32` makes one"
    coded = secret.strip().removeprefix(PREFIX).rstrip("=")
    try:
        key = base64.b64decode(coded + "=" * (-len(coded) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise OperatorError("the secret of a webhook is not base64", hint) from error
    if len(key) < SHORTEST:
        raise OperatorError(f"the secret of a webhook has {len(key)} bytes; it needs at least {SHORTEST}", hint)
    return key


def signed_headers(webhook_id: str, at: datetime, body: bytes, key: bytes) -> dict[str, str]:
    """The three headers by which a receiver knows the message, the moment it was sent, and who sent it."""
    moment = str(int(at.timestamp()))
    content = b".".join((webhook_id.encode("ascii"), moment.encode("ascii"), body))
    signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode("ascii")
    return {"webhook-id": webhook_id, "webhook-timestamp": moment, "webhook-signature": f"v1,{signature}"}
