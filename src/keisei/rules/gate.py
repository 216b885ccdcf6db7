"""The judgement: effects against a policy. Every rule is asked; the first refusal decides. Falls closed."""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple, TypeGuard

from msgspec.structs import replace

from keisei.records.effect import UNKNOWN, Effects, Target, ToolCall
from keisei.rules.atom_call import objection
from keisei.rules.atom_tool import PREFIX
from keisei.rules.policy import SHARED, TOOLS, Globs, Patterns, Policy, Rule
from keisei.rules.possessive import sound
from keisei.rules.scope import could_hold, covers
from keisei.rules.shell.ground import shown
from keisei.rules.tool import is_allowed, is_known, names_of

LINE = 200
LOST = ": an atom has such a folder for itself alone, and it vanishes"


class Place(NamedTuple):
    """Where a target leads, as the file system says at this moment."""

    lexical: str
    """Absolute, tidied by its text alone; UNKNOWN inside where that is not known."""
    real: str
    """Absolute, symbolic links followed."""
    entry: str = ""
    """Absolute, the links of its folder followed and its own not: what a program replaces that writes by renaming."""
    names: int = 1
    """How many names the file has: more than one is a hard link."""
    below: tuple[str, ...] = ()
    """What is in the tree below it, absolute; only where the whole tree is meant."""


class Verdict(NamedTuple):
    """One rule's answer."""

    rule: Rule
    decision: Literal["allow", "deny"]
    cause: Literal["rule", "error"]
    matched: str | None = None
    """The pattern or list entry that decided."""
    reason: str = ""


class Judgement(NamedTuple):
    """What is answered, and why."""

    decision: Literal["allow", "deny"]
    cause: Literal["rule", "error"]
    capability: str | None = None
    rule: str | None = None
    reason: str | None = None
    """One line of at most 200 characters."""
    instead: str = ""
    """What to do instead."""
    notes: tuple[str, ...] = ()
    """What rules that only warn or record had to say."""
    warnings: tuple[str, ...] = ()
    """Those of the notes that are shown to the agent."""


Resolve = Callable[[Target], Iterable[Place]]


def judge(
    policy: Policy, call: ToolCall, effects: Effects, resolve: Resolve, scripts: Mapping[str, Verdict]
) -> Judgement:
    """The judgement of one call. `scripts` holds the answers of script gates, by capability.

    A call of an atom of which nobody can tell what it does is refused before any rule is asked.
    """
    against = objection(call, policy.atoms) if policy.atoms else None
    if against is not None:
        return Judgement("deny", "rule", TOOLS, None, one_line(f"{TOOLS}: {against.sentence}"), against.instead)
    subject = _Subject(policy, call, effects, resolve)
    notes: list[str] = []
    shown_notes: list[str] = []
    broken = False
    refusals: list[Verdict] = []
    for rule in policy.rules:
        verdict = scripts[rule.capability] if rule.capability in scripts else _asked(rule, subject)
        if verdict is None:
            continue
        if verdict.decision == "deny" and rule.severity == "block":
            refusals.append(verdict)
        elif verdict.decision == "deny":
            notes.append(f"{rule.severity}: {verdict.reason}")
            shown_notes.extend([verdict.reason] if rule.severity == "warn" else [])
        elif verdict.cause == "error":
            broken = True
            notes.append(verdict.reason)
            shown_notes.append(verdict.reason)
    if not refusals:
        cause: Literal["rule", "error"] = "error" if broken else "rule"
        return Judgement("allow", cause, notes=tuple(notes), warnings=tuple(shown_notes))
    refusal = next((each for each in refusals if each.matched is not None), refusals[0])  # what is forbidden by name
    return Judgement(
        "deny",
        refusal.cause,
        refusal.rule.capability,
        refusal.matched,
        one_line(refusal.reason),
        refusal.rule.instead,
        tuple(notes),
        tuple(shown_notes),
    )


def _asked(rule: Rule, subject: "_Subject") -> Verdict | None:
    """One rule's answer. Patterns that cannot be used are a gate that broke."""
    try:
        return judged(rule, subject)
    except (re.error, RecursionError, OverflowError) as error:
        reason = f"{rule.capability}: its patterns cannot be used, which is no violation: {error}"
        return Verdict(rule, rule.on_error, "error", None, reason)


