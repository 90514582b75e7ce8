"""What the known filters do to a picture."""

from typing import Any

import torch
from torch import Tensor

from gradlab.explanation.picture import Figure, shown
from gradlab.nn.filters import GaussianBlur, MeanBlur, Sharpen, Sobel
from gradlab.report.charts import INK, heatmap

_SIZE = 48
_GREYS = [(0.0, "#000000"), (1.0, "#ffffff")]
_COLUMNS, _ROWS = 3, 2


@shown("filters", "mean-blur", "gaussian-blur", "sharpen-kernel", "edge-kernels", "opencv-filter")
def filters() -> Figure:
    """A small picture after each of the known filters: blurred, sharpened, and its edges."""
    picture = _picture()
    panels = {
        "the picture": picture,
        "mean of 5 × 5": MeanBlur()(picture),
        "Gaussian of 5 × 5": GaussianBlur()(picture),
        "sharpened": Sharpen()(picture).clamp(0, 1),
        "Sobel x: upright edges": Sobel("x")(picture).abs(),
        "Sobel y: level edges": Sobel("y")(picture).abs(),
    }
    traces, layout = [], dict[str, Any]()
    for i, (name, panel) in enumerate(panels.items()):
        number, (row, column) = str(i + 1) if i else "", divmod(i, _COLUMNS)
        across = [column / _COLUMNS + 0.01, (column + 1) / _COLUMNS - 0.01]
        down = [1 - (row + 1) / _ROWS + 0.01, 1 - row / _ROWS - 0.08]
        bare = {"visible": False, "fixedrange": True}
        layout[f"xaxis{number}"] = {**bare, "domain": across, "anchor": f"y{number}"}
        square = {"scaleanchor": f"x{number}", "autorange": "reversed"}
        layout[f"yaxis{number}"] = {**bare, "domain": down, "anchor": f"x{number}", **square}
        title = {"text": name, "x": sum(across) / 2, "y": down[1], "xref": "paper", "yref": "paper"}
        layout.setdefault("annotations", []).append(
            {**title, "showarrow": False, "yanchor": "bottom", "xanchor": "center", "font": {"color": INK, "size": 13}}
        )
        hover = f"{name}: %{{z:.2f}}<extra></extra>"
        shades = {"zmin": 0.0, "zmax": float(panel.max()), "xaxis": f"x{number}", "yaxis": f"y{number}"}
        traces.append(heatmap(panel[0, 0], _GREYS, hover, **shades))
    return Figure(
        traces,
        "Blurs are means, and leave what is flat as it is; sharpening does the opposite at edges. Sobel's kernels, "
        "shown by their absolute values, answer to what changes from left to right, or from top to bottom.",
        {**layout, "showlegend": False, "height": 560},
    )


def _picture() -> Tensor:
    """A disc and a square on a shade that grows brighter, with a little noise."""
    y, x = torch.meshgrid(torch.arange(_SIZE), torch.arange(_SIZE), indexing="ij")
    shade = 0.15 + 0.25 * x / _SIZE
    disc, square = (x - 15) ** 2 + (y - 16) ** 2 < 100, ((x - 32).abs() < 9) & ((y - 31).abs() < 9)
    noise = 0.015 * torch.randn(_SIZE, _SIZE, generator=torch.Generator().manual_seed(0))
    drawn = torch.where(disc, 0.85, torch.where(square, 0.65, shade)) + noise
    return drawn.clamp(0, 1)[None, None]
