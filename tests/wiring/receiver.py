"""Receivers of messages, on loopback: they answer as a test says, and remember what they were sent."""

import base64
import hashlib
import hmac
import json
import socket
import threading
from contextlib import suppress
from typing import NamedTuple

PATIENCE_S = 30


class Received(NamedTuple):
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    def is_signed_with(self, secret):
        """As a receiver checks it that knows nothing of keisei."""
        signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + self.body
        key = base64.b64decode(secret.removeprefix("whsec_"))
        told = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        return self.headers["webhook-signature"] == f"v1,{told}"


def answer(status, *headers, body=b""):
    """The bytes of an answer."""
    lines = [f"HTTP/1.1 {status} So", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


class Receiver:
    """A server whose every request is answered with `reply`: bytes, or a function that is given the connection."""

    def __init__(self, reply=None):
        self.reply = answer(200) if reply is None else reply
        self.received = []
        self.over = threading.Event()
        """Set when the test ends, for replies that hang until then."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hooks/T0secretpath"

    def hang(self, _line):
        """A reply that never comes."""
        self.over.wait(PATIENCE_S)

    def close(self):
        self.over.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
        self._listener.close()

    def _accept(self):
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:
                return
            line.settimeout(PATIENCE_S)
            thread = threading.Thread(target=self._serve, args=(line,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, line):
        with line, suppress(OSError), line.makefile("rb") as stream:
            words = stream.readline().decode().split()
            if len(words) < 2:
                return  # whoever called has hung up without a word
            path, headers = words[1], {}
            while (text := stream.readline().decode().strip()) != "":
                name, _, value = text.partition(":")
                headers[name.lower()] = value.strip()
            self.received.append(Received(path, headers, stream.read(int(headers.get("content-length", 0)))))
            if callable(self.reply):
                self.reply(line)
            else:
                line.sendall(self.reply)
