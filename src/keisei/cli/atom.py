"""`keisei atom`: what can be done, verb by verb."""

import click

from keisei.cli.atom_list_command import command as listing
from keisei.cli.atom_new import command as new
from keisei.cli.atom_show import command as show
from keisei.cli.atom_skill import command as skills
from keisei.cli.atom_test import command as test
from keisei.cli.invoke import command as invoke

group = click.Group("atom", help="Atoms: one verb, one page, two schemas, one function.")
group.add_command(listing, "list")
for _each in (show, invoke, new, test, skills):
    group.add_command(_each)