def one_line(text: str) -> str:
    """Text as a reason: one line, at most 200 characters."""
    return shown(text, LINE) or "refused"


class _Touched(NamedTuple):
    target: Target
    verb: str
    place: Place
    names: tuple[tuple[str, str], ...]


class _Subject:
    """What is judged, with its places looked up once."""

    def __init__(self, policy: Policy, call: ToolCall, effects: Effects, resolve: Resolve) -> None:
        self.policy = policy
        self.call = call
        self.effects = effects
        self._resolve = resolve
        self._is_atom = bool(policy.atoms) and call.tool.startswith(PREFIX)
        self._scratch = tuple(each for each in policy.scratch if not (self._is_atom and each in SHARED))
        self._places: list[_Touched] | None = None

    def touched(self) -> list[_Touched]:
        """Every place written or deleted, with the verb; places for temporary files are left out."""
        if self._places is None:
            targets = [("writes", each) for each in self.effects.writes]
            targets += [("deletes", each) for each in self.effects.deletes]
            self._places = [
                _Touched(target, verb, place, self._names(place))
                for verb, target in targets
                for place in self._resolve(target)
                if not self._is_scratch(target, place)
            ]
        return self._places

    def brings_trees(self) -> bool:
        """Whether it copies or moves a folder with something in it."""
        sources = [each for each in (*self.effects.reads, *self.effects.deletes) if each.tree]
        return any(place.below for target in sources for place in self._resolve(target))

    def _names(self, place: Place) -> tuple[tuple[str, str], ...]:
        """Every way to name a place: relative to a checkout, and absolute where it is in none."""
        paths = dict.fromkeys((place.lexical, place.real, place.entry or place.real, *place.below))
        return tuple((path, relative) for path in paths for relative in tuple(self.relatives(path)) or ("",))

    def relatives(self, path: str) -> Iterator[str]:
        """A path relative to the worktree and to the main checkout, where it is inside."""
        for root in (self.policy.worktree, self.policy.main):
            if root and (path == root or path.startswith(root.rstrip("/") + "/")):
                yield path[len(root.rstrip("/")) :].strip("/")

    def is_lost(self, place: Place) -> bool:
        """Whether a place is one that an atom has for itself alone, as long as its process lives."""
        inside = any(_is_inside(place.real, root) for root in (self.policy.worktree, self.policy.main) if root)
        return self._is_atom and not inside and any(_is_inside(place.real, folder) for folder in SHARED)

    def _is_scratch(self, target: Target, place: Place) -> bool:
        """Whether a place is for temporary files: named there and really there.

        What everybody has in common is none of an atom's, whose own vanishes with it. Where the worktree itself lies in
        such a folder, only a path that is written out counts, and never one beside or above the worktree.
        """
        if place.names > 1 and not target.entry:
            return False  # the same file may have its other name anywhere
        places = (place.lexical, place.real)
        for folder in (each.rstrip("/") for each in self._scratch):
            if all(path.startswith(f"{folder}/") or (path == folder and not target.entry) for path in places):
                roots = [root for root in (self.policy.worktree, self.policy.main) if _is_inside(root, folder)]
                first = {root[len(folder) :].strip("/").split("/")[0] for root in roots}
                plain = target.path.startswith("/") and "/.." not in target.path
                return not roots or (plain and place.real[len(folder) :].strip("/").split("/")[0] not in first)
        return False


def _is_inside(path: str | None, folder: str) -> TypeGuard[str]:
    return path is not None and (path == folder or path.startswith(f"{folder}/"))


def judged(rule: Rule, subject: _Subject) -> Verdict | None:
    """One rule's answer to a call; None where it has nothing against it."""
    found = _tool(rule, subject.call.tool) or _editor(rule, subject.effects)
    judges = rule.patterns or rule.globs or rule.tools_denied
    if found is None and judges and subject.effects.unknown and not _vouched(subject):
        return _unread(rule, subject.effects.unknown, "split the command or use the Write tool")
    for patterns in rule.patterns:
        found = found or _commands(rule, patterns, subject)
    for globs in rule.globs:
        found = found or _paths(rule, globs, subject)
    return found


