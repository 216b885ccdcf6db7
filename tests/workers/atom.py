"""Packages of one atom each, written where a test wants them, and calls of them."""

import shlex
import sys
from pathlib import Path

from keisei.records.atom import AtomError, AtomInput, AtomManifest, AtomOutput, PackageFile
from keisei.records.atom_spec import AtomPackage, AtomSpec
from keisei.records.invocation import CallOrder
from keisei.sandbox.process import open_process
from keisei.workers.crew import Crew


def is_alive(pid):
    """Whether a process runs; one that waits to be buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def crew(find_program=lambda _package: None, **settings):
    """A crew with the real starter."""
    return Crew(open_process, find_program, sys.executable, **{"grace_s": 0.3} | settings)


def package(folder: Path, name="kei-thing", import_name=None, language="python"):
    """A package as it is found."""
    root = str(folder) if language == "python" else None
    return AtomPackage(
        name=name,
        version="1.0.0",
        folder=str(folder),
        atoms=str(folder / "atoms"),
        metadata=PackageFile(backend="memory"),
        language=language,
        import_root=root,
        import_name=import_name,
    )


def spec(package, verb="do", function=None, kind="command", errors=()):
    """An atom of a package."""
    manifest = AtomManifest(
        atom=f"{package.name}::{verb}",
        kind=kind,
        version="1.0.0",
        input=AtomInput(schema="schemas/in.json"),
        output=AtomOutput(schema="schemas/out.json"),
        errors=tuple(AtomError(code=code, description="It fails.") for code in errors),
        side_effects=(),
        idempotent=False,
        stability="beta",
    )
    return AtomSpec(
        manifest=manifest,
        summary="Does it.",
        page=f"{package.atoms}/{verb}.md",
        package=package,
        input_schema={},
        output_schema={},
        spec_sha="0" * 64,
        function=function,
    )


def python_atom(folder: Path, source: str, *, name="kei-thing", verb="do", kind="command", errors=()):
    """A Python atom beside its pyproject.toml."""
    atoms = folder / name / "atoms"
    atoms.mkdir(parents=True, exist_ok=True)
    function = atoms / f"{verb}.py"
    function.write_text(source)
    return spec(package(folder / name, name), verb, str(function), kind, errors)


def python_program(source: str):
    """A program in Python. Through a shell: a path with a blank in it cannot stand in a first line."""
    return f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -IS -c {shlex.quote(source)}\n"


def program_atom(folder: Path, source: str, *, name="kei-thing", kind="command", errors=(), mode=0o755):
    """A program and its atom: the spec, and where the program stands."""
    home = folder / name
    home.mkdir(parents=True, exist_ok=True)
    program = home / "program"
    program.write_text(source)
    program.chmod(mode)
    return spec(package(home, name, language="program"), "do", None, kind, errors), str(program)


def order(spec, data=None, *, timeout_s=10.0, invocation_id="inv_1", database=None, env=None, cwd="/"):
    """One call."""
    return CallOrder(
        spec=spec,
        input={} if data is None else data,
        invocation_id=invocation_id,
        timeout_s=timeout_s,
        env={"PATH": "/usr/bin:/bin"} if env is None else env,
        database=database,
        cwd=cwd,
    )
