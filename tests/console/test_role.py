import pytest

from tests.console.house import VIEWER, open_house

SCRIPT = "<script>alert(1)</script>"
CAREFUL = """[role]
name = "careful"
description = "Edits <script>alert(1)</script>."
[capabilities]
extends = "edit-local"
required = ["tools::cargo-only-bash"]
relaxes = ["safety::no-dep-bump"]
"""


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path, files=[(".keisei/roles/careful.toml", CAREFUL)]) as opened:
        yield opened


def rules(house, name):
    line = next(each for each in house.api("/roles")["items"] if each["name"] == name)
    return line["rules"]


def test_the_matrix_tells_how_each_role_comes_by_its_rules(house):
    found = rules(house, "careful")

    assert found["policy::no-git-ops"] == {"how": "inherited", "by": "edit-local", "named": "policy::no-git-ops"}
    assert found["tools::bash-allowlist"] == {"how": "required", "by": "careful", "named": "tools::cargo-only-bash"}
    assert found["safety::no-dep-bump"] == {"how": "relaxed", "by": "careful", "named": "safety::no-dep-bump"}
    assert rules(house, "edit-local")["safety::no-dep-bump"]["how"] == "required"


def test_the_matrix_is_a_table_with_heads_and_words(house):
    page = house.page("/roles")

    assert '<th scope="row"><a href="/roles/careful"' in page
    assert 'scope="colgroup" colspan="' in page
    assert 'aria-label="safety::no-dep-bump"' in page
    assert '<span class="hidden-word">relaxed</span>' in page
    assert "written as tools::cargo-only-bash" in page
    assert {"name": "tools::cargo-only-bash", "means": "tools::bash-allowlist"} in house.api("/roles")["aliases"]


def test_a_role_that_nobody_may_have_says_why(house):
    line = next(each for each in house.api("/roles")["items"] if each["name"] == "git-ops")

    assert (line["spawnable"], line["why_not"]) == (False, "RULE 0.13: only the orchestrator holds git")
    assert "not spawnable" in house.page("/roles")
    assert "No agent may have this role." in house.page("/roles/git-ops")


def test_what_extends_it_may_not_be_had_either(house):
    text = '[role]\nname = "child"\n[capabilities]\nextends = "git-ops"\n'
    (house.root / ".keisei/roles/child.toml").write_text(text)

    assert house.api("/roles/child")["why_not"] == (
        "RULE 0.13: only the orchestrator holds git, and it extends `git-ops`"
    )


def test_a_broken_role_is_told_beside_the_others(house):
    (house.root / ".keisei/roles/broken.toml").write_text("[role]\nname = 5\n")
    (house.root / ".keisei/roles/round.toml").write_text('[role]\nname = "round"\n[capabilities]\nextends = "round"\n')

    told = house.api("/roles")

    assert any("broken.toml:2" in each for each in told["problems"])
    assert any("extends itself" in each for each in told["problems"])
    assert {"careful", "edit-local"} <= {each["name"] for each in told["items"]}
    assert "broken.toml" in house.page("/roles")
    assert house.client.get("/roles/broken").status_code == 422


def test_a_role_is_shown_as_an_agent_meets_it(house):
    told = house.api("/roles/careful")

    assert told["chain"] == ["careful", "edit-local"]
    assert "Edit" in told["tools"]["allowed"]
    assert told["origins"][0]["layer"] == "project"
    first = told["capabilities"][0]
    assert (first["capability"], "git" in first["text"]) == ("policy::no-git-ops", True)
    relaxed = next(each for each in told["capabilities"] if each["capability"] == "safety::no-dep-bump")
    assert relaxed["text"] is None
    page = house.page("/roles/careful")
    assert "It does not hold here, so agents read nothing of it." in page
    assert SCRIPT not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_a_call_is_tried_against_the_whole_role(house):
    refused = house.api("/roles/edit-local", command="git push origin main")["trial"]
    assert (refused["decision"], refused["capability"]) == ("deny", "policy::no-git-ops")
    assert refused["effects"]["commands"][0]["command"] == "git push origin main"

    outside = house.api("/roles/edit-local", command="src/a.py", tool="Write", scope="docs/**")["trial"]
    assert (outside["decision"], outside["capability"]) == ("deny", "scope::files-whitelist")
    inside = house.api("/roles/edit-local", command="docs/a.md", tool="Write", scope="src/** docs/**")["trial"]
    assert inside["decision"] == "allow"
    assert inside["effects"]["writes"][0]["path"] == "docs/a.md"

    tool = house.api("/roles/edit-local", tool="WebFetch", command="http://a")["trial"]
    assert (tool["decision"], tool["capability"]) == ("deny", "role::tools")


def test_the_answer_names_no_folder_that_is_gone(house):
    told = house.client.get("/api/v1/roles/edit-local", params={"command": "cat {worktree}/../x", "scope": "a"}).text

    assert "keisei-try-" not in told
    assert "{worktree}/../x" in told


def test_the_main_checkout_is_not_the_agents(house):
    told = house.api("/roles/edit-local", tool="Write", command=f"{house.root}/src/a.py", scope="**")["trial"]

    assert told["decision"] == "deny"


@pytest.mark.parametrize("role", ["nobody", "%00", "🙂", "x" * 199, "a%0ab"])
def test_a_role_that_nobody_wrote_is_missing(house, role):
    assert house.client.get(f"/roles/{role}").status_code == 404
    assert house.client.get(f"/api/v1/roles/{role}").status_code == 404


def test_viewers_look_and_try(tmp_path):
    with open_house(tmp_path, visitor=VIEWER, read_only=True) as house:
        assert "refused" in house.page("/roles/edit-local?command=git%20push")
