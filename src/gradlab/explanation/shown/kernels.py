"""Pictures of kernels: regression by neighbours, and kernels by random features."""

from math import sqrt

import numpy as np
import torch
from torch import Tensor

from gradlab.explanation.picture import Figure, shown
from gradlab.maths.kernel_regression import best_width, leave_one_out_error, nadaraya_watson
from gradlab.maths.random_features import feature_error
from gradlab.nn.attention import CoshFeatures, FourierFeatures, PerformerAttention, PositiveFeatures, ScaledDotAttention
from gradlab.nn.attention.linear import Form
from gradlab.report.charts import INK, LOGARITHMIC, PALETTE, SOFT, axis, dots, line, log_scale

_DRAWS = 40
COUNTS = [4, 8, 16, 32, 64, 128, 256, 512, 1024]


@shown("nadaraya-watson", "maths.nadaraya_watson", "maths.leave_one_out_error", "attention.gaussian")
def three_widths() -> Figure:
    """Nadaraya and Watson's regression."""
    draw = torch.Generator().manual_seed(1)
    x = torch.rand(60, 1, generator=draw, dtype=torch.float64) * 5
    y = 2 * x[:, 0].sin() + x[:, 0] ** 0.8 + 0.6 * torch.randn(60, generator=draw, dtype=torch.float64)
    queries = torch.linspace(0, 5, 301, dtype=torch.float64)[:, None]
    hover = "x = %{x:.2f}: %{y:.2f}<extra></extra>"
    q = queries[:, 0]
    truth = line("without noise", q, 2 * q.sin() + q**0.8, SOFT, hover, 2)
    truth["line"] = {**truth["line"], "dash": "dot"}
    traces = [dots("examples", x[:, 0], y, INK, hover, opacity=0.55), truth]
    best = best_width(x, y)
    for color, width in zip(PALETTE[1:], (best / 8, best, best * 6), strict=False):
        error = float(leave_one_out_error(x, y, "gaussian", width))
        curve = nadaraya_watson(queries, x, y, "gaussian", width)
        chosen = width == best
        name = f"width {width:.2g}{' (chosen)' if chosen else ''}: error {sqrt(error):.2f}"
        traces.append(line(name, q, curve, color, hover, 3 if chosen else 2))
    note = (
        "Each curve is a mean of the examples, weighted by a bell curve around the place that is asked for. Narrow, it "
        "follows the noise; wide, it is nearly the mean of all. The error is that of predicting each example by all "
        "the others, and the width that was chosen has the least of 40 that were tried."
    )
    return Figure(traces, note, {"xaxis": axis("x"), "yaxis": axis("y")})


def _with_root(name: str, measured: Tensor, color: str) -> list[dict[str, object]]:
    """Measured errors, and the law 1/√m through the last."""
    hover = "%{x} features: %{y:.3g}<extra></extra>"
    marks = dots(name, COUNTS, measured, color, hover, size=9)
    law = float(measured[-1]) * np.sqrt(COUNTS[-1] / np.array(COUNTS))
    through = line("", COUNTS, law, color, "", 1.5, showlegend=False, hoverinfo="skip")
    return [marks, through]


def _log_log(errors: list[Tensor], down: str) -> dict[str, object]:
    return {
        "xaxis": axis("number of random directions m", **LOGARITHMIC, tickvals=COUNTS, ticktext=list(map(str, COUNTS))),
        "yaxis": axis(down, **log_scale(torch.cat(errors).tolist())),
    }


