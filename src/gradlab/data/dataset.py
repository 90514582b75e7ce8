"""From a source's name to the three splits, ready for a model."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import torch
from annotated_types import Ge

from gradlab.data.examples import Examples, Rows, Streamed
from gradlab.data.memory import memory_for_data
from gradlab.data.pictures.augmentation import Augmented, augmentations
from gradlab.data.pictures.binarised import Binarise, binarised, check_grey
from gradlab.data.preparation import Preparation
from gradlab.data.preprocessing import Method, Preprocessing
from gradlab.data.raw import Raw, Targets, UnsuitableData, Wants
from gradlab.data.splits import Split, check_folds, divide, hold_out
from gradlab.errors import GradlabError
from gradlab.registry import Count, Fraction, Natural, Part, Registry, Seed, shortly
from gradlab.specs import Spec

Validation = Annotated[Fraction, "share of the examples not in the test split that is held out while training"]
Test = Annotated[Fraction | None, "share held out for the final figures; default the source's own split, or 0.2"]
Folds = Annotated[Annotated[int, Ge(2)] | None, "cut the examples into so many folds; one of them is the test split"]
Fold = Annotated[Natural, "which fold is the test split, from 0"]
Classes = Annotated[list[str] | None, "use only the examples of these classes"]
Limit = Annotated[Count | None, "use only this many training examples"]
SplitSeed = Annotated[Seed, "of the splits and of generated data"]

FILES = (
    "path", "validation_file", "test_file", "source_file", "target_file", "validation_source_file",
    "validation_target_file", "edges", "test_source_file", "test_target_file",
)  # fmt: skip
"""Knobs of sources that name files, wherever a run is used from."""

_TEST_SHARE = 0.2


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Three splits and what was learned from the first of them."""

    train: Any
    validation: Any
    test: Any
    raw: Any = field(repr=False)
    preprocessing: Preparation = field(repr=False)
    targets: Targets = field(repr=False)

    @staticmethod
    def of(
        train: Any,
        validation: Any = (),
        test: Any = (),
        *,
        spec: Spec,
        targets: Targets | None = None,
        notes: Sequence[str] = (),
    ) -> "Dataset":
        """Splits of one's own: `Examples`, a `Stream`, or whatever the task evaluates; an empty one is none.

        `spec` tells a model's builder what one example is; `targets` are for tasks that ask for them.
        """
        from gradlab.data.own import ready

        if not isinstance(spec, Spec):
            raise GradlabError(f"spec must say what one example is, as gradlab.specs.Table(13) does, got {spec!r}.")
        return ready(train, validation, test, spec, targets, list(notes))

    def split(self, name: str) -> Any:
        return getattr(self, name)


def split_size(split: Any) -> int:
    """How many examples a split has; 0 where that is not known, as of a stream or of an iterable of batches."""
    return len(split) if hasattr(split, "__len__") and not getattr(split, "in_batches", False) else 0


def prepare(
    raw: Raw,
    wants: Wants | None = None,
    origin: Preparation | None = None,
    *,
    classes: Classes = None,
    validation: Validation = 0.15,
    test: Test = None,
    folds: Folds = None,
    fold: Fold = 0,
    limit: Limit = None,
    log: Annotated[list[str], "columns of positive numbers, the logarithm of which is taken first"] = [],  # noqa: B006
    preprocess: Annotated[Method, "fitted on the training split"] = "standardise",
    one_hot: Annotated[list[str], "columns of categories, coded one-hot"] = [],  # noqa: B006
    augment: Annotated[
        Part | None, augmentations, "how training pictures differ from epoch to epoch, as in data.augment.flip=true"
    ] = None,
    binarise: Annotated[
        Binarise, "grey pixels drawn black or white, by their brightness: once, or training pictures in each epoch anew"
    ] = "none",
    levels: Annotated[Count, "most categories of a column that is coded one-hot; of more, vectors are learned"] = 100,
    seed: SplitSeed = 0,
) -> Dataset:
    """Split, then fit the preprocessing on the training split, unless it is given, and apply it to all three."""
    if not isinstance(raw, Raw):
        raise GradlabError(f"The source of the data must give a Raw with all examples, but it gave {shortly(raw)}.")
    raw = raw.wanted(wants).of_classes(classes)
    train, validated, tested = split_rows(
        raw, validation=validation, test=test, folds=folds, fold=fold, limit=limit, seed=seed
    )
    codes = [*raw.categorical, *(c for c in one_hot if c not in raw.categorical)]
    if origin is not None:
        preprocessing = Preprocessing.taken_over(origin, raw.inputs, preprocess, raw.features, codes, log)
    else:
        preprocessing = Preprocessing.fit(
            raw.inputs,
            preprocess,
            raw.features,
            codes,
            rows=train,
            levels=levels,
            missing=raw.missing,
            dates=raw.dates,
            logs=log,
        )
    if binarise != "none":
        check_grey(preprocessing.spec, preprocess, augment is not None)
    raw = raw.noted(_notes(raw, preprocessing, train))
    resident = 4 * math.prod(preprocessing.output_shape) * len(raw.inputs) <= memory_for_data()

    def examples(rows: Rows, each_epoch: bool = False) -> Examples:
        kind = torch.int64 if raw.classes is not None else torch.float32
        targets = torch.from_numpy(raw.targets[rows]).to(kind)
        inputs = preprocessing(raw.inputs[rows]) if resident else Streamed(raw.inputs, rows, preprocessing)
        plain = Examples.of(inputs, targets, rows)
        return plain if binarise == "none" else binarised(plain, each_epoch)

    training = examples(train, each_epoch=binarise == "epoch")
    if augment is not None:
        settings = augmentations.build(augment)
        training = Augmented.over(training, settings, preprocessing, None if raw.classes is None else len(raw.classes))
    return Dataset(
        train=training,
        validation=examples(validated),
        test=examples(tested),
        raw=raw,
        preprocessing=preprocessing,
        targets=preprocessing.complete(
            Targets.of(raw.targets[train], raw.classes, preprocessing.embedded_sizes if raw.own_table else None)
        ),
    )


