"""Languages: by name, by first line, and what is counted as a line."""

import pytest

from keisei.grammar.language import count_lines, language_of


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/a.py", "python"),
        ("a.PYI", "python"),
        ("a.rs", "rust"),
        ("a_test.go", "go"),
        ("a.test.jsx", "javascript"),
        ("a.d.ts", "typescript"),
        ("a.tsx", "tsx"),
        ("A.java", "java"),
        ("a.c", "c"),
        ("a.h", "cpp"),
        ("a.hpp", "cpp"),
        ("a.rb", "ruby"),
        ("Rakefile", "ruby"),
        ("py", None),
        (".py", None),
        ("a.py.txt", None),
        ("a.kt", None),
        ("dir.py/a", None),
        ("", None),
    ],
)
def test_a_name_tells_the_language(path, language):
    assert language_of(path, b"") == language


@pytest.mark.parametrize(
    ("line", "language"),
    [
        (b"#!/usr/bin/python3\n", "python"),
        (b"#!/usr/bin/env python3.12\n", "python"),
        (b"#!/usr/bin/env -S python3 -u\n", "python"),
        (b"#! /opt/x/bin/ruby\n", "ruby"),
        (b"#!/usr/bin/env node\n", "javascript"),
        (b"#!/usr/bin/env -S deno run\n", "typescript"),
        (b"#!/bin/sh\n", None),
        (b"#!", None),
        (b"\n#!/usr/bin/python3\n", None),
        (b"", None),
    ],
)
def test_the_first_line_tells_the_language_of_a_file_without_a_suffix(line, language):
    assert language_of("bin/run", line) == language
    assert language_of("bin/run.txt", line) is None


@pytest.mark.parametrize(
    ("data", "lines"),
    [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n\n", 2), (b"a\r\nb\r\n", 2), (b"a\rb\r", 2), (b"a\r\r\n", 2)],
)
def test_lines_are_counted_whatever_ends_them(data, lines):
    assert count_lines(data) == lines
