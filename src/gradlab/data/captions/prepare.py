"""From pictures with captions to splits: pixels standardised, captions cut into tokens."""

import math
from typing import Annotated, Any

import numpy as np

from gradlab.data.dataset import Dataset, Limit, SplitSeed, Test, Validation
from gradlab.data.examples import Rows, Streamed
from gradlab.data.memory import memory_for_data
from gradlab.data.pairs.prepare import (
    Cut,
    Longer,
    Longest,
    Pairing,
    fitting,
    paired,
    split_pairs,
)
from gradlab.data.pairs.raw import Pairs
from gradlab.data.pairs.sentences import SPECIAL, Sentences
from gradlab.data.preparation import Preparation
from gradlab.data.preprocessing import Method, Preprocessing
from gradlab.data.raw import Wants
from gradlab.data.text.kinds import Vocabulary
from gradlab.data.text.tokenizer import Tokenizer
from gradlab.wording import counted


def prepare_captions(
    raw: Pairs,
    wants: Wants | None = None,
    origin: Preparation | None = None,
    *,
    tokenizer: Cut = "word",
    vocabulary: Vocabulary = None,
    context: Longest = 64,
    longer: Longer = "refuse",
    preprocess: Annotated[Method, "of the pixels, fitted on the training split"] = "standardise",
    validation: Validation = 0.1,
    test: Test = 0.1,
    limit: Limit = None,
    seed: SplitSeed = 0,
) -> Dataset:
    """Split, fit the preprocessing of the pixels and the tokenizer on the training split, and apply both."""
    splits = split_pairs(raw, wants, None, validation, test, limit, seed)
    texts = [str(text) for text in raw.targets]
    learned = [texts[row] for row in splits[0]]
    cut = Tokenizer.train(tokenizer, learned, vocabulary=vocabulary, special=SPECIAL)
    target, encoded = Sentences.fitted("target", cut, context, texts, splits[0])
    splits, notes = fitting(raw, splits, {"caption": encoded}, context, longer)
    source = _prepared(raw, preprocess, splits[0], origin)
    median = np.median([len(ids) for ids in encoded])
    notes.insert(0, f"{counted(len(texts), 'picture')} with captions of {median:.0f} tokens (median) of {len(cut):,}")
    return paired(raw, splits, _pixels(raw, source), Pairing(source, target), encoded, notes)


def _prepared(raw: Pairs, method: Method, training: Rows, origin: Preparation | None) -> Preprocessing:
    """Fitted to the training pictures, or as a network knew its own, whose weights are taken."""
    if origin is None:
        return Preprocessing.fit(raw.inputs, method, [], [], rows=training)
    return Preprocessing.taken_over(
        origin.source if isinstance(origin, Pairing) else origin, raw.inputs, method, [], []
    )


def _pixels(raw: Pairs, source: Preprocessing) -> Any:
    """All pictures as the model sees them, read as they are needed where they do not fit into memory."""
    if 4 * math.prod(source.output_shape) * len(raw.inputs) <= memory_for_data():
        return source(raw.inputs)
    return Streamed(raw.inputs, np.arange(len(raw.inputs)), source)
