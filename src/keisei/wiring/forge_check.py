"""Postconditions: what must hold of an atom that was just written, looked at where it stands."""

from collections.abc import Iterator
from os.path import realpath
from typing import Final

from keisei.library.atom import judged
from keisei.library.package import read_package
from keisei.records.confinement import Machine
from keisei.records.error import KeiseiError
from keisei.records.problem import tidy
from keisei.wiring.atom_runtime import AtomRuntime
from keisei.wiring.atom_test import examples, isolation_of, output_examples
from keisei.wiring.forge_cargo import cargo_check
from keisei.wiring.forge_plan import Plan
from keisei.wiring.forge_result import Postcondition
from keisei.wiring.forge_stage import Links
from keisei.wiring.forge_try import BUDGET_S, GOOD, called

LONGEST: Final = 300


def postconditions(plan: Plan, runtime: AtomRuntime, machine: Machine, links: Links) -> Iterator[Postcondition]:
    """Each of them. Never raises."""
    yield _lint(plan, links)
    yield _visible(plan, runtime)
    yield _smoke(plan, runtime, machine)
    if (plan.folder / plan.package / "Cargo.toml").is_file():
        yield cargo_check(plan.folder / plan.package)


def _lint(plan: Plan, links: Links) -> Postcondition:
    page = plan.folder / plan.package / plan.page
    found = [
        problem
        for each in judged(read_package(plan.folder / plan.package), links.atoms | {plan.atom}, links.rules)
        if plan.is_new_package or realpath(each.path) == realpath(page)
        for problem in each.problems
    ]
    errors = [each for each in found if each.severity == "error"]
    if errors:
        return Postcondition(name="lint", status="violated", detail=errors[0].render())
    warned = f", {len(found)} warning{'' if len(found) == 1 else 's'}" if found else ""
    return Postcondition(name="lint", status="held", detail=f"no errors{warned}")


def _visible(plan: Plan, runtime: AtomRuntime) -> Postcondition:
    rows, _ = runtime.shelf.rows(package=plan.package)
    row = next((each for each in rows if each.atom == plan.atom), None)
    page = realpath(plan.folder / plan.package / plan.page)
    if row is None:
        return Postcondition(name="visible", status="violated", detail=f"`{plan.atom}` is in no list of atoms")
    if realpath(row.path) != page:
        detail = f"`{plan.atom}` is found at `{row.path}`, which hides this one"
        return Postcondition(name="visible", status="violated", detail=detail)
    return Postcondition(name="visible", status="held", detail=f"listed, layer {row.layer}")


def _smoke(plan: Plan, runtime: AtomRuntime, machine: Machine) -> Postcondition:
    """Its examples, as `keisei atom test` calls them."""
    try:
        spec = runtime.shelf.atom(plan.atom)
        if spec.package.language != "python" and runtime.program(spec.package) is None:
            detail = f"the program `{plan.package}` is not built yet; then `keisei atom test {plan.atom}`"
            return Postcondition(name="smoke-test", status="not-checked", detail=detail)
        asked = examples(spec)
        done = [each for each in called(runtime, spec, machine, asked) if not each.is_cut]
        tried = [*(each.tried for each in done), *output_examples(spec)]
        level = isolation_of(machine, spec).level
    except KeiseiError as error:
        detail = f"it could not be tried: {tidy(error.message)[:LONGEST]}"
        return Postcondition(name="smoke-test", status="not-checked", detail=detail)
    failed = [each for each in tried if each.outcome not in GOOD]
    if failed:
        error_ = failed[0].error
        why = "" if error_ is None else f": {error_.code or error_.kind}: {tidy(error_.message)[:LONGEST]}"
        return Postcondition(name="smoke-test", status="violated", detail=f"{failed[0].example}{why}")
    if len(done) < len(asked):
        asking = f"`keisei atom test {plan.atom}` calls all of them"
        detail = f"{len(done)} of {len(asked)} examples were done in {BUDGET_S:g} seconds; {asking}"
        return Postcondition(name="smoke-test", status="not-checked", detail=detail)
    held = "not confined" if level == "none" else f"isolation {level}"
    counted = f"{len(tried)} example{'' if len(tried) == 1 else 's'}"
    return Postcondition(name="smoke-test", status="held", detail=f"{counted}, {held}")
