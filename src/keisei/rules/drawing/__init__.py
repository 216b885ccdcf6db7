"""Parts of the graph, drawn: as files for other programs, as text for pages, and as a picture."""

from keisei.records.sage import Picture, PictureForm
from keisei.rules.drawing.dot import dot
from keisei.rules.drawing.graphml import graphml
from keisei.rules.drawing.legible import legible
from keisei.rules.drawing.mermaid import allowed, mermaid
from keisei.rules.drawing.node_link import node_link
from keisei.rules.drawing.svg import svg

__all__ = ["drawn", "kept"]


def drawn(picture: Picture, form: PictureForm) -> str:
    """The picture in that form, ending with a line's end. UTF-8 can hold it, whatever ids and titles are made of."""
    forms = {"graphml": graphml, "dot": dot, "mermaid": mermaid, "json": node_link, "svg": svg}
    return forms[form](legible(picture))


def kept(picture: Picture, form: PictureForm) -> Picture:
    """The part of the picture that the form holds, with ids as they are written; `left_out` tells of all the rest.

    Drawn, it is the same text. Only Mermaid holds less than everything.
    """
    clean = legible(picture)
    return allowed(clean) if form == "mermaid" else clean
