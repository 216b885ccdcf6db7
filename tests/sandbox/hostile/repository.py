"""Making git, or the harness, run something later: hooks, configuration, metadata, settings."""

from tests.sandbox.hostile.program import Program, appeared, took_secret, wrote
from tests.sandbox.hostile.rig import Rig

_BOTH = ("namespace", "landlock")


def _write(name: str, tries: str, path: str, target: str, mode: str = "a") -> Program:
    return Program(
        name=name,
        tries=tries,
        stopped_by=_BOTH,
        landlock="landlock",
        source=f"os.makedirs(os.path.dirname({path}), exist_ok=True); open({path}, '{mode}').write(at.hostile)",
        effect=wrote(target),
    )


def _git(name: str, tries: str, command: str, target: str) -> Program:
    """Done by git itself. The effect: the bytes of that file, or its being there, are not what they were."""

    def changed(rig: Rig, _: object) -> bool:
        return rig.bytes_of(target) != rig.before(target)

    return Program(
        name=name,
        tries=tries,
        stopped_by=_BOTH,
        landlock="landlock",
        source=f"#!sh\necho '# changed' >> src/app.py\ngit {command}",
        effect=changed,
        needs=("remember",),
    )


REPOSITORY = (
    _write("git-hook", "writes a hook into main", "at.git + '/hooks/post-checkout'", "git/hooks/post-checkout"),
    _write("git-config", "adds a command to the configuration of main", "at.git + '/config'", "git/config"),
    _write("git-attributes", "adds a filter for every file", "at.git + '/info/attributes'", "git/info/attributes"),
    _write("git-ref", "moves the branch main", "at.git + '/refs/heads/main'", "git/refs/heads/main", "w"),
    _write(
        "git-alternates",
        "adds a foreign store of objects",
        "at.git + '/objects/info/alternates'",
        "git/objects/info/alternates",
    ),
    _write(
        "git-worktree-config",
        "adds a configuration for its own worktree",
        "at.git + '/worktrees/a000/config.worktree'",
        "git/worktrees/a000/config.worktree",
    ),
    _write(
        "git-common-folder",
        "leads its worktree's metadata elsewhere",
        "at.git + '/worktrees/a000/commondir'",
        "git/worktrees/a000/commondir",
    ),
    _write("git-file", "leads its worktree to a repository of its own", "at.work + '/.git'", "work/.git", "w"),
    _write(
        "git-user-include", "adds an include to the user's configuration", "at.home + '/.gitconfig'", "home/.gitconfig"
    ),
    _write(
        "hook-settings",
        "edits the hook settings of its worktree",
        "at.work + '/.claude/settings.json'",
        "work/.claude/settings.json",
    ),
    _write(
        "user-hook-settings",
        "edits the user's hook settings",
        "at.home + '/.claude/settings.json'",
        "home/.claude/settings.json",
    ),
    Program(
        name="git-case",
        tries="makes a .GIT beside .git for file systems that see no difference",
        stopped_by=_BOTH,
        landlock="landlock",
        source="os.mkdir(at.work + '/.GIT'); open(at.work + '/.GIT/config', 'w').write(at.hostile)",
        effect=appeared("work/.GIT"),
    ),
    Program(
        name="settings-folder-swap",
        tries="moves the folder of the hook settings away and puts another there",
        stopped_by=_BOTH,
        landlock="landlock",
        source="""
os.rename(at.work + '/.claude', at.own + '/old'); os.mkdir(at.work + '/.claude')
open(at.work + '/.claude/settings.json', 'w').write(at.hostile)
""",
        effect=lambda rig, _: (
            rig.bytes_of("work/.claude/settings.json") == b"" or wrote("work/.claude/settings.json")(rig, _)
        ),
    ),
    Program(
        name="settings-new",
        tries="adds local hook settings beside the ones that are there",
        stopped_by=_BOTH,
        landlock="landlock",
        source="open(at.work + '/.claude/settings.local.json', 'w').write(at.hostile)",
        effect=wrote("work/.claude/settings.local.json"),
    ),
    Program(
        name="git-token",
        tries="reads the password in the address of main's remote",
        stopped_by=("protect",),
        landlock="landlock",
        source="take(open(at.git + '/config', 'rb').read())",
        effect=took_secret,
        needs=("remote",),
    ),
    _git("git-commit", "commits", "-c user.name=a -c user.email=a@a commit -qam x", "git/worktrees/a000/HEAD"),
    _git(
        "git-index-flag",
        "has git overlook its changes",
        "update-index --skip-worktree src/app.py",
        "git/worktrees/a000/index",
    ),
    _git("git-config-command", "sets a monitor program with git config", "config core.fsmonitor /evil", "git/config"),
)
