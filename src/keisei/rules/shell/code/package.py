"""package.json: the shell text that its scripts run."""

import json

from keisei.rules.shell.code.result import Code, Found


def npm_script(package_json: str, name: str) -> Code:
    """The shell text of a package's script, with what npm runs before and after it. Falls closed on a broken file."""
    found = Found()
    try:
        package = json.loads(package_json)
    except (ValueError, RecursionError):
        found.opaque("The package.json cannot be read.")
        return found.code()
    scripts = package.get("scripts") if isinstance(package, dict) else None
    if not isinstance(scripts, dict):
        return found.code()
    for one in _hooks(name):
        script = scripts.get(one)
        if isinstance(script, str):
            found.recipe(script)
    return found.code()


def _hooks(name: str) -> list[str]:
    names = {
        "install": ["install", "prepublish", "prepare"],
        "i": ["install", "prepublish", "prepare"],
        "ci": ["install", "prepare"],
        "publish": ["prepublishOnly", "prepack", "prepare", "postpack", "publish"],
        "pack": ["prepack", "prepare", "postpack"],
        "restart": ["stop", "restart", "start"],
        "version": ["version"],
    }.get(name, [name])
    return [hook + one for one in names for hook in ("pre", "", "post")]