def _vouched(subject: _Subject) -> bool:
    """Whether a role lists a tool that is not known here, so that not knowing it is the operator's choice.

    A call of a known tool that cannot be read is refused, whoever lists the tool.
    """
    lists = [rule.tools_allowed for rule in subject.policy.rules if rule.tools_allowed is not None]
    return not is_known(subject.call.tool) and any(subject.call.tool in each for each in lists)


def _refused(rule: Rule, matched: str | None, reason: str) -> Verdict:
    return Verdict(rule, "deny", "rule", matched, reason)


def _unread(rule: Rule, sentence: str, instead: str = "write it out, without parts that only the run knows") -> Verdict:
    """A refusal of what nobody can read beforehand."""
    plain = replace(rule, instead=instead)
    return _refused(plain, None, f"{rule.capability}: {sentence.rstrip('.')}")


def _editor(rule: Rule, effects: Effects) -> Verdict | None:
    """Codex's editor is also a command of its shell: a rule that denies the tool denies that too."""
    runs = any(each.text.startswith("apply_patch") for each in effects.commands)
    if "apply_patch" not in rule.tools_denied or not runs:
        return None
    return _refused(rule, "apply_patch", f"{rule.capability}: `apply_patch` is refused, from a shell too")


def _tool(rule: Rule, tool: str) -> Verdict | None:
    names = names_of(tool)
    for denied in rule.tools_denied:
        if denied in names:
            return _refused(rule, denied, f"{rule.capability}: the tool `{tool}` is refused")
    if rule.tools_allowed is not None and not is_allowed(tool, rule.tools_allowed):
        return _refused(rule, None, f"{rule.capability}: the tool `{tool}` is not among the allowed ones")
    return None


# --- commands --------------------------------------------------------------------------------------------------------


def _commands(rule: Rule, patterns: Patterns, subject: _Subject) -> Verdict | None:
    effects = subject.effects
    if effects.unresolved:
        return _unread(rule, effects.unresolved[0])
    if patterns.mode == "deny":
        for command in effects.commands:
            texts = _spellings(command.text, subject.policy)
            for pattern in patterns.items:
                if any(compiled(pattern).search(text) for text in texts):
                    quoted = _quoted(command.text, command.via)
                    return _refused(rule, pattern, f"{rule.capability}: {quoted} is refused")
        return None
    for command in effects.commands:
        if command.listed and not any(compiled(each, dotall=False).search(command.exact) for each in patterns.items):
            quoted = _quoted(command.exact, command.via)
            return _refused(rule, None, f"{rule.capability}: {quoted} matches no allowed command")
    return None if _judges_paths(subject) else _redirected(rule, subject)


def _judges_paths(subject: _Subject) -> bool:
    """Whether some rule lists the paths that may be written; then redirections are its business."""
    return any(globs.mode == "allow-only" for rule in subject.policy.rules for globs in rule.globs)


def _redirected(rule: Rule, subject: _Subject) -> Verdict | None:
    for target, *_ in subject.touched():
        if target.how == "redirection":
            reason = f"{rule.capability}: a redirection into `{shown(target.path)}` is no allowed command"
            return _refused(rule, None, reason)
    return None


def _quoted(text: str, via: str) -> str:
    return f"`{shown(text)}`" + (f" (inside {shown(via)})" if via else "")


def _spellings(text: str, policy: Policy) -> tuple[str, ...]:
    """A command line as it is, with single blanks, and with the known folders as people write them."""
    spaced = " ".join(text.split())
    return tuple(dict.fromkeys((text, spaced, spaced.replace(policy.home, "~"), spaced.replace(policy.worktree, "."))))


