"""All hostile programs, by family."""

from tests.sandbox.hostile.kernel import KERNEL
from tests.sandbox.hostile.limits import LIMITS
from tests.sandbox.hostile.network import NETWORK
from tests.sandbox.hostile.paths import PATHS
from tests.sandbox.hostile.processes import PROCESSES
from tests.sandbox.hostile.program import Program
from tests.sandbox.hostile.reads import READS
from tests.sandbox.hostile.repository import REPOSITORY
from tests.sandbox.hostile.sockets import SOCKETS

FAMILIES: dict[str, tuple[Program, ...]] = {
    "paths": PATHS,
    "reads": READS,
    "repository": REPOSITORY,
    "processes": PROCESSES,
    "sockets": SOCKETS,
    "network": NETWORK,
    "kernel": KERNEL,
    "limits": LIMITS,
}
PROGRAMS = tuple(each for family in FAMILIES.values() for each in family)
