"""shfmt: asked once a text, within limits, and never believed when it is late, loud or gone."""

import threading

import pytest

from keisei.gate import shell
from keisei.gate.shell import Parser, find_shfmt
from keisei.rules.shell.ground import Unreadable


@pytest.fixture
def program(tmp_path):
    """Makes a stand-in for shfmt that notes each call and then does what it is told."""

    def make(body):
        path = tmp_path / "shfmt"
        path.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/calls\n{body}\n")
        path.chmod(0o755)
        return str(path)

    return make


@pytest.fixture
def asked(tmp_path):
    def count():
        calls = tmp_path / "calls"
        return len(calls.read_text().splitlines()) if calls.exists() else 0

    return count


def complaint(parser, text="x"):
    with pytest.raises(Unreadable) as found:
        parser.parse(text)
    return str(found.value)


def test_text_becomes_a_tree():
    tree = Parser().parse("git push && echo $(ls)")

    assert tree["Type"] == "File"
    assert len(tree["Stmts"]) == 1


@pytest.mark.parametrize("text", ["", "# only a comment", "\n\n"])
def test_nothing_is_a_tree_without_statements(text):
    assert not Parser().parse(text).get("Stmts")


def test_the_grammar_is_the_one_of_bash():
    assert Parser().parse("[[ a =~ b ]] && diff <(a) <(b); x=(1 2); coproc cat")["Stmts"]


@pytest.mark.parametrize("text", ["for x in", "git push; (", "'", "if true", "$((", "a | | b", "cat <<E\n$("])
def test_wrong_syntax_is_told(text):
    assert complaint(Parser(), text).startswith("the shell syntax is wrong: ")


def test_what_is_told_of_wrong_syntax_is_one_short_line():
    said = complaint(Parser(), "x " * 3000 + "\n(")

    assert "\n" not in said
    assert len(said) < 200


def test_text_that_is_too_large_is_not_asked(program, asked):
    parser = Parser(program("echo {}"))

    assert "larger than" in complaint(parser, "x" * (shell.SIZE_LIMIT + 1))
    assert asked() == 0


def test_the_limit_counts_bytes():
    assert "larger than" in complaint(Parser(), "\u00e9" * (shell.SIZE_LIMIT // 2 + 1))


def test_half_a_surrogate_pair_is_told_and_not_a_crash():
    assert complaint(Parser(), "for \ud800")


def test_a_missing_program_refuses(monkeypatch):
    monkeypatch.setattr(shell, "find_shfmt", lambda: None)

    assert complaint(Parser()) == "shfmt is missing"


def test_a_program_that_does_not_start_refuses(tmp_path):
    assert "does not start" in complaint(Parser(str(tmp_path / "none")))


def test_a_program_that_may_not_run_refuses(tmp_path):
    (tmp_path / "shfmt").write_text("#!/bin/sh\n")

    assert "does not start" in complaint(Parser(str(tmp_path / "shfmt")))


def test_a_program_that_takes_too_long_refuses(program, monkeypatch):
    monkeypatch.setattr(shell, "TIME_LIMIT_S", 0.05)

    assert complaint(Parser(program("exec sleep 60"))) == "the parser takes too long"


def test_a_program_that_fails_refuses(program):
    assert complaint(Parser(program("echo 'call.bash:1:2: no' >&2; exit 3"))) == "the shell syntax is wrong: 1:2: no"


def test_a_program_that_fails_without_a_word_refuses(program):
    assert complaint(Parser(program("exit 1"))) == "the shell syntax is wrong: no reason was given"


def test_a_program_that_is_killed_refuses(program):
    assert complaint(Parser(program("kill -9 $$")))


@pytest.mark.parametrize("said", ["", "[]", "7", "null", "{", '{"a":1}x'], ids=repr)
def test_an_answer_that_is_no_tree_refuses(program, said):
    assert complaint(Parser(program(f"printf '%s' '{said}'")))


def test_a_tree_that_is_too_large_refuses(program, monkeypatch):
    monkeypatch.setattr(shell, "TREE_LIMIT", 10)

    assert complaint(Parser(program('echo \'{"Type": "File"}\''))) == "its syntax tree is too large"


def test_a_tree_that_is_too_deep_refuses():
    assert complaint(Parser(), "$(" * 4000 + "ls" + ")" * 4000)


# --- remembering ------------------------------------------------------------------------------------------------------


def test_the_same_text_is_asked_once(program, asked):
    parser = Parser(program("echo '{}'"))

    assert parser.parse("a") == parser.parse("a") == {}
    assert asked() == 1


def test_wrong_syntax_is_remembered_too(program, asked):
    parser = Parser(program("exit 1"))

    assert complaint(parser, "a") == complaint(parser, "a")
    assert asked() == 1


def test_a_breakdown_is_not_remembered(program, monkeypatch):
    """The text was not at fault, so the next call asks again."""
    monkeypatch.setattr(shell, "TIME_LIMIT_S", 0.05)
    parser = Parser(program("exec sleep 60"))
    complaint(parser, "a")

    monkeypatch.setattr(shell, "TIME_LIMIT_S", 5)
    program("echo '{}'")

    assert parser.parse("a") == {}


def test_a_parser_that_was_killed_is_not_the_texts_fault(program):
    parser = Parser(program("kill -9 $$"))
    complaint(parser, "a")

    program("echo '{}'")

    assert parser.parse("a") == {}


def test_what_was_asked_longest_ago_is_forgotten(program, asked, monkeypatch):
    monkeypatch.setattr(shell, "REMEMBERED", 2)
    parser = Parser(program("echo '{}'"))

    for text in ("a", "b", "a", "c", "a"):
        parser.parse(text)
    assert asked() == 3

    parser.parse("b")
    assert asked() == 4


def test_many_threads_may_ask_at_once():
    parser = Parser()
    found = {}

    def ask(number):
        found[number] = parser.parse(f"echo $({number % 5})")["Stmts"]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert len(found) == 20
    assert all(found[number] == found[number % 5] for number in range(20))


def test_the_program_beside_the_interpreter_comes_first(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_shfmt() is None

    (tmp_path / "shfmt").touch()
    assert find_shfmt() == str(tmp_path / "shfmt")
