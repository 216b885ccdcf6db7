"""Guard: becomes a part, after it has seen to it that the part hears of its supervisor's death.

Run as `python -I -S supervision_guard.py SUPERVISOR SIGNAL PROGRAM ...`; imports nothing of ours. The kernel sends the
signal when the supervisor is gone, however it went. Signals that whoever started the supervisor has ignored or held
back are heard again: a part is told by signals to stop.
"""

import ctypes
import os
import signal
import sys

_PARENT_DEATH_SIGNAL = 1
_MISSING = 127
_HEARD = tuple(getattr(signal, f"SIG{name}") for name in ("TERM", "INT", "QUIT", "HUP", "CHLD", "PIPE", "XFSZ"))
"""The last two are ignored by Python itself."""


def main() -> None:
    """Become the program. Does not return."""
    supervisor, number, argv = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    for each in _HEARD:
        signal.signal(each, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, number, 0, 0, 0) != 0:
        sys.exit("error: the kernel does not tell a process that its parent has died")
    if os.getppid() != supervisor:  # it died before the kernel was asked
        sys.exit(0)
    try:
        os.execv(argv[0], argv)  # noqa: S606 - becoming what it is handed is its work
    except OSError as error:
        sys.stderr.write(f"error: `{argv[0]}` cannot be started: {error.strerror}\n")
        sys.exit(_MISSING)


if __name__ == "__main__":
    main()
