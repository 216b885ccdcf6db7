"""Faults: what the network did, in the words of the page."""

import httpcore2

from kei_http.context import Context
from kei_http.dial import TlsError


def read_fault(context: Context, error: Exception) -> Exception:
    """For a request that changes nothing: TlsFailed, Unreachable, TimedOut or BadAnswer."""
    if isinstance(error, httpcore2.TimeoutException):
        return context.error("TimedOut", f"no whole answer came in time: {error}")
    if isinstance(error, httpcore2.ConnectError):
        return _unconnected(context, error)
    return context.error("BadAnswer", f"the answer cannot be read: {error}")


def send_fault(context: Context, error: Exception) -> Exception:
    """For a request that may change something: TlsFailed and Unreachable where nothing was sent, else AnswerLost."""
    if isinstance(error, httpcore2.ConnectTimeout):
        return context.error("Unreachable", f"no connection came about in time, and nothing was sent: {error}")
    if isinstance(error, httpcore2.ConnectError):
        return _unconnected(context, error)
    return context.error("AnswerLost", f"the request went out and no whole answer came; it may be done: {error}")


def _unconnected(context: Context, error: Exception) -> Exception:
    if isinstance(error, TlsError):
        return context.error("TlsFailed", f"no secure connection: {error}")
    return context.error("Unreachable", f"no connection: {error}")
