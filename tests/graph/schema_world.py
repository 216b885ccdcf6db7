"""Small schemas that often fit one another."""

from hypothesis import strategies as st

KINDS = [{"type": "string"}, {"type": "string", "maxLength": 5}, {"type": "integer"}, {"enum": ["a", 1]}, True]


@st.composite
def objects(draw, names="abc"):
    """A schema of an object with a few fields."""
    fields = draw(st.dictionaries(st.sampled_from(names), st.sampled_from(KINDS), max_size=3))
    required = [name for name in fields if draw(st.booleans())]
    made = {"type": "object", "properties": fields, "required": required}
    if draw(st.booleans()):
        made["additionalProperties"] = False
    return made


@st.composite
def wrapped(draw):
    """The same behind a reference, in branches, or with words for people."""
    made = draw(objects())
    return draw(
        st.sampled_from(
            [
                made,
                {**made, "title": "a title", "examples": [{}], "$id": "https://example.org/a"},
                {"$ref": "#/definitions/it", "definitions": {"it": made}},
                {"anyOf": [made, {"type": "object", "properties": {"a": True}, "required": ["a"]}]},
                {"allOf": [made, {"required": ["b"]}]},
                {"type": "array", "items": made},
            ]
        )
    )


schemas = objects() | wrapped()
