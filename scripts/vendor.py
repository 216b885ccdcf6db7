"""Copies the browser code of others that the console ships out of .tools/web, and writes down what it is.

Usage: python scripts/vendor.py [--check]

The versions stand in requirements/web/package.json. The copies are committed, so that nobody who installs keisei needs
npm; `--check` (a test runs it) says whether they are what npm serves, byte for byte.
"""

import base64
import hashlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FROM = ROOT / ".tools" / "web" / "node_modules"
TO = ROOT / "src" / "keisei" / "console" / "static" / "vendor"
FILES = {"htmx.min.js": ("htmx.org", "dist/htmx.min.js"), "cytoscape.min.js": ("cytoscape", "dist/cytoscape.min.js")}


def main() -> int:
    is_check = "--check" in sys.argv[1:]
    lock, wrong = {}, []
    for name, (package, path) in FILES.items():
        content = (FROM / package / path).read_bytes()
        about = json.loads((FROM / package / "package.json").read_text())
        digest = base64.b64encode(hashlib.sha384(content).digest()).decode()
        lock[name] = {"package": package, "version": about["version"], "file": path, "license": about["license"]}
        lock[name]["sha384"] = digest
        licence = next(each for each in sorted((FROM / package).iterdir()) if each.name.upper().startswith("LICENSE"))
        wrong += _kept(TO / name, content, is_check=is_check)
        wrong += _kept(TO / f"{name}.LICENSE", licence.read_bytes(), is_check=is_check)
    wrong += _kept(TO / "lock.json", (json.dumps(lock, indent=2) + "\n").encode(), is_check=is_check)
    for name in wrong:
        print(f"{name} is not what requirements/web asks for; run `python scripts/vendor.py`")
    return 1 if wrong else 0


def _kept(path: Path, content: bytes, *, is_check: bool) -> list[str]:
    """Write a file, or tell that it differs."""
    if is_check:
        return [] if path.is_file() and path.read_bytes() == content else [path.name]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return []


if __name__ == "__main__":
    sys.exit(main())
