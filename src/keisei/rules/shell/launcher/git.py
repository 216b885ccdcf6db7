"""git: commands in options, settings, aliases and addresses; `git` without them starts nothing of ours."""

from collections.abc import Mapping
from shlex import quote

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.form import RUN, Form, make_form, valued
from keisei.rules.shell.launcher.found import SPREAD, Found
from keisei.rules.shell.launcher.git_setting import is_command_key, note_setting
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.option import Scan
from keisei.rules.shell.launcher.reading import follow
from keisei.rules.shell.launcher.role import read_roles
from keisei.rules.shell.launcher.splitter import split_words

GIT = (
    "-pPhv -c=:config -C=:dir --exec-path?:path --git-dir= --work-tree= --namespace= --super-prefix= --attr-source="
    " --config-env=:config-env --paginate --no-pager --bare --no-replace-objects --literal-pathspecs --glob-pathspecs"
    " --noglob-pathspecs --icase-pathspecs --no-optional-locks --no-lazy-fetch --no-advice --html-path --man-path"
    " --info-path --list-cmds= --version --help"
)
_FETCH = "--upload-pack=:sh --exec=:sh --receive-pack=:sh -ojbcs="
GIT_COMMANDS: Mapping[str, Form] = {
    "bisect": Form(marks=frozenset({"visible"}), subs={"run": RUN}),
    "rebase": make_form("-x=:sh --exec=:sh -XsC=", "visible lenient permute", rest="none"),
    "submodule": Form(
        "-q --quiet",
        marks=frozenset({"visible"}),
        subs={"foreach": make_form("-q --quiet --recursive", "visible", rest="text")},
    ),
    "filter-branch": make_form(
        valued("env tree index parent msg commit tag-name", "-filter=:sh")
        + " --setup=:sh --subdirectory-filter= -d= --original=",
        "visible lenient permute",
        rest="none",
    ),
    "difftool": make_form("-x=:sh --extcmd=:sh -t= --tool=", "visible lenient permute", rest="none"),
    "grep": make_form("-O?:sh --open-files-in-pager?:sh -efABCm=", "visible lenient permute", rest="none"),
    "clone": make_form(
        "-u=:sh --upload-pack=:sh -c=:config --config=:config -objr=", "visible lenient permute", rest="none"
    ),
    "fetch": make_form(_FETCH, "visible lenient permute", rest="none"),
    "pull": make_form(_FETCH, "visible lenient permute", rest="none"),
    "push": make_form(_FETCH, "visible lenient permute", rest="none"),
    "ls-remote": make_form(_FETCH, "visible lenient permute", rest="none"),
    "fetch-pack": make_form(_FETCH, "visible lenient permute", rest="none"),
    "send-pack": make_form(_FETCH, "visible lenient permute", rest="none"),
    "archive": make_form("--exec=:sh -o=", "visible lenient permute", rest="none"),
    "daemon": make_form("--access-hook=:prog", "visible lenient permute", rest="none"),
    "instaweb": make_form("-d=:sh --httpd=:sh -b=:prog --browser=:prog", "visible lenient permute", rest="none"),
    "send-email": make_form(
        "--to-cmd=:sh --cc-cmd=:sh --header-cmd=:sh --sendmail-cmd=:sh --smtp-server=",
        "visible lenient permute",
        rest="none",
    ),
    "for-each-repo": make_form("--config= --keep-going", "visible git"),
    "shell": make_form("-c=:sh", "visible", rest="none"),
}


def _git(words: Words) -> Launch | None:
    found = Found(transparent=False)
    scan = Scan(words, GIT, frozenset())
    read_roles(scan, "git", found)
    if any(value for value in scan.values("path")):
        found.hide("git --exec-path runs other programs under the names of its own")
    for value in scan.values("config-env"):
        if is_command_key(value.partition("=")[0]):
            found.hide("git --config-env names a command that is not known before it runs")
    rest = scan.rests()[0]
    _aliases(scan.values("config"), rest[1:], found)
    if rest:
        _git_command(rest, found)
    return found.launch(keep=True)


def _git_command(rest: Words, found: Found) -> None:
    for word in rest[1:]:
        if word.startswith("ext::"):
            found.script(word.removeprefix("ext::").replace("% ", "\\ ").replace("%S", UNKNOWN).replace("%s", UNKNOWN))
    if UNKNOWN in rest[0]:
        found.hide("which command of git runs is not known before it runs")
    elif rest[0] == "config":
        _git_config(rest, found)
    elif rest[0] in GIT_COMMANDS:
        form = GIT_COMMANDS[rest[0]]
        before = len(found.argvs)
        follow(form, ("git", *rest[1:]), found)
        if "git" in form.marks:
            found.argvs[before:] = [("git", *line) for line in found.argvs[before:]]


def _git_config(rest: Words, found: Found) -> None:
    """`git config key value`: a command is kept for later."""
    scan = Scan(rest, "-fz= --file= --blob= --type= --default= --comment= --value=", frozenset({"permute", "lenient"}))
    words = [word for word in scan.rests()[0] if word not in {"set", "add"}]
    if len(words) > 1 and words[0] not in {"get", "unset", "list", "get-all"}:
        note_setting(found, f"{words[0]}={words[1]}")
        _aliases([f"{words[0]}={words[1]}"], (), found)


def _aliases(settings: list[str], rest: Words, found: Found) -> None:
    """Every alias a setting makes, with the words that would follow it."""
    for text in settings[:SPREAD]:
        key, _, value = text.partition("=")
        if not key.lower().startswith("alias."):
            continue
        if value.startswith("!"):
            found.script(" ".join((value[1:], *(quote(word) if UNKNOWN not in word else word for word in rest))))
        else:
            found.argv(("git", *split_words(value), *rest))
    if len(settings) > SPREAD:
        found.hide("git has too many settings to be read")


HANDS: Mapping[str, Hand] = {
    "git": _git,
}
