"""Closing: that the console ends soon, told to everything that would go on for long. Any thread may begin it."""

import asyncio
import threading
from contextlib import suppress


class Closing:
    """Not yet begun."""

    def __init__(self) -> None:
        """Nothing waits yet."""
        self._event, self._lock = asyncio.Event(), threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._has_begun = False

    @property
    def has_begun(self) -> bool:
        """Whether it has begun."""
        return self._has_begun

    def begin(self) -> None:
        """Everything that goes on for long ends now."""
        with self._lock:
            self._has_begun, loop = True, self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(self._event.set)

    async def wait(self) -> None:
        """Until it begins. Every wait of one object is in one loop."""
        with self._lock:
            self._loop = asyncio.get_running_loop()
            if self._has_begun:
                self._event.set()
        await self._event.wait()
