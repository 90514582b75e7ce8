"""Texts to be copied: the target is the source, after a delay."""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from gradlab.data.dataset import sources
from gradlab.data.generated import Size
from gradlab.data.pairs.prepare import prepare_pairs
from gradlab.data.pairs.raw import Pairs
from gradlab.data.pairs.reader import SentenceReader
from gradlab.data.text.alphabet import LETTERS, Symbols, equal_texts
from gradlab.errors import GradlabError
from gradlab.registry import Count

FILLER = "."


@sources.register("copy", shared=prepare_pairs)
def copy(
    seed: int,
    *,
    examples: Size = 10_000,
    symbols: Symbols = 8,
    shortest: Annotated[Count, "symbols of a text, at least"] = 2,
    longest: Annotated[Count, "and at most; all lengths are as frequent"] = 20,
    delay: Annotated[int, Ge(0), Le(10_000), "points that follow the symbols before a model begins to write"] = 0,
) -> Pairs:
    """Random symbols and a delay, and the same symbols again: what a model remembers of a source, by its length.

    The source "cabf..." has the target "cabf". A text is in one split alone.
    """
    if shortest > longest:
        raise GradlabError(f"data.shortest={shortest} is more than data.longest={longest}.")
    generator = np.random.default_rng(seed)
    lengths = generator.integers(shortest, longest + 1, examples)
    drawn = ["".join(LETTERS[i] for i in generator.integers(symbols, size=n)) for n in lengths]
    written = [text + FILLER * delay for text in drawn]
    return Pairs.of_texts(written, drawn, "text {} (from 0)".format, SentenceReader(), groups=equal_texts(drawn))
