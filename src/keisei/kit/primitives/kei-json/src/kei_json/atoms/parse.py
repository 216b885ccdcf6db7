"""kei-json::parse."""

from kei_json.context import Context, Data
from kei_json.notation import csv_rows, json_lines, json_value, toml_value
from kei_json.value import Json, sized
from kei_json.yaml_text import yaml_value


def run(given: Data, context: Context) -> Data:
    """What a text says, as JSON. Raises Malformed, NotJson, TooDeep, TooLarge."""
    sized(context, given["text"])
    value = _value(context, given["format"], given["text"].removeprefix("\ufeff"), given.get("delimiter", ","))
    sized(context, value)
    return {"value": value}


def _value(context: Context, notation: str, text: str, delimiter: str) -> Json:
    if notation == "csv":
        return csv_rows(context, text, delimiter)
    readers = {"json": json_value, "jsonl": json_lines, "toml": toml_value, "yaml": yaml_value}
    return readers[notation](context, text)
