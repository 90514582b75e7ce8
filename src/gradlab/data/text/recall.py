"""Texts whose class is their first symbol: how long a network remembers."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from gradlab.data.dataset import sources
from gradlab.data.generated import Size
from gradlab.data.text.alphabet import LETTERS, Symbols, equal_texts
from gradlab.data.text.classes import labelled_texts
from gradlab.data.text.documents import Document
from gradlab.data.text.reader import TextReader
from gradlab.data.text.texts import Texts, prepare_texts


@sources.register("recall", shared=prepare_texts)
def recall(
    seed: int,
    *,
    examples: Size = 4000,
    symbols: Symbols = 8,
    delay: Annotated[int, Ge(1), Le(100_000), "fillers between the symbol and the end"] = 20,
    fillers: Annotated[int, Ge(2), Le(10), "different fillers, the first digits, in random order"] = 4,
) -> Texts:
    """Delayed recall: which symbol came first, before so many fillers. "c 1 0 3 2" is of the class c.

    A text is in one split alone. A model must be given data.context of at least delay + 1 tokens.
    """
    generator = np.random.default_rng(seed)
    first = [LETTERS[i] for i in generator.permutation(examples) % symbols]
    digits = generator.integers(fillers, size=(examples, delay))
    written = [" ".join([symbol, *map(str, row)]) for symbol, row in zip(first, digits.tolist(), strict=True)]
    documents = [Document.of(f"text {i}", text) for i, text in enumerate(written)]
    return replace(labelled_texts("recall", documents, first, reader=TextReader()), groups=equal_texts(written))
