"""One module a verb; the page beside it says what it promises."""