def _notes(raw: Raw, preprocessing: Preprocessing, train: Rows) -> list[str]:
    """What becomes of columns with many categories."""
    notes = []
    for name, known in preprocessing.embedded.items():
        there = len(np.unique(raw.inputs[train, raw.features.index(name)]))
        seldom = there - len(known)
        merged = f"; the {seldom:,} that training has only once count as one" if seldom else ""
        notes.append(f"{name!r} has {there:,} categories: a vector is learned for each{merged}.")
    return notes


def split_rows(
    raw: Raw, *, validation: float, test: float | None, folds: int | None, fold: int, limit: int | None, seed: int
) -> tuple[Rows, Rows, Rows]:
    """Which examples are for training, for validation and for test.

    Each class is in all of them in its share, and groups are whole; or, where there are times, the latest are for test,
    and the latest of the others for validation.
    """
    if test is not None and (folds or raw.test_from is not None):
        reason = "data.folds says what it is" if folds else "this source comes with a test split of its own"
        raise GradlabError(f"data.test cannot be set: {reason}.")
    whole = raw if raw.whole is None else raw.whole  # a class is divided in the same way, whichever others there are
    labels = whole.targets if raw.classes is not None else None
    if folds is None and fold:
        raise GradlabError(f"data.fold={fold} says nothing without data.folds.")
    if folds is not None:
        if raw.times is not None:
            raise GradlabError(
                "data.folds cannot be set with data.time: most folds would be tested on rows that are earlier than "
                "those they were trained on. Leave out one of them."
            )
        if fold >= folds:
            raise GradlabError(f"data.fold={fold} is not one of the {folds} folds, which count from 0.")
        if raw.classes is not None:
            check_folds(folds, raw.targets[raw.targets >= 0], raw.classes)
    split = Split(
        test=_TEST_SHARE if test is None else test,
        validation=validation,
        validation_from=raw.validation_from,
        test_from=raw.test_from,
        folds=folds,
        fold=fold,
        seed=seed,
    )
    train, validated, tested = divide(split, len(raw.inputs), labels, raw.groups, raw.times)
    if raw.whole is not None:
        train, validated, tested = (rows[raw.targets[rows] >= 0] for rows in (train, validated, tested))
        if not len(train):
            raise GradlabError("No example of data.classes is left to train on. Lower data.test or data.validation.")
    if limit is not None and limit < len(train):
        if raw.times is not None:  # as if nothing had been recorded before
            train = np.sort(train[np.argsort(raw.times[train], kind="stable")[-limit:]])
        else:
            train = hold_out(train, limit / len(train), seed + 2, labels)[1]
    return train, validated, tested


sources: Registry[Any] = Registry("data source", shared=prepare)
"""Builders take the seed (for generated data) and their own knobs; the knobs of `prepare`, or of another function that
makes a dataset of what they return, are added to each."""


def load(part: Part, wants: Wants | None = None, origin: Preparation | None = None) -> Dataset:
    """Read a resolved data part, with targets of the kind that a task wants, and prepare it, as it is given or anew."""
    shared: dict[str, Any] = sources.shared(part)
    data = sources.build(part, shared.get("seed", 0))
    prepare_it = sources.shared_function(part.name)
    if isinstance(data, Dataset) or prepare_it is None:
        return data  # type: ignore[no-any-return]
    try:
        return prepare_it(data, wants, *([] if origin is None else [origin]), **shared)  # type: ignore[no-any-return]
    except UnsuitableData as error:
        raise GradlabError(f"data={part.name} {error}") from None
