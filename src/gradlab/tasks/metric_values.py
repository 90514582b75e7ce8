"""What a metric of your own may return, as a sum and a count: divided once, over a whole split."""

from numbers import Real
from typing import Any

import torch
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.tasks.objective import Loss, in_words, is_pair


def sum_and_count(name: str, value: Any, examples: int) -> Loss:
    """From (sum, count), a number for each example, or the mean over a batch of this many examples.

    >>> sum_and_count("hits", torch.tensor([True, False, True]), 3), sum_and_count("hits", 0.5, 4)
    ((tensor(2., dtype=torch.float64), 3), (tensor(2., dtype=torch.float64), 4))
    """
    if is_pair(value):
        return value  # type: ignore[no-any-return]
    if isinstance(value, Real):
        value = torch.tensor(float(value), dtype=torch.float64)
    if isinstance(value, Tensor) and value.ndim < 2 and not value.is_complex():
        value = value.detach().double()
        return (value.sum(), len(value)) if value.ndim else (value * examples, examples)
    raise GradlabError(
        f"The metric {name!r} must return its mean over the batch, a number for each example as a tensor with one "
        f"axis, or (sum, count). It returned {in_words(value)}."
    )
