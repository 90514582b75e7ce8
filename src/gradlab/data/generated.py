"""Problems made on the spot, as many examples as asked for."""

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le

from gradlab.data.dataset import sources
from gradlab.data.memory import check_memory
from gradlab.data.raw import Raw
from gradlab.data.reading import ArrayReader
from gradlab.registry import Count, NonNegative, Positive

Many = Annotated[int, Ge(1), Le(10**8)]
Size = Annotated[Many, "how many examples are generated"]
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


@sources.register("ring")
def ring(
    seed: int,
    *,
    examples: Size = 12000,
    modes: Annotated[Count, "Gaussians, each a class of its own"] = 8,
    std: Annotated[Positive, "standard deviation of each, in either direction"] = 0.1,
    radius: Annotated[NonNegative, "of the circle that their means are on, evenly spaced"] = 2.0,
) -> Raw:
    r"""Gaussians on a ring in the plane, one class each: what a model that draws points may leave some of out."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(modes, size=examples)
    angle = 2 * np.pi * labels / modes
    points = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return _plane(points + generator.normal(0, std, points.shape), labels, [f"mode {i}" for i in range(modes)])


@sources.register("linear")
def linear(
    seed: int,
    *,
    examples: Size = 1000,
    features: Annotated[Count, "inputs"] = 5,
    noise: Noise = 0.5,
) -> Raw:
    """$y = w·x + b + ε$ with standard normal inputs and weights drawn once per seed."""
    check_memory(16 * examples * features, f"{examples:,} examples of {features:,} features", "Make fewer.")
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


@sources.register("counts")
def counts(
    seed: int,
    *,
    examples: Size = 1500,
    features: Annotated[Count, "inputs"] = 4,
    mean: Annotated[Positive, "the count to expect where every input is 0"] = 3.0,
) -> Raw:
    r"""$y \sim \mathrm{Poisson}(e^{w·x + \log m})$ with standard normal inputs and weights drawn once per seed."""
    check_memory(16 * examples * features, f"{examples:,} examples of {features:,} features", "Make fewer.")
    generator = np.random.default_rng(seed)
    weight = generator.normal(size=features)
    weight *= 0.8 / np.linalg.norm(weight)  # two thirds of the means are within a factor of e^0.8 of m
    x = generator.normal(size=(examples, features))
    y = generator.poisson(mean * np.exp(x @ weight))
    return Raw(inputs=x, targets=y.astype(np.float64), features=[f"x{i}" for i in range(features)])


@sources.register("sine")
def sine(
    seed: int,
    *,
    examples: Annotated[Many, "points to learn from, evenly spaced"] = 10,
    held_out: Annotated[Many, "further points for validation, and as many for test, anywhere in between"] = 100,
    noise: Noise = 0.3,
) -> Raw:
    r"""$y = \sin 2πx + ε$ on [0, 1]: few points to learn from, many to judge by."""
    generator = np.random.default_rng(seed)
    x = np.concatenate([np.linspace(0, 1, examples), generator.uniform(0, 1, 2 * held_out)])
    y = np.sin(2 * np.pi * x) + generator.normal(0, noise, len(x))
    return Raw(
        inputs=x[:, None],
        targets=y,
        features=["x"],
        validation_from=examples,
        test_from=examples + held_out,
    )


@sources.register("tiny-pictures")
def tiny_pictures(seed: int, *, examples: Size = 300, noise: Noise = 0.2) -> Raw:
    """Grey pictures of 2×2 pixels, three classes: cat, chicken, dog."""
    check_memory(16 * examples, f"{examples:,} pictures", "Lower data.examples.")
    generator = np.random.default_rng(seed)
    plain = np.array([[[0.9, 0.1], [0.1, 0.9]], [[0.9, 0.9], [0.1, 0.1]], [[0.1, 0.9], [0.9, 0.9]]])
    labels = np.arange(examples) % len(plain)
    pictures = (plain[labels] + generator.normal(0, noise, (examples, 2, 2))).clip(0, 1).astype(np.float32)[:, None]
    reader = ArrayReader(pictures.shape[1:], white=1.0)
    return Raw(inputs=pictures, targets=labels, classes=["cat", "chicken", "dog"], reader=reader)
