"""Permission: who may order something."""

from starlette.exceptions import HTTPException
from starlette.requests import Request

from keisei.console.premises import Premises
from keisei.console.visitor import Role, Visitor


def allowed(request: Request, needs: Role) -> Visitor:
    """Whoever asks, where they may do what needs this role. Raises HTTPException."""
    visitor: Visitor = request.state.visitor
    premises: Premises = request.app.state.premises
    if needs == "operator" and premises.read_only:
        raise HTTPException(403, "this console is read-only")
    if needs == "operator" and visitor.role != "operator":
        raise HTTPException(403, "viewers look and do not order; ask for an operator's link")
    return visitor