@lru_cache(maxsize=4096)
def compiled(pattern: str, *, dotall: bool = True) -> re.Pattern[str]:
    """A pattern. In lists that forbid, a dot is any character: a line break hides nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(sound(pattern), re.DOTALL if dotall else 0)


# --- paths -----------------------------------------------------------------------------------------------------------


def _paths(rule: Rule, globs: Globs, subject: _Subject) -> Verdict | None:
    if globs.strict and subject.effects.unresolved:
        return _unread(rule, subject.effects.unresolved[0])
    for touched in subject.touched():
        if globs.mode == "allow-only":
            matched: str | None = None
            refused = not _allowed(globs, touched, subject)
        else:
            matched = next((glob for glob in globs.items if _forbidden(glob, globs, touched, subject)), None)
            refused = matched is not None
        if refused:
            reason = f"{rule.capability}: {_path_reason(touched.target, touched.verb, touched.place, globs)}"
            reason += LOST if subject.is_lost(touched.place) else ""
            if UNKNOWN in touched.place.lexical:
                rule = replace(rule, instead="write the path out")
            elif touched.place.names > 1:
                rule, matched = replace(rule, instead="make a copy and write that"), None
            return _refused(rule, matched, reason)
    return None


def _path_reason(target: Target, verb: str, place: Place, globs: Globs) -> str:
    what = f"{target.how} {verb} `{shown(target.path)}`"
    if UNKNOWN in place.lexical:
        return f"{what}, a path that is not known beforehand"
    if place.names > 1:
        return f"{what}, a file that has {place.names} names (hard links), the others unseen"
    if place.real != place.lexical:
        what += f", which leads to `{shown(place.real)}`"
    return f"{what}, outside the allowed paths" if globs.mode == "allow-only" else f"{what}, a protected path"


def _allowed(globs: Globs, touched: _Touched, subject: _Subject) -> bool:
    target, _, place, _ = touched
    if UNKNOWN in place.lexical or (place.names > 1 and not target.entry):
        return False
    paths = dict.fromkeys((place.entry or place.real, place.real))
    worktree = subject.policy.worktree
    if not all(_covered(globs, target, path, worktree) for path in paths):
        return False
    whole = replace(globs, items=tuple(filter(_is_whole, globs.items)))
    is_given_whole = all(_covered(whole, target, path, worktree) for path in paths)
    return not target.tree or is_given_whole or _allowed_below(globs, touched, subject)


def _allowed_below(globs: Globs, touched: _Touched, subject: _Subject) -> bool:
    """Whether all that lies below is allowed one by one, and nothing else comes to lie there."""
    target, verb, place, _ = touched
    if verb == "writes" and subject.brings_trees():
        return False
    return all(UNKNOWN not in path and _covered(globs, target, path, subject.policy.worktree) for path in place.below)


def _is_whole(glob: str) -> bool:
    """Whether everything below what it covers is surely covered too."""
    return f"/{glob}".endswith(("/**", "/**/*"))


def _covered(globs: Globs, target: Target, path: str, worktree: str) -> bool:
    root = worktree.rstrip("/")
    if path != root and not path.startswith(f"{root}/"):
        return False
    inside = path[len(root) :].strip("/")
    if any(covers(glob, inside) for glob in globs.items):
        return True
    return target.folder and any(could_hold(glob, inside) for glob in globs.items)


def _forbidden(glob: str, globs: Globs, touched: _Touched, subject: _Subject) -> bool:
    target, _, place, names = touched
    if UNKNOWN in place.lexical:
        return _perhaps(glob, globs, place, subject)
    if (place.names > 1 and not target.entry) or glob.strip("/") == "**":
        return True
    anywhere = glob.startswith("**/")
    if UNKNOWN in place.below and (anywhere or any(could_hold(glob, each, folded=True) for _, each in names[:1])):
        return True
    for path, relative in names:
        if relative and covers(glob, relative, folded=True):
            return True
        if anywhere and not relative and covers(glob, path, folded=True):
            return True
    return target.tree and any(
        not relative or could_hold(glob, relative, folded=True)
        for path in (place.lexical, place.real)
        for relative in subject.relatives(path)
    )


def _perhaps(glob: str, globs: Globs, place: Place, subject: _Subject) -> bool:
    """A path with unknown parts: refused where what is known of it leads there, or, if strict, could."""
    head, tail = place.lexical.split(UNKNOWN, 1)[0], place.lexical.rsplit(UNKNOWN, 1)[1]
    if tail.startswith("/") and glob.startswith("**/") and covers(glob, tail, folded=True):
        return True
    folder = head.rsplit("/", 1)[0]
    known = list(subject.relatives(folder)) if folder else []
    if any(relative and covers(glob, relative, folded=True) for relative in known):
        return True
    if not globs.strict:
        return False
    return not folder or any(
        not relative or glob.startswith("**") or could_hold(glob, relative, folded=True) for relative in known
    )
