"""One world for a whole file of tests: starting processes costs more than most of them."""

import pytest

from tests.mcp.world import opened


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, opened(tmp_path_factory.mktemp("a world"), patch) as made:
        yield made
