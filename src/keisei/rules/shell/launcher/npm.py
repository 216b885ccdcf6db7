"""npm and its kin: the script of the package that runs, or the command line that is started."""

from collections.abc import Mapping

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.form import names
from keisei.rules.shell.launcher.found import Found
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.option import Scan
from keisei.rules.shell.launcher.reading import follow
from keisei.rules.shell.launcher.role import read_roles
from keisei.rules.shell.launcher.table import LAUNCHERS

NPM = (
    "-sdgq -C=:dir --prefix=:dir --dir=:dir --cwd=:dir --script-shell=:prog -w= --workspace= --workspaces"
    " --if-present --silent"
    " --ignore-scripts --loglevel= --userconfig= --cache= --registry= --filter= -F= --ws -r --recursive"
    " --include-workspace-root"
    " --parallel --stream --workspace-concurrency= --json --foreground-scripts --aggregate-output --no-bail "
    " --reporter= --top-level -T"
)
NPM_COMMANDS = names(
    "access add adduser audit autoclean bin bugs c cache check ci clean-install completion config"
    " create dedupe deprecate diff"
    " dist-tag docs doctor edit env explain explore fund generate-lock-entry get global help hook i import info init"
    " install"
    " install-ci-test install-test it licenses link list ll ln login logout ls node npm org outdated owner pack patch"
    " patch-commit ping pkg plugin policies pm prefix profile prune publish query rebuild remove repo rm root sbom"
    " search"
    " self-update server set set-script setup shrinkwrap star stars store tag team token un uninstall unlink unplug"
    " unpublish unstar up update upgrade upgrade-interactive version versions view whoami why workspace-info a"
    " build-deps"
    " fetch approve-builds deploy dist-tags licences"
)
"""Commands of npm, yarn and pnpm that are not scripts of the package."""
BUN = (
    "-e=:code --eval=:code -p=:code --print=:code -r= --preload= --cwd=:dir --env-file= -c= --config= -v:stop"
    " --version:stop"
)
OWN_SCRIPTS = {"test": "test", "t": "test", "tst": "test", "start": "start", "stop": "stop", "restart": "restart"}
BUN_COMMANDS = frozenset({"test", "build", "repl", "init", "create", "upgrade", "pm", "feedback"})


def _npm(words: Words) -> Launch | None:
    found = Found(transparent=False)
    scan = Scan(words, NPM, frozenset({"lenient"}))
    read_roles(scan, words[0], found)
    rest = scan.rests()[0]
    if rest:
        _npm_command(words[0], rest, found)
    return found.launch()


def _npm_command(program: str, rest: Words, found: Found) -> None:
    name = rest[0]
    if UNKNOWN in name:
        found.hide(f"which command of {program} runs is not known before it runs")
    elif name in {"run", "run-script", "rum", "urn"}:
        scan = Scan(rest, NPM, frozenset({"lenient"}))
        read_roles(scan, program, found)
        _package_script(program, scan.rests()[0], found)
    elif name in {"exec", "x", "dlx"}:
        follow(LAUNCHERS["npx"], ("npx", *rest[1:]), found)
    elif name == "explore":
        found.argv(rest[rest.index("--") + 1 :] if "--" in rest else ())
    elif name in {"workspace", "workspaces"}:
        cut = (
            2
            if name == "workspace"
            else next((at for at, word in enumerate(rest) if word in {"run", "exec"}), len(rest))
        )
        found.argv((program, *rest[cut:]) if rest[cut:] else ())
    elif name == "node" and program == "yarn":
        found.argv(rest)
    elif name in OWN_SCRIPTS and program != "bun":
        _package_script(program, (OWN_SCRIPTS[name], *rest[1:]), found)
    elif program != "npm" and name not in NPM_COMMANDS:
        _package_script(program, rest, found)


def _package_script(program: str, rest: Words, found: Found) -> None:
    if not rest:
        return
    if UNKNOWN in rest[0]:
        found.hide(f"which script {program} runs is not known before it runs")
    elif program == "bun" and ("." in rest[0] or "/" in rest[0] or rest[0] == "-"):
        found.code_file("javascript", rest[0])
    else:
        found.code_files.append(("npm", rest[0]))
        found.targets = rest


def _bun(words: Words) -> Launch | None:
    scan = Scan(words, BUN, frozenset({"lenient"}))
    if scan.has("stop"):
        return None
    if scan.has("code"):
        return Launch(code=(("javascript", "\n".join(scan.values("code"))),), transparent=False)
    rest = scan.rests()[0]
    return None if rest and rest[0] in BUN_COMMANDS else _npm(words)


HANDS: Mapping[str, Hand] = {
    "npm": _npm,
    "yarn": _npm,
    "yarnpkg": _npm,
    "pnpm": _npm,
    "bun": _bun,
}
