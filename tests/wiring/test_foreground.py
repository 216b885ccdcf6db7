"""The foreground: what a patch has changed, and a runner that claims one task."""

import pytest

from keisei.wiring.foreground import Changed, patched_files
from tests.wiring.house import House

PATCH = """\
diff --git a/a file.txt b/a file.txt
index 1..2 100644
--- a/a file.txt
+++ b/a file.txt
@@ -1,3 +1,4 @@
 one
--- two
+++ zwei
+drei
 three
@@ -9 +10 @@
-x
+y
diff --git a/bin b/bin
new file mode 100755
index 0..3
GIT binary patch
literal 4
+cmZ?
-dmZ?

diff --git "a/n\\303\\274.txt" "b/n\\303\\274.txt"
deleted file mode 100644
--- "a/n\\303\\274.txt"
+++ /dev/null
@@ -1 +0,0 @@
-gone
\\ No newline at end of file
diff --git a/mode b/mode
old mode 100644
new mode 100755
"""


def test_lines_that_come_and_go_are_counted_file_by_file():
    assert patched_files(PATCH) == [
        Changed("a file.txt", 3, 2),
        Changed("bin", None, None),
        Changed("nü.txt", 0, 1),
        Changed("mode", 0, 0),
    ]


@pytest.mark.parametrize(
    ("written", "path"),
    [
        (r"src/\346\227\245.txt", "src/日.txt"),
        (r"a\tb\nc\"d", 'a\tb\nc"d'),
        (r"back\\slash", r"back\\slash"),
        (r"\377", r"\xff"),
        ("a/b", "a/b"),
        (r"a\9b\777", r"a9b\xff"),
    ],
    ids=["not ASCII", "control characters", "a backslash", "no text", "plain", "nothing git writes"],
)
def test_the_names_of_files_are_read_as_git_means_them(written, path):
    line = f'diff --git "a/{written}" "b/{written}"'

    assert [each.path for each in patched_files(line)] == [path]


@pytest.mark.parametrize("text", ["", "nonsense\n+++\n@@ \n+x", "diff --git \n@@ x\n+a", "\0" * 100], ids=range(4))
def test_a_text_that_is_no_patch_does_no_harm(text):
    assert all(isinstance(each, Changed) for each in patched_files(text))


def test_a_runner_for_one_task_leaves_the_others_alone(tmp_path):
    house = House(tmp_path)
    other, named = house.script("true"), house.script('echo \'{"status": "completed", "operator_summary": "ok"}\'')

    taken = house.runner(only=(named,), at_most=1).run()

    assert (taken, house.task(named).status, house.task(other).status) == (1, "completed", "pending")
    house.close()
