"""Operations (RFC 6902): a document changed step by step."""

from kei_json.context import Context, Data
from kei_json.pointer import found, index, keys_of, pointer
from kei_json.value import Json, Size, check_size, copied, same, shown, sized

NEEDED = {"add": "value", "replace": "value", "test": "value", "move": "from", "copy": "from"}
"""The member an operation needs beside its path."""


class Patching:
    """One document on its way. Whoever made it gets it back only when every operation has been done."""

    def __init__(self, context: Context, document: Json) -> None:
        self._context = context
        self._weight = sized(context, document).weight
        self.document = copied(document)

    def apply(self, operation: Data) -> None:
        """Do one operation. Raises BadOperation, BadPointer, TestFailed, NotJson, TooDeep, TooLarge."""
        name = operation["op"]
        needed = NEEDED.get(name)
        if needed is not None and needed not in operation:
            raise self._context.error("BadOperation", f"`{name}` needs `{needed}`")
        keys = keys_of(self._context, operation["path"])
        if name == "test":
            self._test(keys, operation["value"])
        elif name == "remove":
            self._remove(keys)
        elif name == "replace":
            found(self._context, self.document, keys)
            self._put(keys, self._new(keys, operation["value"]), over=True)
        else:
            self._put(keys, self._source(name, keys, operation), over=False)

    def _source(self, name: str, keys: list[str], operation: Data) -> Json:
        """What `add`, `copy` and `move` put somewhere."""
        if name == "add":
            return self._new(keys, operation["value"])
        source = keys_of(self._context, operation["from"])
        value = found(self._context, self.document, source)
        if name == "copy":
            return self._new(keys, value)
        if keys[: len(source)] == source and keys != source:
            raise self._context.error("BadOperation", f"{shown(pointer([*source]))} cannot be moved into itself")
        check_size(self._context, Size(0, len(keys) + sized(self._context, value).depth))
        if source:
            self._remove(source)
        return value

    def _new(self, keys: list[str], value: Json) -> Json:
        """A copy to put at the keys. What was copied again and again would grow without end: all of it counts."""
        size = sized(self._context, value)
        self._weight += size.weight + sum(map(len, keys[-1:]))
        check_size(self._context, Size(self._weight, len(keys) + size.depth))
        return copied(value)

    def _test(self, keys: list[str], value: Json) -> None:
        sized(self._context, value)
        if not same(found(self._context, self.document, keys), value):
            raise self._context.error("TestFailed", f"another value stands at {shown(pointer([*keys]))}")

    def _remove(self, keys: list[str]) -> None:
        if not keys:
            raise self._context.error("BadOperation", "the whole document cannot be removed")
        found(self._context, self.document, keys)
        holder = found(self._context, self.document, keys[:-1])
        del holder[int(keys[-1]) if isinstance(holder, list) else keys[-1]]

    def _put(self, keys: list[str], value: Json, *, over: bool) -> None:
        if not keys:
            self.document = value
            return
        holder, place = found(self._context, self.document, keys[:-1]), pointer([*keys])
        if isinstance(holder, dict):
            holder[keys[-1]] = value
        elif not isinstance(holder, list):
            raise self._context.error("BadPointer", f"{shown(place)} leads into a value that holds nothing")
        elif over:
            holder[int(keys[-1])] = value
        else:
            holder.insert(index(self._context, holder, keys[-1], place, behind=True), value)
