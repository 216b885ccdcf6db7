"""Real documents to search: everything the kit ships, and every page of the documentation as a rule."""

import shutil
from pathlib import Path

import keisei.kit

KIT = Path(keisei.kit.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"
FOLDERS = ("capabilities", "primitives", "roles", "rules", "skills", "task-types", "workflows")


def lay_out(folder: Path) -> Path:
    """One kit root below `folder`, with the documents copied into it; `docs/a/b.md` is the rule `a-b`."""
    root = folder / "kit"
    for each in FOLDERS:
        shutil.copytree(KIT / each, root / each, ignore=shutil.ignore_patterns("__pycache__"))
    for page in sorted(DOCS.rglob("*.md")):
        shutil.copyfile(page, root / "rules" / f"{_rule_stem(page)}.md")
    return root


def document_ids(root: Path) -> list[str]:
    """The id of every document of a laid-out root, told from where its file stands."""
    atoms = [f"{page.parts[-5]}::{page.stem}" for page in root.glob("primitives/*/src/*/atoms/*.md")]
    capabilities = ["::".join(file.parts[-3:-1]) for file in root.glob("capabilities/*/*/capability.toml")]
    skills = [f"skills/{page.parent.name}" for page in root.glob("skills/*/SKILL.md")]
    tables = [_flat_id(file) for each in ("roles", "task-types", "workflows") for file in root.glob(f"{each}/*.toml")]
    rules = [_flat_id(page) for page in root.glob("rules/*.md")]
    return sorted([*atoms, *capabilities, *skills, *tables, *rules])


def _rule_stem(page: Path) -> str:
    """The page's way below the documentation, joined; a page at its top is one of `docs`."""
    parts = page.relative_to(DOCS).with_suffix("").parts
    return "-".join(parts if len(parts) > 1 else ("docs", *parts))


def _flat_id(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"
