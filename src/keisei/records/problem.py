"""Problems: what is wrong with an authored file, where, and what to do. Each code is explained here, once."""

from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import force_setattr


class Explained(NamedTuple):
    """What a code means, for the error page."""

    title: str
    """The code in a few words."""
    meaning: str
    """When it is reported."""
    remedy: str
    """What to do."""


CODES: dict[str, Explained] = {
    "missing-atom": Explained(
        "An atom does not exist",
        "No package of that name has such a verb where atoms are looked for.",
        "Correct the id, install the package, or name its folder with `--root`.",
    ),
    "bad-reference": Explained(
        "A reference cannot be read or followed",
        "`$step.path` names no step, no such value, or itself.",
        "Refer to what is listed; a dollar that is meant as one is written `$$`.",
    ),
    "bad-condition": Explained(
        "An `if` cannot be read or never holds",
        "It is not an expression, or compares what cannot be compared.",
        "Write references, literals, comparisons, `in`, `and`, `or`, `not` and parentheses.",
    ),
    "unproven": Explained(
        "A reference is checked at run time",
        "Something to be expected would not fit, or may be absent.",
        "Nothing, or make the output schema say more.",
    ),
    "file-order": Explained(
        "Two steps go against the order of the file",
        "Their effects conflict, and what one of them needs puts it behind a step that stands below it.",
        "Write `needs`, if the order matters to you.",
    ),
    "not-retryable": Explained(
        "A step may not be tried again",
        "`retry` can only narrow what the atom's kind, idempotence and errors allow.",
        "Remove the retry, or the code.",
    ),
    "unreadable": Explained(
        "The file cannot be read",
        "It is missing, a folder, a device, a symlink loop, or not permitted.",
        "Check the path and its permissions.",
    ),
    "too-large": Explained(
        "The file is too large",
        "Authored files are at most 1 MiB; a larger one is a mistake or an attack.",
        "Move data out of the authored file.",
    ),
    "not-text": Explained(
        "The file is not plain UTF-8",
        "It is not UTF-8, starts with a byte order mark, or contains a NUL byte.",
        "Save it as UTF-8 without a byte order mark.",
    ),
    "syntax": Explained(
        "The file is not valid TOML, YAML or JSON",
        "The parser stopped at the place shown.",
        "Correct the syntax at that place.",
    ),
    "too-deep": Explained(
        "The file is nested too deeply",
        "Values are nested more than 64 levels, or YAML aliases multiply.",
        "Flatten the structure.",
    ),
    "duplicate-key": Explained(
        "A key is written twice", "The second value would silently win.", "Keep one of the two."
    ),
    "no-frontmatter": Explained(
        "The frontmatter is missing",
        "The file does not begin with a line `---`, or has no closing line `---`.",
        "Begin the file with `---`, the keys, and `---`.",
    ),
    "unknown-key": Explained(
        "A key is not known",
        "The table has no such key; a misspelt key would silently be ignored.",
        "Correct the spelling or remove the key.",
    ),
    "missing-key": Explained("A key is missing", "The table needs it.", "Add the key."),
    "wrong-type": Explained(
        "A value has the wrong type",
        "For example a string where a list is expected.",
        "Write a value of the type that is named.",
    ),
    "wrong-value": Explained(
        "A value is not allowed",
        "The value is outside the list, range or pattern that is named.",
        "Write one of the allowed values.",
    ),
    "bad-pattern": Explained(
        "A regular expression does not compile", "A gate could not judge with it.", "Correct the expression."
    ),
    "bad-glob": Explained(
        "A glob is not usable",
        "It is absolute, climbs out with `..`, or is malformed.",
        "Write a glob relative to the repository.",
    ),
    "bad-name": Explained(
        "A name does not fit its place",
        "Names equal their folder or file, so that a thing is found where it is looked for.",
        "Rename one of the two.",
    ),
    "duplicate-name": Explained(
        "A name is defined twice", "Two files of one layer define it.", "Rename or remove one of them."
    ),
    "dangling": Explained(
        "A reference leads nowhere",
        "The named capability, role, skill, profile, adapter, state, atom or rule does not exist.",
        "Correct the name or add what is missing.",
    ),
    "missing-file": Explained(
        "A declared file is missing",
        "The manifest declares it, and a rule without its artefact does not hold.",
        "Add the file or remove the declaration.",
    ),
    "outside": Explained(
        "A path leaves its folder",
        "Absolute paths, `..` and symlinks must not lead out of the folder.",
        "Keep the file inside the folder.",
    ),
    "cycle": Explained(
        "Definitions go round in a circle",
        "A role extends itself, an alias points back, a configuration includes itself.",
        "Break the circle.",
    ),
    "too-long-chain": Explained(
        "A chain of parents is too long", "Roles extend at most 16 levels.", "Flatten the roles."
    ),
    "text-too-long": Explained(
        "A text fragment is too long",
        "Fragments are at most 200 words: the agent's attention is a budget.",
        "Shorten it, or split the rule in two.",
    ),
    "text-refers": Explained(
        "A text fragment refers to another capability",
        "Fragments stand alone, because roles combine them freely.",
        "Say it in this fragment's own words.",
    ),
    "empty-text": Explained(
        "A text fragment is empty",
        "An agent cannot follow what it is not told.",
        "Write the rule in a few sentences.",
    ),
    "contradiction": Explained(
        "A file contradicts itself",
        "For example a role that allows a tool its own capability refuses.",
        "Decide which of the two is meant.",
    ),
    "no-gate-kind": Explained(
        "A gate or verify cannot be run",
        "It declares neither a kind nor a script, and its compiled module is not built in.",
        "Declare `kind`, with what that kind needs.",
    ),
    "unknown-parameter": Explained(
        "A parameter is not accepted",
        "The capability does not list it in `[parameterized] accepts`.",
        "Correct the name, or add it to `accepts`.",
    ),
    "empty-whitelist": Explained(
        "An edit role has no whitelist",
        "An agent that may edit needs at least one glob in `[scope] files-whitelist`.",
        "Name the files it may write.",
    ),
    "bad-agent-id": Explained(
        "An agent id is not usable",
        "1 to 64 ASCII characters, starting with a letter or digit, then letters, digits, `_`, `.`, `-`; no `..`; "
        "no Windows device name.",
        "Choose another id, or leave it out to have one made.",
    ),
    "not-spawnable": Explained(
        "The role cannot be spawned",
        "RULE 0.13: only the orchestrator holds git.",
        "Use `edit-local` or another spawnable role.",
    ),
    "unreachable-state": Explained(
        "A workflow state is never reached",
        "No transition leads to it from the initial state.",
        "Add a transition or remove the state.",
    ),
    "endless": Explained(
        "A workflow can run forever",
        "A circle of states has no `max_visits`, or no end can be reached.",
        "Set `max_visits` on a state of the circle, and lead to an end.",
    ),
    "bad-schema": Explained(
        "A JSON Schema is not usable",
        "It is not draft-07, does not compile, refers outside its folder, or an example does not fit.",
        "Correct the schema or its examples.",
    ),
    "no-examples": Explained(
        "A schema has no examples",
        "Examples are documentation and smoke test at once.",
        "Add at least one example.",
    ),
    "missing-schema": Explained(
        "An atom's schema is missing",
        "Both schemas are there for every kind; one without input or output has the schema of the empty object.",
        "Add the file, or correct its path.",
    ),
    "schema-draft": Explained(
        "A schema is not draft-07",
        "`$schema` says which rules hold, and atoms are draft-07.",
        "Write `http://json-schema.org/draft-07/schema#`; `keisei lint atoms --fix` mends spellings of it.",
    ),
    "example-mismatch": Explained(
        "An example does not fit its schema",
        "Examples are documentation and smoke test at once, so they are held against the schema.",
        "Correct the example or the schema.",
    ),
    "empty-schema": Explained(
        "A schema admits nothing",
        "No document can satisfy it, or this part of it.",
        "Correct the bounds that contradict each other.",
    ),
    "required-mismatch": Explained(
        "`input.required` differs from the schema's",
        "The page repeats what the schema requires, for help texts.",
        "Make them equal, or leave it out; `keisei lint atoms --fix` does.",
    ),
    "duplicate-error": Explained("An error is listed twice", "One code means one thing.", "Keep one of them."),
    "effect-spelling": Explained(
        "A side effect is one text",
        "Effects are written in two parts, so that a program can tell the operation from its domain.",
        "Write `{ op: write, domain: kei-task-db }`.",
    ),
    "marked-block": Explained(
        "A marked block is not whole",
        "What is made stands between one line that begins it and one that ends it; everything else is the author's.",
        "Leave one line of each, the beginning first, or neither.",
    ),
    "effect-field": Explained(
        "A side effect names no input field",
        "`fs:{path}` says that the input field `path` holds what is touched, so a call is judged before it is made.",
        "Name a property of the input schema, as in `fs:{path}` or `fs:{path}/**`.",
    ),
    "idle-command": Explained(
        "A command changes nothing",
        "A command mutates state; this one declares only reads, or nothing at all.",
        "Declare what it changes, or make it a query or a transform.",
    ),
    "missing-function": Explained(
        "An atom's function is missing",
        "A Python atom is `def run(input, context)` in a file of the verb's name beside its page.",
        "Write it.",
    ),
    "bad-function": Explained(
        "An atom's function cannot be called",
        "`run` takes two parameters, input and context; it is a generator for a stream, and only for a stream.",
        "Correct its definition.",
    ),
    "bad-migrations": Explained(
        "Migrations are not numbered",
        "They are `0001_name.sql`, `0002_name.sql`, and so on, without gaps, each number once.",
        "Rename the files.",
    ),
    "schema-version": Explained(
        "`schema_version` is not the newest migration",
        "It says which tables the package's atoms expect.",
        "Make them equal.",
    ),
    "not-keyed": Explained(
        "An atom cannot be keyed",
        "It keeps the invocation id with what it writes, so its package has a database, or is one of `engine`.",
        "Remove `keyed`, or give the package a database.",
    ),
    "long-name": Explained(
        "A name is too long for tools",
        "As a tool an atom is called `package__verb`, and tools have at most 64 characters.",
        "Shorten the package or the verb.",
    ),
    "long-tool-name": Explained(
        "A tool's name is cut",
        "Some clients put `mcp__keisei__` before `package__verb` and take 64 characters in all; a longer name is cut, "
        "and ends in a digest.",
        "Shorten the package or the verb.",
    ),
    "no-successor": Explained(
        "A deprecated atom does not lead on",
        "`deprecated` says what to use instead, and names an atom that exists.",
        "Write for example `use kei-task::create-v2`.",
    ),
    "breaking-input": Explained(
        "An input that was valid is refused now",
        "Callers that worked would fail. The message shows such an input.",
        "Accept it, or leave the atom as it was, deprecated, and add a new one such as `create-v2`.",
    ),
    "breaking-output": Explained(
        "An output comes out now that was not valid before",
        "Whoever reads the outputs does not expect it. The message shows such an output.",
        "Keep to the old schema, or leave the atom as it was, deprecated, and add a new one such as `create-v2`.",
    ),
    "locked-schema": Explained(
        "A schema that is locked has changed so that it breaks",
        "`.keisei/locks/` promises that what was valid stays valid until a day.",
        "Take the change back, or end the lock with `keisei schema revoke NAME --reason ...`.",
    ),
    "edited-lock": Explained(
        "A lock was edited",
        "What it says does not have its sha256.",
        "Restore the marker from git.",
    ),
    "undecided-change": Explained(
        "A schema changed, and nobody can tell whether it breaks",
        "The proof that old documents are still good was not found, and neither was one that is not.",
        "Look at the change yourself.",
    ),
    "removed-error": Explained(
        "An error code is gone",
        "Callers that handle it wait for it in vain, and meet something else.",
        "Keep the code, or make a new atom.",
    ),
    "changed-kind": Explained(
        "An atom's kind changed",
        "What may run beside it, be retried or be cached follows from the kind.",
        "Keep the kind, or make a new atom.",
    ),
    "lost-idempotence": Explained(
        "An atom promises less than it did",
        "Callers repeat what they were told may be repeated (`idempotent`, `keyed`).",
        "Keep the promise, or make a new atom.",
    ),
    "removed-atom": Explained(
        "An atom is gone that was not deprecated",
        "A breaking change is a new atom; the old one stays, deprecated, for two minor versions.",
        "Bring it back with `deprecated: use ...`.",
    ),
    "effects": Explained(
        "Kind and side effects disagree",
        "A transform has none; a query only reads, and starts programs only to read.",
        "Correct the kind or the effects.",
    ),
    "identity-conflict": Explained(
        "Two identity records disagree",
        "For example a wallet linked to another contract than the agent's.",
        "Make them equal; a conflict is never merged.",
    ),
    "secret-in-file": Explained(
        "A private key or a mnemonic stands in the file",
        "keisei only watches wallets. Such a file is not used, and what was found is not repeated.",
        "Take it out, also of the repository's history, and treat the key as known to others.",
    ),
    "style-mismatch": Explained(
        "A profile's style does not fit its adapter",
        "The style says which harness the prompt is written for.",
        "Set the style of the adapter's harness.",
    ),
    "bypass-flag": Explained(
        "A bypass flag is hidden in extra_args",
        "Autonomy is said in `autonomy`, where everybody sees it.",
        "Remove the flag and set `autonomy.profile`.",
    ),
    "deprecated": Explained("A name is old", "It still works and leads to the new one.", "Use the new name."),
    "dialect": Explained(
        "An older spelling was read",
        "The file is written in the originals' dialect and was translated.",
        "Use the names that are shown.",
    ),
    "relaxes-nothing": Explained(
        "A role relaxes what it does not have",
        "The parent does not require that capability.",
        "Remove the line or correct the name.",
    ),
    "version-mismatch": Explained("Versions differ", "An atom's version equals its package's.", "Make them equal."),
    "more": Explained(
        "There are more problems",
        "Of one file 200 problems are told.",
        "Mend the ones that are told, and lint again.",
    ),
    "unused": Explained(
        "Something is declared and never used",
        "It has no effect where it stands.",
        "Remove it or use it.",
    ),
}


