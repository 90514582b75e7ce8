"""Sliders below a chart, which show one part of it at a time."""

from collections.abc import Sequence
from typing import Any

from gradlab.report.charts import HEAT, INK, LINE, SOFT

WITH_SLIDER = {"t": 40, "b": 110, "l": 56, "r": 16}
"""The margins of a chart that has one."""
UNLABELLED = {"font": {"color": "rgba(0,0,0,0)"}}
"""For labels too long to stand beside each other: that of the moment is seen alone."""


def slider(prefix: str, labels: Sequence[str], groups: Sequence[int], at: int = 0, **options: Any) -> dict[str, Any]:
    """Shows one group of traces at a time: `groups` says which each trace is of, -1 for those that stay.

    >>> slider("T = ", ["1", "2"], [0, 1, -1])["steps"][1]["args"]
    ['visible', [False, True, True]]
    """
    steps = [
        {"label": label, "method": "restyle", "args": ["visible", [group in (i, -1) for group in groups]]}
        for i, label in enumerate(labels)
    ]
    place = {"y": 0, "yanchor": "top", "pad": {"t": 50}, "active": at}
    colors = {"bgcolor": HEAT, "activebgcolor": HEAT, "bordercolor": LINE, "tickcolor": LINE}
    current = {"prefix": prefix, "font": {"color": INK, "size": 13}}
    font = {"color": SOFT, "size": 10}
    return {"steps": steps, "currentvalue": current, **place, **colors, "font": font, **options}
