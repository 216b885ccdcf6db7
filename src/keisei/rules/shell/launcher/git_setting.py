"""Settings of git whose value is a command: every such value is told, and what hides a command is said."""

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.form import names
from keisei.rules.shell.launcher.found import Found

GIT_KEYS = names(
    "core.pager core.sshcommand core.editor core.fsmonitor core.gitproxy core.askpass"
    " core.alternaterefscommand"
    " sequence.editor diff.external interactive.difffilter gpg.program uploadpack.packobjectshook credential.helper"
    " web.browser instaweb.httpd instaweb.browser sendemail.sendmailcmd sendemail.tocmd sendemail.cccmd imap.tunnel"
    " man.viewer"
)
"""Settings of git whose value is a command, in lower case."""
GIT_KEY_ENDS = names(
    "pager:* diff:command diff:textconv merge:driver filter:clean filter:smudge filter:process"
    " credential:helper gpg:program"
    " difftool:cmd difftool:path mergetool:cmd mergetool:path browser:cmd browser:path man:cmd man:path"
    " remote:uploadpack"
    " remote:receivepack trailer:command trailer:cmd submodule:update guitool:cmd gpg:defaultkeycommand tar:command"
    " hook:command sendemail:sendmailcmd"
)
"""Settings with a name in the middle: section and last part."""


def note_setting(found: Found, text: str) -> None:
    """`-c key=value`: some values are commands."""
    key, _, value = text.partition("=")
    name = key.lower()
    if UNKNOWN in key:
        found.hide("git has a setting that is not known before it runs")
    elif name == "core.hookspath" and value != "/dev/null":
        found.hide("git runs hooks of another folder")
    elif name == "include.path" or name.startswith("includeif."):
        found.hide("git reads settings from a file, and those may be commands")
    elif is_command_key(name) and value.lower() not in {"true", "false", "", "yes", "no", "0", "1", "cat"}:
        found.script(value.removeprefix("!"))


def is_command_key(key: str) -> bool:
    """Whether the value of that setting is a command."""
    name = key.lower()
    section, last = name.partition(".")[0], name.rpartition(".")[2]
    return name in GIT_KEYS or f"{section}:{last}" in GIT_KEY_ENDS or section == "pager"
