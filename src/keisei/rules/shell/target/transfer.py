"""From machine to machine: what is ours is read or written, what is not is the network."""

from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.page import Page, Shape
from keisei.rules.shell.target.path import base, is_remote, joined, local
from keisei.rules.shell.target.spot import TREE, Spot


def _transfer(call: Call, page: Page) -> None:
    """Copies between machines: what is ours is read or written, what is not is the network."""
    paths = call.files
    for path in filter(is_remote, paths):
        page.network.append(path)
    for path in paths[:-1]:
        if not is_remote(path):
            page.read(path, tree=call.tree)
    if len(paths) < len(("from", "to")) or is_remote(paths[-1]):
        return
    kept = tuple(
        each.lstrip("/") if call.has("R") else "" if each.endswith("/") else base(local(each)) for each in paths[:-1]
    )
    page.write(paths[-1], Spot("", names=tuple(filter(None, kept)), tree=call.tree))
    if not all(kept) and any(kept):
        page.write(paths[-1], TREE)


def _rsync(call: Call, page: Page) -> None:
    before = len(page.writes)
    _transfer(call, page)
    if call.has("n") and not any(name.startswith("no-") for name in call.found):
        del page.writes[before:]
        return
    goal = call.files[-1] if len(call.files) > 1 else ""
    if goal and not is_remote(goal) and any(name.startswith("delete") for name in call.found):
        page.deletes.append(Spot(goal, tree=True))
    for value in (*call.values("backup-dir"), *call.values("T")):
        page.write(joined(goal, value), TREE)
    if call.has("remove-source-files", "remove-sent-files"):
        for source in call.files[:-1]:
            if not is_remote(source):
                page.delete(source, tree=call.tree)


def _docker_cp(call: Call, page: Page) -> None:
    _transfer(call._replace(grammar=call.grammar._replace(tree="*")), page)
    page.network.clear()


def _sftp(call: Call, page: Page) -> None:
    page.network += call.operands[:1]
    if call.operands and ":" in call.operands[0]:
        name = base(local(call.operands[0]))
        page.write(
            call.operands[1] if len(call.operands) > 1 else name or ".",
            Spot("", names=(name,) if name else (), tree=call.has("r")),
        )


SHAPES: dict[str, Shape] = {
    "rsync": _rsync,
    "scp": _transfer,
    "docker_cp": _docker_cp,
    "sftp": _sftp,
}
"""How copies between machines are read, by the name the tables use."""
