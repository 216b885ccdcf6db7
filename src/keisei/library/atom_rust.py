"""Rust packages: names that cargo and rustc take, and the dispatcher that a new verb is added to."""

import re
from typing import Final

from keisei.records.error import OperatorError

KEYWORDS: Final = frozenset(
    re.findall(
        r"\w+",
        "abstract as async await become box break const continue crate do dyn else enum extern false final fn "
        "for gen if impl in let loop macro match mod move mut override priv pub ref return self static struct "
        "super trait true try type typeof union unsafe unsized use virtual where while yield",
    )
)
"""Words that no module may be called. `mod` would be the dispatcher's own file as well."""
RESERVED: Final = frozenset(("build", "deps", "examples", "incremental", "test", "core", "std", "alloc", "proc-macro"))
"""Names that cargo keeps for itself, or that hide what every program needs."""
MODULES, VERBS, END = "// keisei:modules", "// keisei:verbs", "// keisei:end"


def is_fit_for_rust(package: str) -> bool:
    """Whether a package of Rust may be called so."""
    return package not in KEYWORDS | RESERVED


def module_of(verb: str) -> str:
    """The module of a verb. No verb ends with an underscore, so two verbs never meet in one module."""
    snake = verb.replace("-", "_")
    return f"{snake}_" if snake in KEYWORDS else snake


def extended(text: str, verb: str) -> str:
    """The dispatcher with one more verb. Raises OperatorError, with what to add by hand, for one that is not ours."""
    module = module_of(verb)
    lines = {MODULES: f"pub mod {module};", VERBS: f'"{verb}" => {module}::run(input, emit),'}
    for mark, line in lines.items():
        block = re.compile(rf"^([ \t]*){re.escape(mark)}(\r?\n)((?:.*\n)*?)([ \t]*){re.escape(END)}", re.MULTILINE)
        if text.count(mark) != 1 or (found := block.search(text)) is None:
            raise _foreign(lines)
        if line not in found[3]:
            at = found.start(4)
            text = f"{text[:at]}{found[1]}{line}{found[2]}{text[at:]}"
    return text


def _foreign(lines: dict[str, str]) -> OperatorError:
    message = "`src/atoms/mod.rs` of the package was not made by `keisei atom new`, or its marks are gone"
    wanted = [f"{mark}\n{line}\n{END}" for mark, line in lines.items()]
    hint = (
        "add these lines by hand where the modules are declared and where verbs are matched, and run it again:\n"
        + "\n".join(wanted)
        + "\neach verb's module has `pub fn run(input: &serde_json::Value, emit: &mut Emit<'_>) -> Result<(), Failure>`"
    )
    return OperatorError(message, hint)
