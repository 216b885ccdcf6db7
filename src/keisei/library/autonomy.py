"""The tables of keisei.toml that let work begin, stop and ask by itself: everything they name exists."""

from collections.abc import Iterable, Iterator

from keisei.contracts.words import nearest
from keisei.library.catalog import Catalog
from keisei.library.load import Loaded
from keisei.records.error import AuthorError
from keisei.records.problem import Problem
from keisei.records.project import ProjectChannel, ProjectFile

CONSOLE = "console"
"""The channel that is always there."""


def check_autonomy(catalog: Catalog, project: Loaded, adapters: Iterable[str]) -> Iterator[Problem]:
    """Names in budgets, sensors, webhooks, approvals and channels that lead nowhere, and channels that cannot work."""
    file: ProjectFile = project.record
    if file.budget is not None:
        yield from _names(project, ("budget", "agents"), file.budget.agents, "agent", catalog.names("agent"))
        yield from _names(project, ("budget", "adapters"), file.budget.adapters, "adapter", adapters)
    yield from _sensors(catalog, project)
    for index, channel in enumerate(file.approvals.notify if file.approvals is not None else ()):
        if channel != CONSOLE and channel not in file.channels:
            hint = nearest(channel, [*file.channels, CONSOLE]) or f"add a table [channels.{channel}]"
            yield project.document.problem(
                "dangling", ("approvals", "notify", index), f"channel `{channel}` does not exist", hint
            )
    for name, table in file.channels.items():
        yield from _channel(project, name, table)
    for name, hook in file.webhooks.items():
        template = hook.workflow.get("template") if hook.workflow is not None else None
        if isinstance(template, str) and catalog.found("workflow", template) is None:
            near = nearest(template, list(catalog.names("workflow")))
            spot = ("webhooks", name, "workflow", "template")
            yield project.document.problem("dangling", spot, f"workflow `{template}` does not exist", near)


def _names(
    project: Loaded, place: tuple[str, ...], named: Iterable[str], kind: str, known: Iterable[str]
) -> Iterator[Problem]:
    there = list(known)
    for name in named:
        if name not in there:
            hint = nearest(name, there) or f"known: {', '.join(sorted(there)) or 'none'}"
            yield project.document.problem("dangling", (*place, name), f"{kind} `{name}` does not exist", hint)


def _sensors(catalog: Catalog, project: Loaded) -> Iterator[Problem]:
    for name in project.record.sensors:
        place = ("sensors", name)
        if catalog.found("skill", name) is None:
            hint = nearest(name, list(catalog.names("skill"))) or "a sensor is called as its skill is"
            yield project.document.problem("dangling", place, f"skill `{name}` does not exist", hint)
            continue
        try:
            skill = catalog.loaded("skill", name).record
        except AuthorError:  # lint tells what is wrong with the skill where the skill stands
            continue
        if skill.sensor_path is None:
            hint = "add `sensor_path` to its skill.toml"
            yield project.document.problem("dangling", place, f"skill `{name}` has no sensor", hint)


def _channel(project: Loaded, name: str, channel: ProjectChannel) -> Iterator[Problem]:
    place = ("channels", name)
    if channel.kind == "console":
        if channel != ProjectChannel(kind="console"):
            message = "a console has neither an address nor a secret"
            yield project.document.problem("contradiction", place, message)
    elif channel.kind == "apprise":
        if channel.url is not None or channel.url_env is None:
            message = "the address of apprise holds secrets, so it stands in a variable"
            yield project.document.problem("contradiction", place, message, "say `url-env`, the variable's name")
        elif channel.secret_env is not None:
            message = "apprise signs nothing, so it has no secret beside its address"
            yield project.document.problem("contradiction", place, message, "leave out `secret-env`")
    elif (channel.url is None) == (channel.url_env is None):
        message = "a webhook has one address"
        hint = "say `url`, or `url-env` where it is a secret"
        yield project.document.problem("contradiction", place, message, hint)
    elif channel.secret_env is None:
        message = "a webhook needs a secret to sign with"
        yield project.document.problem("missing-key", place, message, "add `secret-env`, the variable that holds it")
