"""A text as a language model reads it: every token coloured by how surprised it was."""

from typing import TYPE_CHECKING, Any

from gradlab.probes import Token
from gradlab.report.charts import ACCENT, SOFT, axis, chart, charts, label
from gradlab.report.markup import Html, fold, section, table, tag
from gradlab.report.probing.tables import foretold, visible
from gradlab.wording import number

if TYPE_CHECKING:
    from gradlab.report.probing.probe import Probe

_STRONGEST = 10.0  # bits that have the full colour: one of a thousand equally likely tokens

_NAMED = 64  # tokens of an axis that are all written


def section_of(probe: "Probe") -> Html:
    """Nothing for a model that reads no text."""
    if not probe.tokens:
        return Html()
    bits = [token.bits for token in probe.tokens if token.bits is not None]
    mean = f"On average {number(sum(bits) / len(bits))} bits a token. " if bits else ""
    legend = tag("p", "0 bits", tag("span", class_="scale"), f"{_STRONGEST:g} bits or more", class_="quiet")
    # Tokens of several characters need a gap to be seen apart.
    apart = any(len(token.text) > 1 for token in probe.tokens)
    spans = (_span(token, apart) for token in probe.tokens)
    rows = [
        [visible(token.text), number(token.bits), number(token.entropy), foretold(token.expected, 5)]
        for token in probe.tokens
    ]
    rows.append(["…", "", "", foretold(probe.following, 5)])
    heads = ["token", "bits", "expected bits", "what was expected there, most probable first"]
    words = (
        f"{mean}The stronger the colour, the less the model expected the token; point at one to see what it expected."
    )
    after = tag("p", tag("b", "After the last token it expects "), foretold(probe.following, 5))
    drawn = tag("figure", tag("div", *spans, class_="text"), legend, after)
    return section(
        "Surprise",
        tag("p", words, class_="quiet"),
        drawn,
        charts(_over_time(probe.tokens)) if len(probe.tokens) > 1 else "",
        fold("Token by token", table(heads, rows)),
    )


def _span(token: Token, apart: bool) -> Html:
    share = min(1.0, (token.bits or 0.0) / _STRONGEST)
    told = "the first token" if token.bits is None else f"{token.bits:.2f} bits; expected {foretold(token.expected, 5)}"
    shown = token.text.replace("\n", "↵\n")
    return tag("span", shown, title=told, style=f"--share: {share:.3f}", **({"class_": "apart"} if apart else {}))


def _over_time(tokens: list[Token]) -> Html:
    places = places_of([token.text for token in tokens])
    traces = [
        {
            "name": "surprise",
            "type": "bar",
            "x": places,
            "y": [token.bits for token in tokens],
            "marker": {"color": ACCENT},
            "customdata": [label(foretold(token.expected)) for token in tokens],
            "hovertemplate": "%{x}: %{y:.2f} bits<br>expected %{customdata}<extra></extra>",
        },
        {
            "name": "expected surprise (entropy)",
            "x": places,
            "y": [token.entropy for token in tokens],
            "mode": "lines",
            "line": {"color": SOFT, "width": 1.5, "shape": "hmid"},
            "hovertemplate": "%{y:.2f} bits expected<extra></extra>",
        },
    ]
    note = "Where the bars stay below the line, the model did better than it expected to."
    return chart("Bits of each token", traces, note, xaxis=token_axis(places), yaxis=axis("bits"), bargap=0.15)


def places_of(texts: list[str]) -> list[str]:
    """Names of the places of a text, all different: the place and the token that stands there."""
    return [label(f"{i} {visible(text)}") for i, text in enumerate(texts)]


def token_axis(places: list[str], title: str = "", **options: Any) -> dict[str, Any]:
    """An axis of tokens, each written where there is room."""
    told = [place.partition(" ")[2] for place in places]
    angle = -60 if any(len(text) > 1 for text in told) else 0
    ticks = {"tickvals": places, "ticktext": told, "tickangle": angle} if len(places) <= _NAMED else {"nticks": 16}
    return axis(title, **{"type": "category", "showgrid": False, "tickfont": {"size": 10}, **ticks, **options})