@shown("random-features-error", "random-features-rbf", "maths.feature_error", "feature.fourier")
def error_by_number_of_features() -> Figure:
    """Random features against their number."""
    gamma, draw = 0.5, torch.Generator().manual_seed(0)
    x = torch.randn(20, 3, generator=draw, dtype=torch.float64)
    x = 0.8 * x / x.norm(dim=1, keepdim=True)

    def gaussian(x: Tensor, y: Tensor) -> Tensor:
        return (-gamma * torch.cdist(x, y).square()).exp()

    kinds = {
        "waves (Rahimi & Recht)": feature_error(
            lambda m: FourierFeatures(3, m, gamma), gaussian, x, x, COUNTS, draws=_DRAWS
        ),
        "waves at right angles": feature_error(
            lambda m: FourierFeatures(3, m, gamma, orthogonal=True), gaussian, x, x, COUNTS, draws=_DRAWS
        ),
        "positive exponentials": _by_exponentials(PositiveFeatures, x, gamma),
        "exponentials of both signs": _by_exponentials(CoshFeatures, x, gamma),
    }
    traces = [
        trace
        for color, (name, errors) in zip(PALETTE, kinds.items(), strict=False)
        for trace in _with_root(name, errors, color)
    ]
    note = (
        "The root mean square error of the Gaussian kernel exp(−½‖x − y‖²) among 20 points at distance 0.8 from the "
        "origin, over 40 draws of the directions. The lines are 1/√m through the last mark: to halve the error takes "
        "four times as many. All estimate the same kernel; how much one direction varies is what differs."
    )
    return Figure(traces, note, _log_log(list(kinds.values()), "error of the kernel"))


def _by_exponentials(features: type[PositiveFeatures], x: Tensor, gamma: float) -> Tensor:
    """exp(-γ‖x - y‖²) = exp(-γ‖x‖² - γ‖y‖²) exp(2γ xᵀy), of points that are all equally long."""
    scaled, factor = sqrt(2 * gamma) * x, float((-2 * gamma * x[0].square().sum()).exp())

    def exponential(x: Tensor, y: Tensor) -> Tensor:
        return (x @ y.mT).exp()

    return factor * feature_error(lambda m: features(x.shape[1], m), exponential, scaled, scaled, COUNTS, draws=_DRAWS)


@shown("performer-error", "performer-identity", "performer-cosh", "attention.performer", "feature.cosh")
def performer_against_exact_attention() -> Figure:
    """The Performer against exact attention."""
    draw = torch.Generator().manual_seed(1)
    tokens, dim, draws = 64, 8, 20
    q, k, v = torch.randn(3, tokens, dim, generator=draw, dtype=torch.float64)
    forms: dict[str, Form] = {"exponentials": "positive", "both signs": "cosh"}
    traces, all_errors = [], []
    for dash, length, words in (("solid", 0.5, "short vectors"), ("dot", 1.0, "long vectors")):
        exact = ScaledDotAttention()(length * q, length * k, v)
        for color, (name, form) in zip(PALETTE, forms.items(), strict=False):
            errors = _performer_errors(form, length * q, length * k, v, exact, draws)
            all_errors.append(errors)
            trace = line(f"{words}, {name}", COUNTS, errors, color, "%{x} directions: %{y:.3g}<extra></extra>")
            traces.append({**trace, "mode": "lines+markers", "line": {"color": color, "width": 2, "dash": dash}})
    root = float(all_errors[0][-1]) * np.sqrt(COUNTS[-1] / np.array(COUNTS))
    law = line("1/√m", COUNTS, root, SOFT, "", 1.5, hoverinfo="skip")
    note = (
        f"How far the Performer's answers are from those of exact attention, relative to their size: {tokens} tokens, "
        f"queries and keys of {dim} entries with the standard deviation ½ or 1, {draws} draws each. For short vectors "
        "the error falls as 1/√m; for long ones a direction varies exponentially more, and many more are needed."
    )
    return Figure([*traces, law], note, _log_log(all_errors, "relative error"))


@torch.no_grad()
def _performer_errors(form: Form, q: Tensor, k: Tensor, v: Tensor, exact: Tensor, draws: int) -> Tensor:
    errors = []
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        for count in COUNTS:
            performers = [PerformerAttention(q.shape[-1], count, form=form).double() for _ in range(draws)]
            apart = torch.stack([performer(q, k, v) - exact for performer in performers])
            errors.append(apart.square().mean().sqrt() / exact.square().mean().sqrt())
    return torch.stack(errors)
