"""kei-json::patch."""

from kei_json.context import Context, Data
from kei_json.operation import Patching


def run(given: Data, context: Context) -> Data:
    """The document with every operation done. Raises what its page declares, naming the operation."""
    numbered = Numbered(context)
    patching = Patching(numbered, given["document"])
    for number, operation in enumerate(given["patch"], start=1):
        numbered.number = number
        patching.apply(operation)
    return {"document": patching.document}


class Numbered:
    """A context whose errors say which operation they are about."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.number = 0

    def error(self, code: str, message: str) -> Exception:
        """A declared error, to be raised."""
        where = f"operation {self.number}: " if self.number else ""
        return self._context.error(code, where + message)
