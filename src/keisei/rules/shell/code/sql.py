"""Shells of databases: their own commands, and SQL that reaches out."""

import re

from keisei.rules.shell.code.result import Code, Found, names

_QUOTED = r"'((?:[^']|'')*)'"
_SQLITE_WRITES = frozenset(names(".output .once .excel .backup .save .clone .log .trace"))
_SQL_FILES = re.compile(rf"(?i)\b(?:into\s+(?:out|dump)file|vacuum\s+into)\s+{_QUOTED}")
_SQL_PROGRAM = re.compile(rf"(?i)\bprogram\s+{_QUOTED}")
_SQL_COPY = re.compile(rf"(?i)\bcopy\b[^;]{0, 300}?\bto\s+{_QUOTED}")
_WORD = re.compile(r"'[^']*'|\"[^\"]*\"|\S+")
_EDIT = re.compile(r"(?i)\bedit\s*\((?:[^(),]|\([^()]*\))*(?:,([^()]*))?\)")
_SQL_WRITEFILE = re.compile(rf"(?i)\bwritefile\s*\(\s*{_QUOTED}")


def sqlite(text: str) -> Code:
    """What the dot commands of the SQLite shell, and SQL that reaches out, start and write."""
    found = Found()
    for line in text.splitlines():
        name, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        if name.startswith(".") and len(name) > 1:
            _dot(found, name, rest)
    _sql(found, text)
    _edited(found, text)
    if re.search(r"(?i)\bload_extension\s*\(|^[ \t]*\.load\b", text, re.MULTILINE):
        found.opaque("It loads an extension that cannot be read.")
    return found.code()


def _dot(found: Found, name: str, rest: str) -> None:
    if any(whole.startswith(name) and len(name) >= least for whole, least in ((".shell", 3), (".system", 3))):
        found.script(rest)
        return
    if ".import".startswith(name) and len(name) > len(".x"):
        _imported(found, rest)
        return
    target = _unquoted(rest.rsplit(maxsplit=1)[-1] if rest and not rest.startswith(("|", '"|', "'|")) else rest)
    if target.startswith("|"):
        found.script(target[1:])
    elif any(whole.startswith(name) and len(name) > len(".x") for whole in _SQLITE_WRITES) and rest:
        found.write(target)


def _imported(found: Found, rest: str) -> None:
    """`.import '|command' table`."""
    for match in _WORD.finditer(rest):
        word = _unquoted(match[0])
        if word.startswith("|"):
            found.script(word[1:])


def _edited(found: Found, text: str) -> None:
    """`edit(value, 'command')` starts the command, without one the user's editor."""
    bare = re.sub(_QUOTED, lambda match: "'" + "x" * (len(match[0]) - 2) + "'", text)
    for match in _EDIT.finditer(bare):
        editor = re.fullmatch(rf"\s*{_QUOTED}\s*", text[match.start(1) : match.end(1)]) if match[1] else None
        if editor:
            found.script(editor[1].replace("''", "'"))
        else:
            found.opaque("It starts an editor whose name is computed.")


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _sql(found: Found, text: str) -> None:
    for match in _SQL_FILES.finditer(text):
        found.write(match[1])
    for match in _SQL_WRITEFILE.finditer(text):
        found.write(match[1])
    for match in _SQL_COPY.finditer(text):
        found.write(match[1])
    for match in _SQL_PROGRAM.finditer(text):
        found.script(match[1].replace("''", "'"))


def psql(text: str) -> Code:
    """What the backslash commands of psql and mysql, and SQL that reaches out, start and write."""
    found = Found()
    _sql(found, text)
    bare = re.sub(_QUOTED, "''", text)
    for match in re.finditer(r"\\!\s*([^\n]*)", bare if "\\!" in bare else ""):
        found.script(match[1])
    for match in re.finditer(r"\\(?:o|out|g|gx|w|write|T|tee)\s+(\|?)\s*([^\n\\]+)", bare):
        if match[1]:
            found.script(match[2])
        else:
            found.write(match[2].split()[0])
    for match in re.finditer(r"\\(?:set|setenv|prompt|pset|echo|copy)[^\n`]*`([^`\n]*)`", text):
        found.script(match[1])
    for match in re.finditer(r"(?im)\\copy\b[^\n]*\bto\s+(?!program|stdout|pstdout)([^\s']+)", text):
        found.write(match[1])
    return found.code()


def mysql(text: str) -> Code:
    """As psql, with mysql's own words."""
    found = Found()
    found.add(psql(text))
    for match in re.finditer(r"(?im)(?:^|;)[ \t]*(system|pager|tee)[ \t]+([^;\n]+)", text):
        if match[1].lower() == "tee":
            found.write(match[2].strip())
        else:
            found.script(match[2].strip())
    return found.code()
