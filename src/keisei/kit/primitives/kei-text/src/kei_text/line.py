"""Lines: what ends at a line feed, and nothing else. A carriage return before it is part of the line."""

from kei_text.context import Context

MOST_CHARACTERS = 2_500_000
"""Characters of a result. JSON writes some of them in six bytes, and an answer has 16 MiB."""


def lines_of(text: str) -> list[str]:
    """The lines with their ends; only the last one may have none. Unicode's own separators end no line."""
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def unended(line: str) -> str:
    """The line without its end; a carriage return that no line feed follows is no end."""
    return line[:-2] if line.endswith("\r\n") else line.removesuffix("\n")


def check_texts(context: Context, *texts: str) -> None:
    """Raise NotText for half a surrogate pair, which no encoding can carry."""
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise context.error("NotText", f"character {error.start} is half a surrogate pair") from error


def check_size(context: Context, characters: int) -> None:
    """Raise TooLarge where a result would have more characters than an answer holds."""
    if characters > MOST_CHARACTERS:
        raise context.error("TooLarge", f"the result would have more than {MOST_CHARACTERS} characters")
