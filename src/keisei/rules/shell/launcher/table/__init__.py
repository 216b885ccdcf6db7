"""Launchers as data: one form for every program that starts others and needs no reader of its own."""

from collections.abc import Mapping

from keisei.rules.shell.launcher.form import Form
from keisei.rules.shell.launcher.table import choice, machine, package, session, user, wrapper

LAUNCHERS: Mapping[str, Form] = {
    **wrapper.FORMS,
    **user.FORMS,
    **session.FORMS,
    **machine.FORMS,
    **package.FORMS,
    **choice.FORMS,
}
