"""`cargo check` of a package where it stands, with its own workspace; what is built goes elsewhere.

Only what the compiler says of the package itself counts against it: a workspace that cannot be loaded, something that
would have to be fetched or a broken neighbour means that nobody knows.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from keisei.records.error import KeiseiError
from keisei.records.launch import Exit, Launch
from keisei.records.problem import tidy
from keisei.sandbox.process import run
from keisei.wiring.forge_result import Postcondition
from keisei.wiring.surroundings import passed_on

CARGO_S: Final = 120.0
CAP: Final = 16 * 1024 * 1024
"""Bytes of what cargo tells: of every crate it looks at a line."""
PASSED_ON: Final = ("HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN")
OFFLINE: Final = ("--offline", "no matching package", "failed to get", "failed to download", "unable to update")
"""What cargo says where it would have to fetch something first."""
LONGEST: Final = 300


def cargo_check(package: Path) -> Postcondition:
    """Whether it compiles. It fetches nothing, and nothing of it stays. Never raises."""
    cargo = shutil.which("cargo")
    if cargo is None:
        return _unchecked("cargo is not installed")
    manifest = package / "Cargo.toml"
    try:
        with tempfile.TemporaryDirectory(prefix="keisei-cargo-", ignore_cleanup_errors=True) as target:
            found = _run(cargo, manifest, target, "locate-project", "--workspace", "--message-format", "plain")
            if found.code != 0:
                return _unchecked(_first_error(found))
            lock = Path(os.fsdecode(found.stdout.strip())).parent / "Cargo.lock"
            words = ("check", "--quiet", "--offline", "--message-format", "json")
            with _as_it_was(lock) as is_there:
                done = _run(cargo, manifest, target, *words, *(("--locked",) if is_there else ()))
    except (KeiseiError, OSError) as error:
        return _unchecked(tidy(error.message if isinstance(error, KeiseiError) else str(error))[:LONGEST])
    return _judged(done, manifest)


def _run(cargo: str, manifest: Path, target: str, verb: str, *words: str) -> Exit:
    from os import environ  # noqa: PLC0415 - the only place that asks

    given = {name: environ[name] for name in PASSED_ON if name in environ}
    env = {**passed_on(), **given, "CARGO_TARGET_DIR": target, "CARGO_TERM_COLOR": "never"}
    argv = (cargo, verb, "--manifest-path", str(manifest), *words)
    return run(Launch(argv=argv, cwd=str(manifest.parent), env=env, timeout_s=CARGO_S, output_cap=CAP))


@contextmanager
def _as_it_was(lock: Path) -> Iterator[bool]:
    """A lock file stays; one that cargo makes meanwhile goes again. Yields whether there is one."""
    is_there = os.path.lexists(lock)
    try:
        yield is_there
    finally:
        if not is_there:
            with suppress(OSError):
                lock.unlink()


def _judged(done: Exit, manifest: Path) -> Postcondition:
    if done.timed_out:
        return _unchecked(f"cargo took longer than {CARGO_S:g} seconds")
    if done.code == 0:
        return Postcondition(name="cargo-check", status="held", detail="it compiles")
    own = next(_own_errors(done.stdout, manifest), None)
    if own is not None:
        return Postcondition(name="cargo-check", status="violated", detail=tidy(own)[:LONGEST])
    said = done.stderr.decode("utf-8", "replace")
    if "--locked" in said:
        return _unchecked("`Cargo.lock` would have to change first; run `cargo check` yourself")
    if any(each in said for each in OFFLINE):
        return _unchecked("cargo would have to fetch something first; run `cargo check` yourself")
    return _unchecked(_first_error(done))


def _own_errors(told: bytes, manifest: Path) -> Iterator[str]:
    """What the compiler complains of in this package."""
    real = os.path.realpath(manifest)
    for line in told.splitlines():
        try:
            each: Any = msgspec.json.decode(line)
        except msgspec.DecodeError:  # the end of a line that was too long, or what a build script said
            continue
        if not isinstance(each, dict) or each.get("reason") != "compiler-message":
            continue
        message = each.get("message") or {}
        if message.get("level") == "error" and os.path.realpath(str(each.get("manifest_path"))) == real:
            yield " ".join(str(message.get("rendered") or message.get("message") or "error").split("\n")[:4])


def _unchecked(detail: str) -> Postcondition:
    return Postcondition(name="cargo-check", status="not-checked", detail=detail)


def _first_error(done: Exit) -> str:
    lines = [line.strip() for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    begin = next((index for index, line in enumerate(lines) if line.startswith("error")), 0)
    return tidy(" ".join(lines[begin:][:4]))[:LONGEST] or "cargo could not begin"
