"""Compare every published schema with the last release (the newest tag `v*`): a breaking change is a new /v2."""

import json
import subprocess
import sys
from pathlib import Path

from keisei.contracts.compare import changes

FOLDER = "src/keisei/contracts/schemas"


def git(root: Path, *arguments: str) -> str:
    """What git says; empty where it has nothing to say."""
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def breaks(root: Path, tag: str) -> list[str]:
    """Every way in which a document that was valid at the tag may be refused now."""
    found = []
    for path in git(root, "ls-tree", "--name-only", tag, f"{FOLDER}/").split():
        if not (root / path).exists():
            found.append(f"{path}: a published schema is gone; keep it, and add a /v2 beside it")
            continue
        old, new = json.loads(git(root, "show", f"{tag}:{path}")), json.loads((root / path).read_text(encoding="utf-8"))
        found += [
            f"{path}{each.path}: {each.kind}: {each.message}" for each in changes(old, new) if each.kind != "compatible"
        ]
    return found


def main(root: Path) -> int:
    tag = git(root, "describe", "--tags", "--abbrev=0", "--match", "v*").strip()
    if not tag:
        print("schemas: nothing is released yet, so nothing can break")
        return 0
    found = breaks(root, tag)
    print("\n".join(found) or f"schemas: compatible with {tag}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent))
