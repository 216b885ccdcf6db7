"""`keisei role`."""

from pathlib import Path

import click

from keisei.cli.noun import noun_group, origins
from keisei.cli.output import emit_json, json_option, table, write_whole
from keisei.cli.role_page import role_page
from keisei.cli.surroundings import kit_root_option, open_catalog
from keisei.contracts.check import data_of
from keisei.library.catalog import Catalog
from keisei.library.source import read_source, shown_path
from keisei.records.error import OperatorError
from keisei.rules.role import ResolvedRole

group = noun_group(
    "role",
    "Roles: ordered capabilities and a tool allow-list.",
    ("spawnable", "description"),
    lambda role: ("yes" if role.role.spawnable else "no", role.role.description or "-"),
)


def resolved_roles(catalog: Catalog) -> list[ResolvedRole]:
    """Every role with everything it inherits, in order of name."""
    return [catalog.resolved_role(name) for name in catalog.names("role")]


@group.command("show")
@click.argument("name")
@click.option("--origin", is_flag=True, help="Tell which file won, and which it hides.")
@kit_root_option
@json_option
def show(name: str, origin: bool, kit_root: Path | None, as_json: bool) -> int:
    """One role with everything it inherits; --origin tells which file won."""
    catalog = open_catalog(kit_root)
    if origin and not as_json:
        catalog.loaded("role", name)
        for each in origins(catalog, "role", name):
            click.echo(f"{each['layer']}: {each['path']}{'' if each['wins'] else ' (hidden)'}")
        return 0
    role = catalog.resolved_role(name)
    if as_json:
        emit_json(_data(catalog, role))
    else:
        click.echo(_text(role))
    return 0


def _data(catalog: Catalog, role: ResolvedRole) -> dict[str, object]:
    return {
        "name": role.name,
        "origin": origins(catalog, "role", role.name),
        "chain": role.chain,
        "capabilities": role.capabilities,
        "tools": data_of(role.tools),
        "escalation": data_of(role.escalation),
        "isolation": data_of(role.isolation),
        "atoms": data_of(role.atoms),
        "record": data_of(role.manifest),
    }


def _text(role: ResolvedRole) -> str:
    head = role.manifest.role
    lines = [
        f"{role.name}: {head.display_name or role.name}",
        f"  {head.description or ''}".rstrip(),
        f"spawnable: {'yes' if role.spawnable else 'no (RULE 0.13: the orchestrator holds git)'}",
        f"extends: {' -> '.join(role.chain[1:]) or 'nothing'}",
        "capabilities:",
        *(f"  {name}" for name in role.capabilities),
        f"tools: {', '.join(role.tools.allowed) or 'none'}",
        *(f"  bash: {pattern}" for pattern in role.tools.bash_patterns_allowed),
        f"escalation: {role.escalation.policy}",
        f"isolation: {role.isolation.require}, network {role.isolation.network}",
        f"atoms: {_atoms(role)}" if role.atoms.allowed else "",
    ]
    return "\n".join(line for line in lines if line.strip())


def _atoms(role: ResolvedRole) -> str:
    """Which atoms a role grants, in words."""
    return f"{', '.join(role.atoms.allowed)} ({'reading and writing' if role.atoms.write else 'reading only'})"


@group.command("matrix")
@kit_root_option
@json_option
def matrix(kit_root: Path | None, as_json: bool) -> int:
    """Capabilities by role."""
    roles = resolved_roles(open_catalog(kit_root))
    names = list(dict.fromkeys(name for role in roles for name in role.capabilities))
    if as_json:
        emit_json({role.name: role.capabilities for role in roles})
    else:
        rows = [[name, *("x" if name in role.capabilities else "." for role in roles)] for name in names]
        table(["capability", *(role.name for role in roles)], rows)
    return 0


@click.command("docs")
@click.option("--output", type=click.Path(path_type=Path), help="Write the page to this file.")
@click.option("--check", type=click.Path(path_type=Path), help="Fail where this file differs from the page.")
@kit_root_option
def docs(output: Path | None, check: Path | None, kit_root: Path | None) -> int:
    """Generate the page of all roles (docs/AGENT-ROLES.md)."""
    page = role_page(resolved_roles(open_catalog(kit_root)))
    if check is not None:
        if read_source(check).text != page:
            message = f"{shown_path(check)} differs from the roles"
            raise OperatorError(message, f"run `keisei role docs --output {shown_path(check)}`")
        click.echo(f"{shown_path(check)} is up to date")
    elif output is not None:
        write_whole(output, page.encode("utf-8"))
        click.echo(f"wrote {shown_path(output)}")
    else:
        click.echo(page, nl=False)
    return 0


group.add_command(docs)
