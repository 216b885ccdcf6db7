"""Touches: the paths a command line writes, deletes and reads, and what the rest of the call must know of them."""

from typing import TYPE_CHECKING, Final

from keisei.records.effect import BELOW, UNKNOWN, Target
from keisei.rules.patch import patched
from keisei.rules.shell.atom import MOST, Fields
from keisei.rules.shell.ground import GLOB, SYSTEM, Trace, joined, settled
from keisei.rules.shell.target import Spot, Touch

if TYPE_CHECKING:
    from keisei.rules.shell.walk import Walk

BUILDERS: Final = frozenset(
    {
        *("gcc", "cc", "clang", "g++", "c++", "clang++", "ld", "rustc", "go", "tsc", "ar", "as", "tar", "unzip", "git"),
        *("chmod", "chown", "chgrp", "touch", "mkdir", "black", "ruff", "prettier"),
        *("gofmt", "rustfmt", "isort", "eslint", "shfmt", "truncate", "strip", "objcopy"),
    }
)
"""Programs whose output is the project's own code, or which leave the text as it is: running that is like a build."""
EDITORS: Final = frozenset({"sed", "perl", "patch", "ruby", "ed", "ex", "gawk", "awk"})
"""Programs that change a file in part."""
COPIERS: Final = frozenset({"cp", "mv", "install"})


class Toucher:
    """Keeps what is touched."""

    def __init__(self, walk: "Walk") -> None:
        """The walk it works for."""
        self._walk = walk

    def touched(self, base: str, touch: Touch, trace: Trace) -> None:
        """Keep what a program touches by its own grammar."""
        found = self._walk.found
        touch = self._moved(touch) if base == "mv" else touch
        found.network.update(dict.fromkeys(touch.network))
        if trace.remote:
            return
        self._kept(base, touch, trace)
        self._temporary(base)
        self._second_names(base, touch)
        for cwd in self._walk.state.cwds:
            self._linked(touch, cwd, trace)
            for spot in touch.writes if trace.certain or base != "code" else ():
                self._remember(base, spot, touch, cwd)
        for source in _sources(touch) if base in COPIERS else ():
            self._copied(source, trace)

    def _moved(self, touch: Touch) -> Touch:
        """A folder that is moved arrives with everything in it."""
        state = self._walk.state
        if not any(state.world.is_folder(joined(cwd, spot.path)) for cwd in state.cwds for spot in touch.deletes):
            return touch
        return touch._replace(writes=tuple(spot._replace(tree=True) for spot in touch.writes))

    def _kept(self, base: str, touch: Touch, trace: Trace) -> None:
        found = self._walk.found
        for spots, keep in ((touch.writes, found.write), (touch.deletes, found.delete), (touch.reads, found.read)):
            for spot in spots:
                if trace.certain or UNKNOWN not in spot.path:
                    for target in self._targets(base, spot):
                        keep(target)

    def _temporary(self, base: str) -> None:
        """`mktemp` makes its file where TMPDIR says."""
        for folder in self._walk.state.variables.values.get("TMPDIR", ()) if base == "mktemp" else ():
            for target in self._targets(base, Spot(f"{folder}/{BELOW}")):
                self._walk.found.write(target)

    def _second_names(self, base: str, touch: Touch) -> None:
        """A hard link is a way to write the file it names."""
        for named, _, symbolic in touch.links:
            for target in () if symbolic else self._targets(base, Spot(named)):
                self._walk.found.write(target)

    def _targets(self, base: str, spot: Spot) -> list[Target]:
        found: list[Target] = []
        named = spot.path.replace(UNKNOWN, BELOW) if base in ("split", "csplit") else spot.path
        own, below = settled(named)
        for cwd in self._walk.state.cwds:
            paths = [own]
            if GLOB.search(own):
                paths += self._walk.world.matches(joined(cwd, own))[:MOST]
            linked = [each for path in paths for each in self._walk.state.through(joined(cwd, path))]
            paths += linked
            paths += [each for path in linked if GLOB.search(path) for each in self._walk.world.matches(path)[:MOST]]
            found.extend(
                Target(
                    path=path,
                    cwd=cwd,
                    how=base,
                    entry=spot.entry,
                    names=spot.names,
                    tree=spot.tree or below,
                    folder=spot.folder,
                )
                for path in paths
            )
        return found

    def _linked(self, touch: Touch, cwd: str, trace: Trace) -> None:
        state = self._walk.state
        for target, name, symbolic in touch.links:
            self._copied(target, trace)
            link = joined(cwd, name)
            folder = link.rsplit("/", 1)[0] if symbolic else cwd
            state.copies[link] = joined(folder or "/", target)
            if symbolic:
                state.links[link] = state.copies[link]

    def _remember(self, base: str, spot: Spot, touch: Touch, cwd: str) -> None:
        """What this call writes and makes, so that running it later in the call is understood."""
        state, sources = self._walk.state, _sources(touch)
        places = [joined(cwd, spot.path), *(joined(cwd, f"{spot.path}/{name}") for name in spot.names)]
        if spot.folder:
            state.made.update(places)
        elif base in COPIERS and len(sources) == 1:
            state.copies.update({place: joined(cwd, sources[0]) for place in places})
        elif base == "tee":
            state.contents.update(dict.fromkeys(places, self._walk.input_text()))
        elif base in EDITORS:
            state.edited.update(places)
        elif base not in BUILDERS and not touch.links:
            state.contents.update(dict.fromkeys(places))

    def _copied(self, source: str, trace: Trace) -> None:
        """A copy or a link of a system program is that program under another name."""
        path = joined(self._walk.state.cwds[0], source)
        if UNKNOWN not in path and f"{path.rsplit('/', 1)[0]}/" in SYSTEM:
            self._walk.found.command((path,), trace.inside("a copy"), listed=False)

    def patched(self, argv: Fields, trace: Trace) -> None:
        """Keep what `apply_patch` touches, its patch being an argument or on standard input."""
        text = argv[1] if len(argv) > 1 else self._walk.input_text()
        if text is None or UNKNOWN in text:
            self._walk.found.cannot_tell("apply_patch gets a patch that only the run knows", trace)
            return
        writes, deletes = patched(text)
        for cwd in self._walk.state.cwds:
            for path in writes:
                self._walk.found.write(Target(path=path, cwd=cwd, how="apply_patch"))
            for path in deletes:
                self._walk.found.delete(Target(path=path, cwd=cwd, how="apply_patch", entry=True))


def _sources(touch: Touch) -> list[str]:
    """What is copied or moved."""
    return [spot.path for spot in touch.reads] or [spot.path for spot in touch.deletes]
