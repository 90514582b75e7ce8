"""From a source's name to the three splits, ready for a model."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import torch

from gradlab.data.examples import Examples
from gradlab.data.preprocessing import Method, Preprocessing
from gradlab.data.raw import Raw, Targets
from gradlab.data.splits import hold_out, three_way
from gradlab.errors import GradlabError
from gradlab.registry import Count, Fraction, Part, Registry, Seed

_TEST_SHARE = 0.2


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Three splits and what was learned from the first of them."""

    train: Examples
    validation: Examples
    test: Examples
    raw: Raw
    preprocessing: Preprocessing
    targets: Targets

    def split(self, name: str) -> Examples:
        examples: Examples = getattr(self, name)
        return examples


def prepare(
    raw: Raw,
    *,
    validation: Annotated[
        Fraction, "share of the examples not in the test split that is held out while training"
    ] = 0.15,
    test: Annotated[
        Fraction | None, "share held out for the final figures; default the source's own split, or 0.2"
    ] = None,
    limit: Annotated[Count | None, "use only this many training examples"] = None,
    preprocess: Annotated[Method, "fitted on the training split"] = "standardise",
    one_hot: Annotated[list[str], "columns of categories, coded one-hot"] = [],  # noqa: B006
    seed: Annotated[Seed, "of the splits and of generated data"] = 0,
) -> Dataset:
    """Split, then fit the preprocessing on the training split and apply it to all three."""
    if raw.test_from is not None and test is not None:
        raise GradlabError("data.test cannot be set: this source comes with a test split of its own.")
    labels = raw.targets if raw.classes is not None else None
    share = _TEST_SHARE if test is None else test
    rows = three_way(labels, len(raw.inputs), raw.test_from, share, validation, seed)
    train = rows[0]
    if limit is not None and limit < len(train):
        train = hold_out(train, limit / len(train), seed + 2, labels)[1]
    preprocessing = Preprocessing.fit(raw.inputs[train], preprocess, raw.features, one_hot)

    def examples(rows: npt.NDArray[np.int64]) -> Examples:
        kind = torch.int64 if raw.classes is not None else torch.float32
        targets = torch.from_numpy(raw.targets[rows]).to(kind)
        return Examples(preprocessing(raw.inputs[rows]), targets, rows)

    return Dataset(
        train=examples(train),
        validation=examples(rows[1]),
        test=examples(rows[2]),
        raw=raw,
        preprocessing=preprocessing,
        targets=Targets.of(raw.targets[train], raw.classes),
    )


sources: Registry[Raw] = Registry("data source", shared=prepare)
"""Builders take the seed (for generated data) and their own knobs; the knobs of `prepare` are added to each."""


def load(part: Part) -> Dataset:
    """Read a resolved data part and prepare it."""
    shared: dict[str, Any] = sources.shared(part)
    return prepare(sources.build(part, shared["seed"]), **shared)
