"""A policy in a grid world: what each cell is worth, and where it goes from there."""

from typing import TYPE_CHECKING

import torch

from gradlab.environments.grid import MOVES, Grid, GridEnvironments
from gradlab.markup import Html
from gradlab.report.charts import HEAT, TINT, axis, chart, heatmap
from gradlab.tasks.evaluation import in_evaluation

if TYPE_CHECKING:
    from gradlab.run import Run


def grid_figures(run: "Run") -> list[Html]:
    """The map with values and arrows; nothing of other environments."""
    copy = run.dataset.test.open(1)
    if not isinstance(copy, GridEnvironments):
        return []
    states = torch.arange(copy.process.states)
    with in_evaluation(run.model):
        values, actions = run.model.value(states), run.model.act(states)  # type: ignore[operator]
    signs = list(MOVES)
    arrows = [signs[action] for action in actions.tolist()]
    worth = [0.0] * len(arrows) if values is None else values.tolist()
    return [_map(copy.grid, arrows, worth, valued=values is not None)]


def _map(grid: Grid, arrows: list[str], worth: list[float], valued: bool) -> Html:
    values: list[list[float | None]] = [[None] * grid.width for _ in range(grid.height)]
    texts = [["#" for _ in range(grid.width)] for _ in range(grid.height)]
    for cell, arrow, value in zip(grid.cells, arrows, worth, strict=True):
        y, x = cell
        sign = grid.sign(cell)
        over = sign in "GX"  # nothing comes after it, so that nothing was learned of it
        values[y][x] = None if over else value
        worded = f"<br>{value:.2f}" if valued and not over else ""
        texts[y][x] = f"{sign if over else arrow}{' ' + sign if sign == 'S' else ''}{worded}"
    heat = heatmap(
        values,
        [(0, TINT), (1, HEAT)],
        "row %{y}, column %{x}: %{z:.4~g}<extra></extra>",
        text=texts,
        texttemplate="%{text}",
        textfont={"size": 14},
        xgap=2,
        ygap=2,
    )
    ticks = {"showgrid": False, "dtick": 1}
    note = "What each cell is worth, and the greedy action in it. S is the start, G the goal, X a pit, # a wall."
    return chart(
        "Policy",
        [heat],
        note if valued else "The greedy action in each cell.",
        height=min(620, 140 + 60 * grid.height),
        xaxis=axis("column", **ticks),
        yaxis=axis("row", autorange="reversed", **ticks),
    )
