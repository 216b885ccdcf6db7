"""How every test runs: properties without a clock, because a busy machine is no fault."""

from hypothesis import settings

settings.register_profile("keisei", deadline=None)
settings.load_profile("keisei")
