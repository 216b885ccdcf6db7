"""The queue is quick: 4 times DBOS, 1.2 times pgqueuer with our rows, flat at a million rows, a start in 3 ms.

Goals and what they are measured against stand in bench/README.md, the parts in bench/queue_parts. It takes some
minutes, with --quick about one, and writes to a real disk with fsync on. A goal that is missed fails nothing here,
since machines are busy; a lost task, a wrong row or an engine that does not run does.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # This file is called as a module of Python's is: its folder must not be looked into, or that module is gone.
    sys.path[0] = str(Path(__file__).resolve().parent / "queue_parts")
    from main import main

    sys.exit(main())
