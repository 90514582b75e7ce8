"""The adding problem: two marked numbers of a long series."""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from gradlab.data.dataset import sources
from gradlab.data.generated import Size
from gradlab.data.memory import check_memory
from gradlab.data.raw import Raw


@sources.register("adding")
def adding(
    seed: int, *, examples: Size = 5000, length: Annotated[int, Ge(2), Le(10**6), "steps of a series"] = 50
) -> Raw:
    r"""Pairs of a number and a marker; the target is the sum of the two numbers that are marked.

    $$ x_t = (u_t, m_t), \qquad y = \sum_t m_t u_t, \qquad u_t \sim U(0, 1) $$

    One mark is in each half. Who answers 1 always is wrong by 1/6, squared. Hochreiter & Schmidhuber 1997; the numbers
    are those of Le et al. 2015, arXiv:1504.00941.
    """
    check_memory(16 * examples * length, f"{examples:,} series of {length:,} steps", "Make fewer.")
    generator = np.random.default_rng(seed)
    numbers, marks = generator.uniform(size=(examples, length)), np.zeros((examples, length))
    half, rows = length // 2, np.arange(examples)
    marks[rows, generator.integers(half, size=examples)] = 1
    marks[rows, generator.integers(half, length, size=examples)] = 1
    series = np.stack([numbers, marks], -1).astype(np.float32)
    return Raw(inputs=series, targets=(series[..., 0] * series[..., 1]).sum(1).astype(np.float64))
