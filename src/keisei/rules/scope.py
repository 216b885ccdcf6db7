"""Scope: which globs can be judged at all."""


def glob_fault(glob: str) -> str | None:
    """Why a glob is not usable, or None. Globs are relative to the repository and matched component by component."""
    if not glob.strip():
        return "is empty"
    if glob.startswith(("/", "~")):
        return "is absolute; globs are relative to the repository"
    if ".." in glob.split("/"):
        return "climbs out with `..`"
    if any(char in glob for char in "\0\n\r"):
        return "contains a control character"
    if "\\" in glob:
        return "contains a backslash; separators are `/`"
    if "//" in glob or "/./" in f"/{glob}/":
        return "contains an empty component"
    if any("**" in part and part != "**" for part in glob.split("/")):
        return "has `**` inside a component; `**` stands alone between slashes"
    return _unbalanced(glob)


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
