"""Conditions: what `if` may say, what it means, and how a slip is told."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.rules.condition import BadCondition, condition
from keisei.rules.reference import Unresolved

SCOPE = {"a": {"n": 3, "t": "text", "l": [1, "x", None], "o": {"k": 1}, "z": 0, "e": [], "yes": True, "null": None}}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("$a.n > 2", True),
        ("${a.n} >= 3.0", True),
        ("$a.n == 3 and $a.t == 'text'", True),
        ("$a.n == 3.0", True),
        ("$a.yes == 1", False),
        ("$a.yes == true", True),
        ("$a.yes", True),
        ("not $a.z", True),
        ("$a.e or $a.null or $a.o", True),
        ('$a.t < "u"', True),
        ("$a.t != null", True),
        ("$a.null == null", True),
        ("'x' in $a.l", True),
        ("null in $a.l", True),
        ("true in $a.l", False),
        ("'ex' in $a.t", True),
        ("'k' in $a.o and $a.o.k == 1", True),
        ("'q' in $a.o and $a.o.q == 1", False),
        ("$a.n < 1 or $a.n > 2", True),
        ("not $a.n < 1 and not ($a.n > 5)", True),
        ("true or false and false", True),
        ("(true or false) and false", False),
        ("-1 < 0 and 1e2 == 100", True),
        ("$a.o == $a.o", True),
        ("'it\\'s' == \"it's\"", True),
        ('$a["n"] == 3', True),
    ],
)
def test_a_condition_holds_or_does_not(text, holds):
    assert condition(text).holds(SCOPE) is holds


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("", 1, "a reference or a value, not the end"),
        ("$a.n >", 7, "not the end"),
        ("$a.n = 3", 6, "cannot read `= 3`"),
        ("$a.n == 3 && true", 11, "cannot read `&& true`"),
        ("a == 1", 1, "not `a`"),
        ("True", 1, "not `True`"),
        ("1 < 2 < 3", 7, "not `<`"),
        ("(1 == 1", 8, "expected `)`"),
        ("1 == 1)", 7, "not `)`"),
        ("'open", 1, "cannot read `'open`"),
        ("$a. == 1", 3, "cannot read `. == 1`"),
        ("__import__('os')", 1, "not `__import__`"),
        ("$a.n() > 1", 5, "not `(`"),
        ("1 2", 3, "not `2`"),
        ("(" * 40 + "1" + ")" * 40, 34, "nested more than"),
        ("not " * 40 + "1", 133, "nested more than"),
        ("1" * 5000, 4096, "longer than"),
        ("01 == 1", 1, "cannot read"),
    ],
)
def test_a_slip_is_told_with_its_column(text, column, said):
    with pytest.raises(BadCondition) as caught:
        condition(text)

    assert (caught.value.column, said in caught.value.message) == (column, True), caught.value.message


@pytest.mark.parametrize(
    "text", ["$a.t > 1", "$a.l < 1", "$a.yes < 2", "1 in $a.n", "1 in $a.t", "$a.none == 1", "$b == 1", "1 in $a.o"]
)
def test_what_cannot_be_compared_or_found_is_an_error_and_not_false(text):
    with pytest.raises(Unresolved):
        condition(text).holds(SCOPE)


def test_references_are_told_in_order():
    found = condition("$b.x == 1 and ('k' in $a or not $c.0)")

    assert [each.text for each in found.references] == ["$b.x", "$a", "$c.0"]


WORDS = st.sampled_from(["$a.n", "$a.l", "1", "'t'", "and", "or", "not", "in", "==", "<", "(", ")", "null", "$", "."])


@settings(max_examples=100, database=None)
@given(st.lists(WORDS, max_size=12))
def test_any_row_of_words_is_read_or_refused(words):
    text = " ".join(words)
    refused = None
    try:
        held = condition(text).holds(SCOPE)
    except BadCondition as error:
        refused, held = error.column, False
    except Unresolved as error:
        refused, held = len(error.message), False

    assert held in (True, False)
    assert refused is None or refused >= 1
