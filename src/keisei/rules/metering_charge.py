"""Charges: what an answer counts against an allowance, and when that is used up. Pure."""

import re
from collections.abc import Mapping

from msgspec.structs import astuple

from keisei.records.relay import Allowance, Charge, Price, Tokens

BYTES_A_TOKEN = 4
"""What an estimate takes a token for."""
DATED = re.compile(r"(?:-\d{4}-?\d{2}-?\d{2}|-latest|[@:].*)\Z")
"""How a provider's name of a model goes on after the name it is known by."""


def charged(told: Tokens, model: str | None, allowance: Allowance) -> Charge:
    """What counts against the allowance. A model without a price is charged with the dearest there is."""
    price = price_of(model, allowance.prices) or _dearest(allowance.prices)
    tokens = sum(each or 0 for each in astuple(told))
    return Charge(tokens=tokens, cost_usd=_cost(told, price) if price else 0.0)


def cost(told: Tokens, model: str | None, prices: Mapping[str, Price]) -> float | None:
    """What it cost in US dollars; None where the model has no price, or its input or output is not known."""
    price = price_of(model, prices)
    return None if price is None or told.input is None or told.output is None else _cost(told, price)


def price_of(model: str | None, prices: Mapping[str, Price]) -> Price | None:
    """The price of a model by its name, or by its name without the date or tag that providers put behind it."""
    if model is None:
        return None
    return prices.get(model) or prices.get(DATED.sub("", model))


def filled(told: Tokens, *, asked: int, said: int, final: bool) -> Tokens:
    """What was told, with an estimate from the bytes asked and said where it was not.

    Before the end of a stream the told output is that of its beginning, so the estimate counts where it is more.
    """
    output = told.output or 0
    return Tokens(
        input=-(-asked // BYTES_A_TOKEN) if told.input is None else told.input,
        output=output if final else max(output, -(-said // BYTES_A_TOKEN)),
        cache_read=told.cache_read,
        cache_write=told.cache_write,
    )


def spent(charge: Charge, allowance: Allowance) -> str | None:
    """Which limit of the allowance is reached, in words; None where none is."""
    if allowance.max_tokens is not None and charge.tokens >= allowance.max_tokens:
        return f"the budget of {allowance.max_tokens} tokens is used up"
    if allowance.max_cost_usd is not None and allowance.prices and charge.cost_usd >= allowance.max_cost_usd:
        return f"the budget of {allowance.max_cost_usd:.10g} USD is used up"
    return None


def _cost(told: Tokens, price: Price) -> float:
    read = price.input if price.cache_read is None else price.cache_read
    written = price.input if price.cache_write is None else price.cache_write
    parts = (
        (told.input, price.input),
        (told.output, price.output),
        (told.cache_read, read),
        (told.cache_write, written),
    )
    return sum((count or 0) * each for count, each in parts) / 1_000_000


def _dearest(prices: Mapping[str, Price]) -> Price | None:
    known = prices.values()
    if not known:
        return None
    return Price(
        input=max(each.input for each in known),
        output=max(each.output for each in known),
        cache_read=max(each.input if each.cache_read is None else each.cache_read for each in known),
        cache_write=max(each.input if each.cache_write is None else each.cache_write for each in known),
    )
