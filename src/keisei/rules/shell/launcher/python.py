"""Modules of python (`python -m`) that run the file or the code they are given."""

from collections.abc import Mapping

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.found import Found
from keisei.rules.shell.launcher.option import Scan
from keisei.rules.shell.launcher.role import read_roles
from keisei.rules.shell.launcher.table import LAUNCHERS

MODULES: Mapping[str, str] = {
    "timeit": "-n= -r= -u= -p -v -s=:code --number= --repeat= --unit= --process --verbose --setup=:code",
    "pdb": "-c=:none -m=:module,end -p= --command=:none",
    "cProfile": "-o= -s= -m=:module,end",
    "profile": "-o= -s= -m=:module,end",
    "trace": "-tcrTlgsmuR -fC= --count --trace --listfuncs --trackcalls --file= --coverdir= --no-report --summary"
    " --missing"
    " --timing --ignore-module= --ignore-dir= --report --module:none",
    "doctest": "-vfo= --verbose --fail-fast --option=",
}
"""Python's modules that run the file or the code they are given."""


def read_module(scan: Scan, found: Found) -> None:
    """`python -m`: most modules are programs like any other; some run what they are given."""
    name, rest = scan.values("module")[0], scan.tail()
    if UNKNOWN in name:
        found.hide("which module python runs is not known before it runs")
    elif name in {"code", "asyncio", "IPython"} and not rest:
        found.reads_code = "python"
    elif name in LAUNCHERS or name in {"IPython", "uv"}:
        found.argv((name.lower(), *rest))
    elif name in MODULES:
        inner = Scan((name, *rest), MODULES[name], frozenset())
        read_roles(inner, name, found)
        texts = inner.values("code")
        for operands in inner.rests():
            if name == "timeit":
                texts += operands
            elif operands and not inner.has("module") and not inner.has("none"):
                found.code_file("python", operands[0])
        if texts:
            found.code.append(("python", "\n".join(texts)))
        if name == "pdb":
            found.reads_code = "python"
