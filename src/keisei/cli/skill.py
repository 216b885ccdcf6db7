"""`keisei skill`."""

from keisei.cli.noun import noun_group

group = noun_group(
    "skill",
    "Skills: instructions plus commands.",
    ("description",),
    lambda skill: (skill.description.split(". ")[0],),
)
