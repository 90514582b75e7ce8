"""Huffman's code: the shortest words of zeros and ones for outcomes of known probabilities."""

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any

from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import tensor
from gradlab.maths.information.checking import distribution, same_outcomes


@dataclass(frozen=True)
class HuffmanCode:
    """A word for each outcome that is possible, none of which begins another."""

    words: Mapping[int, str]
    outcomes: int

    @property
    def lengths(self) -> list[float]:
        """Of the word of each outcome; infinite where there is none, as the surprise is."""
        return [float(len(self.words[i])) if i in self.words else math.inf for i in range(self.outcomes)]

    def mean_length(self, p: Any) -> Tensor:
        r"""Bits for an outcome of p, on average.

        $$ L = \sum_i p_i \ell_i, \qquad H(p) \le L < H(p) + 1 $$

        The bounds are those of the code that was made for p. With that of another q the words are longer, by about
        KL(p‖q) bits, and exactly so where all probabilities are powers of ½.
        """
        probability, lengths = distribution(p), tensor(self.lengths)
        same_outcomes(probability, lengths)
        return (probability * lengths.where(probability > 0, 0.0)).sum(-1)

    def encode(self, outcomes: Sequence[int]) -> str:
        """Their words, one after the other."""
        for place, outcome in enumerate(outcomes):
            if int(outcome) not in self.words:
                raise GradlabError(
                    f"Outcome {int(outcome)} at place {place} has no word: the code is for {self.outcomes} outcomes, "
                    "and has words for those of a positive probability. Give it one."
                )
        return "".join(self.words[int(outcome)] for outcome in outcomes)

    def decode(self, bits: str, length: int | None = None) -> list[int]:
        """The outcomes again; `length`, how many, is needed only where one outcome is certain and its word is empty."""
        if "" in self.words.values():
            if bits or length is None:
                raise GradlabError("One outcome is certain, and its word is empty: say how many there are by length=.")
            return [*self.words] * length
        by_word, decoded, word = {word: i for i, word in self.words.items()}, list[int](), ""
        for bit in bits:
            word += bit
            if word in by_word:
                decoded.append(by_word[word])
                word = ""
        if word or (length is not None and len(decoded) != length):
            raise GradlabError(f"The bits end within a word, or are not those of this code: {word or bits!r} is left.")
        return decoded


def huffman(p: Any) -> HuffmanCode:
    """The code with the least mean length: the two rarest are joined, again and again, to one that has their sum.

    Words are canonical, that is they rise with their lengths, so that the lengths alone tell the code. An impossible
    outcome has none. Huffman 1952, doi:10.1109/JRPROC.1952.273898.

    >>> code = huffman([0.5, 0.25, 0.125, 0.125])
    >>> code.words
    {0: '0', 1: '10', 2: '110', 3: '111'}
    >>> code.decode(code.encode([2, 0, 1]))
    [2, 0, 1]
    """
    p = distribution(p)
    if p.ndim != 1:
        raise GradlabError(f"huffman: one distribution has one axis, got the shape {tuple(p.shape)}.")
    tie = count()  # so that of equals the older is joined first, which keeps the longest word short
    heap = [(float(probability), next(tie), [i]) for i, probability in enumerate(p) if probability > 0]
    lengths = {members[0]: 0 for _, _, members in heap}
    heapq.heapify(heap)
    while len(heap) > 1:
        (first, _, few), (second, _, others) = heapq.heappop(heap), heapq.heappop(heap)
        for i in (*few, *others):
            lengths[i] += 1
        heapq.heappush(heap, (first + second, next(tie), [*few, *others]))
    return HuffmanCode(_words(lengths), len(p))


def _words(lengths: Mapping[int, int]) -> dict[int, str]:
    """Binary numbers of these lengths, each one more than the one before, with zeros after it where it is longer."""
    order = sorted(lengths, key=lambda i: (lengths[i], i))
    number, words = 0, {order[0]: "0" * lengths[order[0]]}
    for before, outcome in pairwise(order):
        number = (number + 1) << (lengths[outcome] - lengths[before])
        words[outcome] = f"{number:0{lengths[outcome]}b}"
    return words
