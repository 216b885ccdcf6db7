"""`cargo check`: only what the compiler says of the package itself counts against it, and nothing is left behind."""

import json
import shutil
import subprocess
from unittest.mock import patch

import pytest

from keisei.wiring import forge_cargo
from keisei.wiring.forge_cargo import cargo_check

CARGO = shutil.which("cargo")
COMPILES = CARGO is not None and subprocess.run([CARGO, "--version"], capture_output=True, check=False).returncode == 0
real = pytest.mark.skipif(not COMPILES, reason="there is no cargo here")
PACKAGE = '[package]\nname = "{0}"\n{1}\nedition = "2021"\n'
VERSION = 'version = "0.1.0"'


def crate(folder, head, file, code):
    (folder / "src").mkdir(parents=True)
    (folder / "Cargo.toml").write_text(head)
    (folder / "src" / file).write_text(code)
    return folder


@pytest.fixture
def package(tmp_path):
    return crate(tmp_path / "a project" / "kei-a", PACKAGE.format("kei-a", VERSION), "main.rs", "fn main() {}\n")


def message(manifest, level="error"):
    told = {"level": level, "rendered": "error[E0308]: mismatched types\n  --> src/main.rs:1:5\n"}
    return json.dumps({"reason": "compiler-message", "manifest_path": str(manifest), "message": told})


SAID = {
    "compiles": ("exit 0", "held"),
    "does not": ("printf '%s\\n' '{own}'; exit 101", "violated"),
    "only warns": ("printf '%s\\n' '{warning}'; exit 101", "not-checked"),
    "a neighbour": ("printf '%s\\n' '{other}'; exit 101", "not-checked"),
    "no manifest": ("echo 'error: failed to parse manifest' >&2; exit 101", "not-checked"),
    "a workspace": ("echo 'error: error inheriting `version` from workspace root' >&2; exit 101", "not-checked"),
    "cannot fetch": ("echo 'error: failed to get serde_json ... --offline' >&2; exit 101", "not-checked"),
    "no words": ("exit 1", "not-checked"),
    "nonsense": ("echo 5; echo '{{'; echo null; exit 101", "not-checked"),
}


@pytest.mark.parametrize(("script", "status"), SAID.values(), ids=SAID)
def test_only_the_compiler_speaks_against_a_package(package, tmp_path, script, status):
    manifest = package / "Cargo.toml"
    words = {"own": message(manifest), "warning": message(manifest, "warning"), "other": message("/x/Cargo.toml")}
    cargo = tmp_path / "bin" / "cargo"
    cargo.parent.mkdir()
    located = f"if [ $1 = locate-project ]; then echo '{manifest}'; exit 0; fi"
    made = f"touch '{package}/Cargo.lock' && mkdir -p \"$CARGO_TARGET_DIR/x\""
    cargo.write_text(f"#!/bin/sh\n{located}\n{made}\n{script.format(**words)}\n")
    cargo.chmod(0o755)

    with patch.object(forge_cargo.shutil, "which", lambda _: str(cargo)):
        found = cargo_check(package)

    assert (found.status, bool(found.detail)) == (status, True)
    assert not (package / "Cargo.lock").exists()
    assert not (package / "target").exists()


@real
def test_a_package_is_checked_with_its_own_workspace_and_neighbours(tmp_path):
    root = tmp_path / "a project"
    core = crate(root / "in/kei-core", PACKAGE.format("kei-core", VERSION), "lib.rs", "pub fn f() {}\n")
    head = PACKAGE.format("kei-a", "version.workspace = true")
    more = '[dependencies]\nkei-core = { path = "../kei-core" }\n[lints]\nworkspace = true\n'
    package = crate(root / "in/kei-a", head + more, "main.rs", "fn main() { kei_core::f(); }\n")
    workspace = '[workspace]\nmembers = ["in/*"]\nresolver = "2"\n[workspace.package]\nversion = "0.1.0"\n'
    (root / "Cargo.toml").write_text(workspace + '[workspace.lints.rust]\nunsafe_code = "forbid"\n')
    before = sorted(root.rglob("*"))

    assert (cargo_check(package).status, sorted(root.rglob("*"))) == ("held", before)
    (package / "src/main.rs").write_text('fn main() { let x: i32 = "a"; }\n')
    broken = cargo_check(package)
    assert (broken.status, "mismatched types" in broken.detail) == ("violated", True)
    (package / "src/main.rs").write_text("fn main() { kei_core::f(); }\n")
    (core / "src/lib.rs").write_text("pub fn f() { no }\n")
    assert cargo_check(package).status == "not-checked"
    (root / "Cargo.toml").write_text(workspace.replace("version =", "versio ="))
    assert cargo_check(package).status == "not-checked"
    assert sorted(root.rglob("*")) == before
