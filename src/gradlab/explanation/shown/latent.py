"""Pictures of latent variables: bounds that close on the evidence."""

import torch
from torch.distributions import Distribution, MultivariateNormal

from gradlab.explanation.picture import Figure, shown
from gradlab.maths.latent import LinearGaussian, weighted_bound
from gradlab.report.charts import LOGARITHMIC, PALETTE, Trace, axis, level, line, ribbon

_REPEATS = 2000


@shown(
    "bounds-and-evidence",
    "elbo",
    "elbo-gap",
    "elbo-exp-example",
    "mc-marginal-likelihood",
    "importance-sampling",
    "maths.weighted_bound",
    "maths.elbo",
)
def bounds_and_evidence() -> Figure:
    """With more draws the bound closes on the evidence."""
    one = torch.ones(1, 1, dtype=torch.float64)
    model, x = LinearGaussian(one, one[0] * 0, 0.5), one[0] * 1.8
    generator = torch.Generator().manual_seed(0)
    proposals: dict[str, Distribution] = {
        "the prior": model.prior,
        "a guess beside the posterior": MultivariateNormal(one[0] * 1.0, 0.3 * one),
    }
    counts = [1, 2, 3, 5, 10, 20, 50, 100, 200]
    traces: list[Trace] = []
    for (name, q), color in zip(proposals.items(), PALETTE, strict=False):
        low, mean, high = [], [], []
        for count in counts:
            noise = torch.randn(count, _REPEATS, 1, generator=generator, dtype=torch.float64)
            z = q.mean + q.stddev * noise
            bound = weighted_bound(model, x, z, q)
            ends = bound.quantile(torch.tensor([0.1, 0.9], dtype=torch.float64))
            low.append(ends[0].item())
            high.append(ends[1].item())
            mean.append(bound.mean().item())
        traces.append(ribbon(f"eight of ten, {name}", counts, low, high, color))
        hover = "K = %{x}: %{y:.3f}<extra></extra>"
        traces.append(line(f"mean bound, draws of {name}", counts, mean, color, hover, 3))
    for trace in traces[::2]:
        trace["showlegend"] = False
    evidence = model.evidence(x).item()
    tick = {"text": f"log p(x) = {evidence:.3f}", "x": 1, "xref": "paper", "y": evidence + 0.35, "showarrow": False}
    return Figure(
        traces,
        "z is standard normal, x is z with noise, and log p(x) is known (dotted). One draw is the ELBO; the mean of K "
        "weights is p(x) on average, and its logarithm too low, by ever less. Draws of the prior seldom explain x, and "
        f"need many more. The bands hold eight of ten of {_REPEATS:,} repetitions.",
        {
            "xaxis": axis("draws K", **LOGARITHMIC, tickvals=counts, ticktext=[str(k) for k in counts]),
            "yaxis": axis("bound in nats", range=[-9.5, evidence + 1.6]),
            "shapes": [level(evidence)],
            "annotations": [{**tick, "xanchor": "right", "yanchor": "bottom"}],
        },
    )
