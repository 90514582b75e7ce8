"""How a policy plays: the returns of episodes that were not trained on, and what it thinks of states."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gradlab.markup import Html, quiet, section
from gradlab.report.charts import HEAT, TINT, axis, chart, charts, heatmap, histogram
from gradlab.report.grid_world import grid_figures
from gradlab.specs import Environment, Table
from gradlab.tasks.evaluation import in_evaluation
from gradlab.tasks.playing.play import played
from gradlab.wording import counted, number

if TYPE_CHECKING:
    from gradlab.run import Run

_GRID = 60  # values along each axis


def playing_section(run: "Run") -> Html:
    """Returns of the test episodes and, where a state is two numbers, its value."""
    episodes, seen = run.dataset.test, list[Any]()
    with in_evaluation(run.model):
        returns, lengths = played(run.model, episodes, seen)
    random = run.finished["baselines"]["test"]["random actions"]["return"]
    note = f"Random actions earn {number(random)} on average."
    figures = [
        histogram("Returns", returns, note, xaxis=axis("sum of rewards"), yaxis=axis("episodes")),
        histogram("Lengths of episodes", lengths, "", xaxis=axis("steps"), yaxis=axis("episodes")),
        *_values(run, np.concatenate(seen)),
        *grid_figures(run),
    ]
    words = f"{counted(len(episodes), 'episode')} from seeds that the training never had, played by greedy actions."
    return section("Playing", quiet(words), charts(*figures))


def _values(run: "Run", seen: Any) -> list[Html]:
    """Over the part of the plane that was visited."""
    spec = run.preprocessing.spec
    if not isinstance(spec, Environment) or spec.observation != Table(2):
        return []
    low, high = seen.min(0), seen.max(0)
    across, up = (np.linspace(low[i], high[i], _GRID) for i in range(2))
    states = np.stack(np.meshgrid(across, up), -1).reshape(-1, 2).astype(np.float32)
    with in_evaluation(run.model):
        values = run.model.value(torch.from_numpy(states))  # type: ignore[operator]
    heat = heatmap(
        values.reshape(_GRID, _GRID).numpy(),
        [(0, TINT), (1, HEAT)],
        "%{x:.3~g}, %{y:.3~g}: %{z:.4~g}<extra></extra>",
        x=across,
        y=up,
    )
    note = f"From {number(float(values.min()))} (light) to {number(float(values.max()))} (dark), where it has been."
    return [chart("Value of a state", [heat], note, xaxis=axis("observation 0"), yaxis=axis("observation 1"))]
