"""Roles: what an option of any launcher means for what is started. One reader for all of them."""

from collections.abc import Callable, Mapping

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.found import Found
from keisei.rules.shell.launcher.git_setting import note_setting
from keisei.rules.shell.launcher.option import Scan


def _prog(found: Found, value: str) -> None:
    if value:
        found.argv((value,))


def _local(found: Found, _value: str) -> None:
    found.remote = False


def _remote(found: Found, _value: str) -> None:
    found.remote = True


def _ssh_option(found: Found, value: str) -> None:
    """`-o Key=value` or `-o 'Key value'`; three keys hold a command that runs here."""
    key, _, text = value.replace("=", " ", 1).strip().partition(" ")
    if key.lower() in {"proxycommand", "localcommand", "knownhostscommand"} and text.strip().lower() != "none":
        found.remote = False
        found.script(text.strip())
    elif UNKNOWN in key:
        found.hide("ssh has an option that is not known before it runs")


def _checkpoint(found: Found, value: str) -> None:
    if value.startswith("exec="):
        found.script(value.removeprefix("exec="))


def _apt_option(found: Found, value: str) -> None:
    key, _, text = value.partition("=")
    if "invoke" in key.lower() or "pre-install-pkgs" in key.lower():
        found.script(text)


def _wrapper(found: Found, value: str) -> None:
    found.argv(part for part in value.split(",") if part)


def _dead_end(found: Found, _value: str) -> None:
    found.hide("it runs a program in a language that is not read")


ROLES: Mapping[str, Callable[[Found, str], None]] = {
    "sh": Found.script,
    "prog": _prog,
    "dir": Found.go,
    "file": lambda found, value: found.file(value, "it"),
    "local": _local,
    "remote": _remote,
    "ssh": _ssh_option,
    "checkpoint": _checkpoint,
    "apt": _apt_option,
    "wrapper": _wrapper,
    "stopless": _dead_end,
    "config": note_setting,
    "npm": lambda found, value: found.code_file("npm", value),
}


def read_roles(scan: Scan, what: str, found: Found) -> None:
    """What the options say."""
    if scan.unclear:
        found.hide(f"{what} has {scan.unclear}")
    for given in scan.given:
        for role in given.roles:
            if role in ROLES:
                ROLES[role](found, given.value)
