"""Variables that decide what other programs run. Setting one is as good as a command line."""

import re
from typing import Final

SCRIPTS: Final = frozenset(
    {
        *("PAGER", "MANPAGER", "GIT_PAGER", "EDITOR", "VISUAL", "FCEDIT", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"),
        *("GIT_SSH_COMMAND", "GIT_SSH", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "BROWSER"),
        *("GIT_PROXY_COMMAND", "PROMPT_COMMAND", "RSYNC_RSH", "CVS_RSH", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"),
        *("CARGO_BUILD_RUSTC_WRAPPER", "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"),
    }
)
"""The value is run as a command."""
PROMPTS: Final = frozenset({"PS0", "PS1", "PS2", "PS3", "PS4"})
"""Substitutions inside the value are run."""
FILES: Final = frozenset({"BASH_ENV", "ENV"})
"""The value names a file that a shell runs first."""
PIPES: Final = frozenset({"LESSOPEN", "LESSCLOSE"})
"""The value, without a leading bar, is run as a command."""
LOADERS: Final = frozenset({"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "GCONV_PATH"})
"""The value names code that is loaded into every program."""
OTHERS: Final = frozenset(
    {
        *("PATH", "SHELL", "SHELLOPTS", "BASHOPTS", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR"),
        *("GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"),
        *("NODE_OPTIONS", "PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB", "PYTHONSTARTUP", "PYTHONHOME"),
        *("MAKEFLAGS", "MAKEFILES", "RUSTC", "CARGO_HOME", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "OPENSSL_CONF"),
        *("RIPGREP_CONFIG_PATH"),
    }
)
"""The value changes which code runs, in ways that are not followed; an allow-list must not be stepped around by it."""
ALL: Final = SCRIPTS | PROMPTS | FILES | PIPES | LOADERS | OTHERS


SWITCHES: Final = {
    "MAKEFILES": "",
    "MAKEFLAGS": r"--eval|-f|--file",
    "PERL5OPT": "",
    "RUBYOPT": r"-[a-zA-Z]*[re]",
    "NODE_OPTIONS": r"-r\b|--require|--import|--loader|--eval|-e\b",
    "PYTHONSTARTUP": "",
    "PYTHONBREAKPOINT": r"[^0]",
    "PYTHONINSPECT": "",
}
"""Variables that add code to programs; the pattern says which values do."""


def is_switch(name: str, value: str) -> bool:
    """Whether a value makes a program run code of somebody's choosing."""
    return bool(value) and name in SWITCHES and re.search(SWITCHES[name], value) is not None


def is_steering(name: str) -> bool:
    """Whether an allow-list has to know the assignment."""
    return (
        name in ALL
        or name in SWITCHES
        or name.startswith(("BASH_FUNC_", "GIT_CONFIG_", "CARGO_TARGET_", "LD_", "DYLD_"))
    )
