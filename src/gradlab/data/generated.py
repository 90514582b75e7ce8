"""Problems made on the spot, as many examples as asked for."""

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from gradlab.data.dataset import sources
from gradlab.data.raw import Raw
from gradlab.registry import Count, NonNegative

Size = Annotated[Count, "how many examples are generated"]
Noise = Annotated[NonNegative, "standard deviation of the Gaussian noise"]


@sources.register("moons")
def moons(seed: int, *, examples: Size = 1000, noise: Noise = 0.2) -> Raw:
    """Two interleaving half circles in the plane, two classes."""
    from sklearn.datasets import make_moons

    points, labels = make_moons(examples, noise=noise, random_state=seed)
    return _plane(points, labels, ["upper", "lower"])


@sources.register("circles")
def circles(seed: int, *, examples: Size = 1000, noise: Noise = 0.08) -> Raw:
    """A circle of half the radius inside another, two classes."""
    from sklearn.datasets import make_circles

    points, labels = make_circles(examples, noise=noise, factor=0.5, random_state=seed)
    return _plane(points, labels, ["outer", "inner"])


@sources.register("spirals")
def spirals(
    seed: int,
    *,
    examples: Size = 1500,
    noise: Noise = 0.08,
    arms: Annotated[Count, "spirals, each a class of its own"] = 2,
    turns: Annotated[NonNegative, "full turns of each spiral"] = 1.5,
) -> Raw:
    """Spirals around the origin, one class each."""
    generator = np.random.default_rng(seed)
    labels = np.arange(examples) % arms
    radius = np.sqrt(generator.uniform(0.02, 1, examples))  # the square root spreads points evenly along the arm
    angle = 2 * np.pi * (turns * radius + labels / arms)
    points = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points += generator.normal(0, noise / 3, points.shape)
    return _plane(points, labels, [f"arm {i}" for i in range(arms)])


@sources.register("linear")
def linear(
    seed: int,
    *,
    examples: Size = 1000,
    features: Annotated[Count, "inputs"] = 5,
    noise: Noise = 0.5,
) -> Raw:
    """$y = w·x + b + ε$ with standard normal inputs and weights drawn once per seed."""
    generator = np.random.default_rng(seed)
    weight, bias = generator.normal(0, 2, features), generator.normal()
    x = generator.normal(size=(examples, features))
    y = x @ weight + bias + generator.normal(0, noise, examples)
    return Raw(inputs=x, targets=y, features=[f"x{i}" for i in range(features)])


@sources.register("polynomial")
def polynomial(seed: int, *, examples: Size = 300, noise: Noise = 0.1) -> Raw:
    """$y = 2x^3 - x^2 - x + ε$ on [-1, 1]: one input, one number to predict."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, examples)
    y = 2 * x**3 - x**2 - x + generator.normal(0, noise, examples)
    return Raw(inputs=x[:, None], targets=y, features=["x"])


def _plane(points: npt.NDArray[Any], labels: npt.NDArray[Any], classes: list[str]) -> Raw:
    return Raw(inputs=points, targets=labels.astype(np.int64), features=["x0", "x1"], classes=classes)
