"""From pairs to splits: tokenizers of the training pairs, and batches of similar lengths on both sides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int64
from torch import Tensor

from gradlab.data.dataset import Dataset, Limit, SplitSeed, Test, Validation, split_rows
from gradlab.data.examples import Examples, Rows
from gradlab.data.pairs.raw import Pairs
from gradlab.data.pairs.sentences import SPECIAL, Sentences
from gradlab.data.preparation import Preparation
from gradlab.data.raw import Targets, Wants
from gradlab.data.text.kinds import Kind, Vocabulary
from gradlab.data.text.sequences import Padded, length_batches
from gradlab.data.text.tokenizer import Ids, Tokenizer
from gradlab.errors import GradlabError
from gradlab.registry import Count
from gradlab.specs import Pair
from gradlab.wording import counted

Cut = Annotated[Kind, "what a token is: a byte, a character, a word, or a piece of one (bpe)"]
Longest = Annotated[Count, "most tokens of a source or of a target, with those that mark their ends"]
Splits = tuple[Rows, Rows, Rows]
Longer = Annotated[Literal["refuse", "drop"], "what to do with pairs that are longer than data.context"]


@dataclass(frozen=True)
class Pairing(Preparation):
    """How pairs become what a model sees: sources by what they are, targets as sentences."""

    kind: ClassVar[str] = "pairs"

    source: Preparation
    target: Sentences
    shared: bool = False

    @property
    def spec(self) -> Pair:
        return Pair(self.source.spec, self.target.spec, self.shared)

    def describe(self) -> dict[str, Any]:
        sides = {"source": self.source, "target": self.target}
        return {**{n: {"kind": s.kind, **s.describe()} for n, s in sides.items()}, "shared": self.shared}

    def files(self) -> dict[str, str]:
        return {**self.source.files(), **self.target.files()}

    def words(self) -> dict[str, str]:
        return {"a source": str(self.source.spec), "a target": str(self.target.spec)}

    def __call__(self, raw: Any) -> Any:
        """New sources."""
        return self.source(raw)

    def complete(self, targets: Targets) -> Targets:
        return replace(targets, text=self.target)

    @classmethod
    def read_back(cls, described: dict[str, Any], targets: dict[str, Any], read: Callable[[str], str]) -> "Pairing":
        from gradlab.data.readers import preparation_of

        source, target = (preparation_of(described[side], targets, read) for side in ("source", "target"))
        assert isinstance(target, Sentences)
        return cls(source, target, bool(described["shared"]))


@dataclass(frozen=True, repr=False)
class PairedExamples(Examples):
    """Sources beside targets: batches are of pairs with similar lengths, which need little padding."""

    together: ClassVar[bool] = False

    references: npt.NDArray[Any] = field(default_factory=lambda: np.zeros(0, dtype=object), kw_only=True, repr=False)
    """The targets as they were written, by the rows of the source."""

    regions: npt.NDArray[Any] | None = field(default=None, kw_only=True, repr=False)
    """The `Region`s that each target names, by the rows of the source, of pictures in which they are known."""

    own: float = field(default=0.0, kw_only=True)
    ramp: int = field(default=1, kw_only=True)
    """The share of tokens that a model is to read as it writes them itself, and the epochs over which it grows."""

    def for_epoch(self, seed: int, epoch: int) -> "PairedExamples":
        if not self.own:
            return self
        share = self.own * min(1.0, epoch / self.ramp)
        return self.but(own=torch.full((len(self),), share, device=self.device))

    def order(self, seed: int, epoch: int, batch_size: int) -> Int64[Tensor, " rows"]:
        if not isinstance(self.inputs, Padded):
            # Batch normalisation should see the pictures of all captions together: short ones show fewer things.
            return super().order(seed, epoch, batch_size)
        lengths = np.stack([self.targets.lengths, self.inputs.lengths], 1)
        return torch.cat(length_batches(lengths, batch_size, seed, epoch))

    @property
    def texts(self) -> list[str]:
        """The target of each example, as it was written."""
        return [str(text) for text in self.references[self.rows]]


def prepare_pairs(
    raw: Pairs,
    wants: Wants | None = None,
    origin: Preparation | None = None,
    *,
    tokenizer: Cut = "bpe",
    vocabulary: Vocabulary = None,
    shared: Annotated[bool, "one vocabulary for sources and targets"] = False,
    context: Longest = 128,
    longer: Longer = "refuse",
    validation: Validation = 0.1,
    test: Test = 0.1,
    limit: Limit = None,
    seed: SplitSeed = 0,
) -> Dataset:
    """Split, make tokenizers of the training pairs, and cut all pairs into tokens."""
    splits = split_pairs(raw, wants, origin, validation, test, limit, seed)
    texts = [str(t) for t in raw.inputs], [str(t) for t in raw.targets]
    learned = [[side[row] for row in splits[0]] for side in texts]
    if shared:
        both = Tokenizer.train(tokenizer, [*learned[0], *learned[1]], vocabulary=vocabulary, special=SPECIAL)
        tokenizers = [both, both]
    else:
        tokenizers = [Tokenizer.train(tokenizer, side, vocabulary=vocabulary, special=SPECIAL) for side in learned]
    source, read = Sentences.fitted("source", tokenizers[0], context, texts[0], splits[0])
    target, written = Sentences.fitted("target", tokenizers[1], context, texts[1], splits[0])
    splits, notes = fitting(raw, splits, {"source": read, "target": written}, context, longer)
    sizes = " and ".join(f"{len(cut):,}" for cut in tokenizers[: 1 if shared else 2])
    medians = [f"{np.median([len(ids) for ids in side]):.0f}" for side in (read, written)]
    notes.insert(
        0, f"{counted(len(raw.inputs), 'pair')} of {' and '.join(medians)} tokens (median), vocabulary {sizes}"
    )
    return paired(raw, splits, source.padded(read), Pairing(source, target, shared), written, notes)


def paired(
    raw: Pairs, splits: Splits, inputs: Any, pairing: Pairing, targets: Sequence[Ids], notes: Sequence[str]
) -> Dataset:
    """A dataset of prepared sources, in the rows of the raw ones, with the tokens of their targets."""
    written = pairing.target.padded(targets)

    def examples(rows: Rows) -> PairedExamples:
        # The longest first: neighbours, which are judged together, then need little padding.
        ordered = rows[np.argsort(-written.lengths[rows], kind="stable")]
        some = inputs[torch.from_numpy(ordered)] if isinstance(inputs, Tensor) else inputs.subset(ordered)
        parts = {"inputs": some, "targets": written.subset(ordered)}
        return PairedExamples(parts, ordered, references=raw.targets, regions=raw.regions)

    train, validated, tested = map(examples, splits)
    return Dataset(
        train=train,
        validation=validated,
        test=tested,
        raw=raw.noted(notes),
        preprocessing=pairing,
        targets=pairing.complete(Targets(tokens=pairing.target.vocabulary)),
    )


def split_pairs(
    raw: Pairs,
    wants: Wants | None,
    origin: Preparation | None,
    validation: float,
    test: float | None,
    limit: int | None,
    seed: int,
) -> Splits:
    """Rows for training, validation and test: the source's own, where it has some."""
    raw.wanted(wants)
    if origin is not None:
        raise GradlabError("train.from_run is for classifiers; a model of pairs is trained from the beginning.")
    test = None if raw.test_from is not None else test
    return split_rows(raw, validation=validation, test=test, folds=None, fold=0, limit=limit, seed=seed)


def fitting(
    raw: Pairs, splits: Splits, sides: dict[str, list[Ids]], context: int, longer: str
) -> tuple[Splits, list[str]]:
    """The splits without pairs that are too long, and what is said of those; or a refusal that names the first."""
    lengths = {name: np.array([len(ids) for ids in side]) for name, side in sides.items()}
    long = np.logical_or.reduce([side > context for side in lengths.values()])
    if not long.any():
        return splits, []
    row, most = int(np.flatnonzero(long)[0]), max(int(side.max()) for side in lengths.values())
    name = max(lengths, key=lambda side: int(lengths[side][row]))
    what = f"{raw.where(row)}: the {name} has {lengths[name][row]:,} tokens, and data.context is {context:,}"
    count = counted(int(long.sum()), "pair")
    if longer == "refuse":
        raise GradlabError(
            f"{what}. Set data.context={most} for the longest, or data.longer=drop to leave out {count}."
        )
    train, validated, tested = (rows[~long[rows]] for rows in splits)
    if not len(train):
        raise GradlabError(f"{what}, and no shorter pair is left to train on. Set data.context={most}.")
    return (train, validated, tested), [f"Left out {count} that are longer, such as {what}."]
