"""What keeps weights small beside weight decay: the L1 penalty and max-norm; and what penalties add to the loss."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from gradlab.nn.regularisation import l1_penalty, l2_penalty, max_norm_factors
from gradlab.training.optimizers import Parameters
from gradlab.training.plan import Plan


def penalty(model: nn.Module, plan: Plan) -> Tensor:
    r"""What the plan's penalties add to the mean loss of a batch, which is logged without them.

    $$ \tfrac{\lambda}{2} \lVert w \rVert_2^2 + \lambda_1 \lVert w \rVert_1 $$

    over all weights w; biases and normalisation gains are left out unless `decay_all`. The decoupled decay of adamw,
    lion and muon is counted as the penalty that it would be in plain gradient descent.

    >>> model = nn.Linear(2, 1)
    >>> _ = nn.init.constant_(model.weight, -3.0)
    >>> round(penalty(model, Plan(weight_decay=0.1, l1=0.01)).item(), 4)  # 0.1 / 2 · 18 + 0.01 · 6
    0.96
    """
    parameters = Parameters(model, plan.weight_decay, plan.decay_all)
    weights = [p for p, penalised in zip(parameters.tensors, parameters.penalised, strict=True) if penalised]
    terms = [l2_penalty(w, plan.weight_decay) + l1_penalty(w, plan.l1) for w in weights]
    return torch.stack(terms).sum() if terms else torch.zeros(())


def add_l1(gradients: Sequence[Tensor | None], parameters: Parameters, strength: float) -> list[Tensor | None]:
    """g + λ sign(w), the gradient with that of the L1 penalty; at w = 0, where it has none, nothing is added.

    A weight that no loss reaches is not penalised either. The sums are new tensors, since autograd may give several
    parameters the same one as their gradient.
    """
    return [
        torch.add(g, w.detach().sign(), alpha=strength) if penalised and g is not None else g
        for g, w, penalised in zip(gradients, parameters.tensors, parameters.penalised, strict=True)
    ]


def limit_rows(weights: Sequence[Tensor], longest: float, skip: Tensor | None = None) -> None:
    """Max-norm in place: w ← w min(1, c / ‖w‖) for the weights w into each unit. Nothing where `skip` is 1."""
    for weight in weights:
        factors = max_norm_factors(weight, longest)
        weight.mul_(factors if skip is None else torch.maximum(factors, skip))