def printable(text: str) -> str:
    """The text with everything escaped that could command a terminal or turn a line round: files are hostile."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


QUOTATION = 200
LONGEST = 900


def tidy(sentence: str) -> str:
    """A sentence as one printable line, its quotations cut short: what it quotes may be a whole file."""
    parts = printable(sentence).split("`")
    text = "`".join(_cut(part, QUOTATION if index % 2 else LONGEST) for index, part in enumerate(parts))
    return _cut(text, LONGEST)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest] + "…"


class Problem(Struct, frozen=True, kw_only=True):
    """One thing to mend."""

    code: str
    path: str
    line: int | None = None
    column: int | None = None
    message: str
    hint: str | None = None
    severity: Literal["error", "warning"] = "error"

    def __post_init__(self) -> None:
        """Refuse a code that nobody explained; keep the sentences short, whatever they quote."""
        if self.code not in CODES:
            message = f"unexplained problem code {self.code!r}"
            raise ValueError(message)
        force_setattr(self, "path", self.path.encode("utf-8", "backslashreplace").decode("utf-8"))
        force_setattr(self, "message", tidy(self.message))
        if self.hint is not None:
            force_setattr(self, "hint", tidy(self.hint))

    @property
    def place(self) -> str:
        """`file:line:column`, as editors take it."""
        parts = [self.path, *(str(number) for number in (self.line, self.column) if number is not None)]
        return ":".join(parts)

    def render(self) -> str:
        """One line, and a second one for the hint."""
        text = f"{printable(self.place)}: {self.severity}[{self.code}]: {self.message}"
        return f"{text}\n  hint: {self.hint}" if self.hint else text
