"""tmux and screen: the commands and the keys they send to a terminal."""

from collections.abc import Mapping

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.form import Form, make_form, names
from keisei.rules.shell.launcher.found import Found
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.option import Scan
from keisei.rules.shell.launcher.reading import start, tell
from keisei.rules.shell.launcher.role import read_roles
from keisei.rules.shell.launcher.table import LAUNCHERS

TMUX: Mapping[str, Form] = {
    **dict.fromkeys(("new-session", "new"), make_form("-AdDEPX -cefFnstxy=", "visible")),
    **dict.fromkeys(("new-window", "neww"), make_form("-abdkPS -ceFnt=", "visible")),
    **dict.fromkeys(("split-window", "splitw"), make_form("-bdfhIvPZ -celFpt=", "visible")),
    **dict.fromkeys(("respawn-pane", "respawnp", "respawn-window", "respawnw"), make_form("-k -cet=", "visible")),
    **dict.fromkeys(("display-popup", "popup"), make_form("-BCEkN -bcdehsStTwxy=", "visible")),
    **dict.fromkeys(("run-shell", "run"), make_form("-bCE -cdt=", "visible", rest="text")),
    **dict.fromkeys(("if-shell", "if"), make_form("-bF -t=", "visible", rest="each")),
    **dict.fromkeys(("pipe-pane", "pipep"), make_form("-IOo -t=", "visible", rest="text")),
    **dict.fromkeys(("send-keys", "send"), make_form("-FHKlMRX -cNt=", "visible", rest="keys")),
}
TMUX_OPAQUE = names(
    "source-file source bind-key bind set-hook command-prompt confirm-before confirm set-option set"
    " set-window-option setw"
    " display-menu menu choose-tree choose-buffer choose-client respawn"
)
"""Commands of tmux that keep commands for later, or read them from a file."""


def _tmux(words: Words) -> Launch | None:
    """Commands of tmux, one after another between `;` words."""
    found = Found(transparent=False)
    scan = Scan(words, "-2CDlNuvV -c=:sh -fLST=", frozenset())
    read_roles(scan, "tmux", found)
    part: list[str] = []
    for word in (*scan.rests()[0], ";"):
        if word == ";" or (word.endswith(";") and not word.endswith("\\;")):
            _tmux_command((*part, *([word[:-1]] if word != ";" else [])), found)
            part = []
        else:
            part.append(word)
    return found.launch()


def _tmux_command(words: Words, found: Found) -> None:
    if not words:
        return
    if UNKNOWN in words[0] or words[0] in TMUX_OPAQUE:
        found.hide(f"tmux {words[0]} may keep or run commands that are not read".replace(UNKNOWN, "?"))
    form = TMUX.get(words[0])
    if form is None:
        return
    scan = Scan(words, form.spec, form.marks)
    read_roles(scan, "tmux", found)
    for rest in scan.rests():
        single = form.rest == "words" and len(rest) == 1
        if rest:
            tell("text" if single else form.rest, rest, found)


def _screen(words: Words) -> Launch | None:
    launch = start(LAUNCHERS["screen"], words)
    if launch is None or not launch.scripts:
        return launch
    kept = [text.partition(" ") for text in launch.scripts]
    texts = [tail if head in {"stuff", "exec", "screen"} else "" for head, _, tail in kept]
    clean = tuple(text.replace("\\n", "\n").replace("^M", "\n").replace("\\015", "\n").strip() for text in texts)
    return launch._replace(scripts=tuple(text for text in clean if text)) if any(clean) else None


HANDS: Mapping[str, Hand] = {
    "tmux": _tmux,
    "screen": _screen,
}
