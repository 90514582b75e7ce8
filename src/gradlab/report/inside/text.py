"""A text as a language model reads it: every token coloured by how surprised it was."""

from typing import Any

from gradlab.markup import Html, fold, quiet, section, table, tag
from gradlab.probes import Inspection, Token
from gradlab.probes.tables import expectations, visible
from gradlab.report.charts import SOFT, axis, bars, chart, charts, label, line
from gradlab.wording import number

_STRONGEST = 10.0  # bits that have the full colour: one of a thousand equally likely tokens
_NAMED = 64  # tokens of an axis that are all written


def section_of(seen: Inspection) -> Html:
    """Nothing for a model that reads no text."""
    tokens = seen.tokens
    if not tokens:
        return Html()
    bits = [token.bits for token in tokens if token.bits is not None]
    mean = f"On average {number(sum(bits) / len(bits))} bits a token. " if bits else ""
    words = (
        f"{mean}The stronger the colour, the less the model expected the token; point at one to see what it expected."
    )
    # Tokens of several characters need a gap to be seen apart.
    apart = {"class_": "apart"} if any(len(token.text) > 1 for token in tokens) else {}
    text = tag("div", *(_span(token, apart) for token in tokens), class_="text")
    legend = tag("p", "0 bits", tag("span", class_="scale"), f"{_STRONGEST:g} bits or more", class_="quiet")
    after = tag("p", tag("b", "After the last token it expects "), expectations(seen.following, 5))
    rows = [
        [visible(token.text), number(token.bits), number(token.entropy), expectations(token.expected, 5)]
        for token in tokens
    ]
    rows.append(["…", "", "", expectations(seen.following, 5)])
    heads = ["token", "bits", "expected bits", "what was expected there, most probable first"]
    return section(
        "Surprise",
        quiet(words),
        tag("figure", text, legend, after),
        charts(_bits(tokens)) if len(tokens) > 1 else "",
        fold("Token by token", table(heads, rows)),
    )


def _span(token: Token, attributes: dict[str, str]) -> Html:
    share = min(1.0, (token.bits or 0.0) / _STRONGEST)
    expected = expectations(token.expected, 5)
    title = "the first token" if token.bits is None else f"{token.bits:.2f} bits; expected {expected}"
    return tag("span", token.text.replace("\n", "↵\n"), title=title, style=f"--share: {share:.3f}", **attributes)


def _bits(tokens: list[Token]) -> Html:
    places = places_of([token.text for token in tokens])
    expected = [label(expectations(token.expected)) for token in tokens]
    hover = "%{x}: %{y:.2f} bits<br>expected %{customdata}<extra></extra>"
    surprise = bars(places, [token.bits for token in tokens], hover, name="surprise", customdata=expected)
    entropies = [token.entropy for token in tokens]
    style = {"color": SOFT, "width": 1.5, "shape": "hmid"}
    name, hover = "expected surprise (entropy)", "%{y:.2f} bits expected<extra></extra>"
    traces = [surprise, line(name, places, entropies, SOFT, hover, line=style)]
    note = "Where the bars stay below the line, the model did better than it expected to."
    return chart("Bits of each token", traces, note, xaxis=token_axis(places), yaxis=axis("bits"), bargap=0.15)


def places_of(texts: list[str]) -> list[str]:
    """Names of the places of a text, all different: the place and the token that stands there."""
    return [label(f"{i} {visible(text)}") for i, text in enumerate(texts)]


def token_axis(places: list[str], title: str = "", **options: Any) -> dict[str, Any]:
    """An axis of tokens, each written where there is room."""
    texts = [place.partition(" ")[2] for place in places]
    angle = -60 if any(len(text) > 1 for text in texts) else 0
    ticks = {"tickvals": places, "ticktext": texts, "tickangle": angle} if len(places) <= _NAMED else {"nticks": 16}
    return axis(title, **{"type": "category", "showgrid": False, "tickfont": {"size": 10}, **ticks, **options})
