"""`python -m keisei` is `keisei`."""

import sys

from keisei.cli import main

sys.exit(main())
