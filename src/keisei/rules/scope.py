"""Scope: which globs can be judged at all."""


def glob_fault(glob: str) -> str | None:
    """Why a glob is not usable, or None. Globs are relative to the repository and matched component by component."""
    faults = (
        (not glob.strip(), "is empty"),
        (glob.startswith(("/", "~")), "is absolute; globs are relative to the repository"),
        (".." in glob.split("/"), "climbs out with `..`"),
        (any(char in glob for char in "\0\n\r"), "contains a control character"),
        ("\\" in glob, "contains a backslash; separators are `/`"),
        ("//" in glob or "/./" in f"/{glob}/", "contains an empty component"),
        (glob.startswith("!"), "begins with `!`; name what is forbidden in files-denylist"),
        ("[]" in glob or "{}" in glob, "has an empty choice"),
        (
            any("**" in part and part != "**" for part in glob.split("/")),
            "has `**` inside a component; `**` stands alone between slashes",
        ),
    )
    return next((sentence for wrong, sentence in faults if wrong), None) or _unbalanced(glob)


def _unbalanced(glob: str) -> str | None:
    opened = ""
    for char in glob:
        if char in "[{" and opened != "[":
            if opened:
                return f"nests `{char}` inside `{opened}`"
            opened = char
        elif (char == "]" and opened == "[") or (char == "}" and opened == "{"):
            opened = ""
        elif char == "}" and not opened:
            return "closes a `}` that was never opened"
    return f"opens a `{opened}` that is never closed" if opened else None
