"""The report: tables for people, goals with what was reached, and one line of JSON with everything."""

from typing import Any, NamedTuple


class Goal(NamedTuple):
    """Something that is promised, and what was measured."""

    name: str
    value: float
    sign: str
    """`>=`, `<=` or `<`."""
    goal: float

    @property
    def is_met(self) -> bool:
        """Whether it holds."""
        return {">=": self.value >= self.goal, "<=": self.value <= self.goal, "<": self.value < self.goal}[self.sign]


def print_drains(found: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Who drained how many, by store."""
    print(f"\n{'drain':10}{'':32}{'tasks':>7}{'runs':>6}{'per s':>9}{'min':>8}{'max':>8}{'CPU us/task':>13}")
    for (kind, name), row in found.items():
        rates = f"{row['per_s']:9.0f}{row['min_per_s']:8.0f}{row['max_per_s']:8.0f}"
        print(f"{kind:10}{name:32}{row['tasks']:7}{row['runs']:6}{rates}{row['cpu_us']:13.0f}")


def print_claims(found: dict[str, list[dict[str, Any]]], rows: int) -> None:
    """The median claim beside few rows and many."""
    print(f"\n{'claim':10}{'beside many that are':32}{'few us':>9}{rows:>12,} us{'ratio':>8}{'loaded in s':>13}")
    for kind, states in found.items():
        for row in states:
            numbers = f"{row['few_us']:9.0f}{row['many_us']:15.0f}{row['ratio']:8.2f}{row['loaded_s']:13.1f}"
            print(f"{kind:10}{row['state']:32}{numbers}")


def print_goals(goals: list[Goal]) -> None:
    """Each goal, and whether it is met."""
    print()
    for goal in goals:
        print(f"{'met' if goal.is_met else 'missed':8}{goal.name:72}{goal.value:9.2f}  {goal.sign} {goal.goal:g}")


def rounded(value: Any) -> Any:  # noqa: ANN401 - JSON
    """The same with numbers short enough to read; keys become text."""
    if isinstance(value, float):
        return round(value, 3) if abs(value) < 100 else round(value)
    if isinstance(value, dict):
        return {" ".join(key) if isinstance(key, tuple) else str(key): rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    return value
