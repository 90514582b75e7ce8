"""Worked examples of decoding: a beam search of two over three words."""

import math

import torch
from torch import Tensor

from gradlab.explanation.walk import Step, worked
from gradlab.sampling import Beam, Node, beam_search, draw_tree

_WORDS = ["START", "he", "I", "hit", "struck", "was", "got", "me", "a"]
_REST = 20  # words that share what is left of each probability
_FOLLOWING = {
    "START": {"he": -0.7, "I": -0.9},
    "START he": {"hit": -1.0, "struck": -2.2},
    "START I": {"was": -0.7, "got": -0.9},
    "START he hit": {"me": -0.8, "a": -1.1},
    "START I was": {"hit": -1.3, "struck": -2.2},
}


def _next_word(tokens: Tensor) -> Tensor:
    """Log-probabilities of what follows each text, as a table says."""
    rows = []
    for row in tokens.tolist():
        following = _FOLLOWING.get(" ".join(_WORDS[token] for token in row), {})
        rest = math.log((1 - sum(map(math.exp, following.values()))) / _REST)
        rows.append([following.get(word, -30.0) for word in _WORDS] + [rest] * _REST)
    return torch.tensor(rows, dtype=torch.float64)[:, None].expand(-1, tokens.shape[1], -1)


@worked("beam-example", "A beam search that keeps two hypotheses, and changes its mind")
def two_hypotheses() -> list[Step]:
    written = beam_search(_next_word, [[0]], 3, Beam(2, n_best=2), record=True)
    greedy = beam_search(_next_word, [[0]], 3, Beam(1), record=True)
    (root,) = written.trees
    texts = [" ".join(_WORDS[token] for token in text[1:]) for text in written.tokens[0].tolist()]
    sums, scores = written.log_probabilities[0].tolist(), written.scores[0].tolist()
    only = " ".join(_WORDS[token] for token in greedy.tokens[0, 0].tolist()[1:])
    return [
        Step(
            "Of the first words the two most probable are kept.",
            r"\log P(y_1 \mid x)",
            _kept(root, 1),
        ),
        Step(
            "Each is continued, and of all continuations the two best are kept. A sum of log-probabilities is the "
            "logarithm of the product.",
            r"\log P(y_1, y_2 \mid x) = \log P(y_1 \mid x) + \log P(y_2 \mid y_1, x)",
            f"{_kept(root, 2)}. I was is now ahead of he hit",
        ),
        Step(
            "The third words turn that round: what was second has the best continuations, and both that are kept go on "
            "from it.",
            r"\log P(y_1, y_2, y_3 \mid x)",
            _kept(root, 3),
        ),
        Step(
            "Scores are means, so that texts of different lengths can be compared.",
            r"\mathrm{score}(y) = \frac{1}{T} \sum_{k=1}^{T} \log P(y_k \mid y_{<k}, x)",
            "; ".join(
                f"{text}: {total:.1f} / 3 = {score:.3f}" for text, total, score in zip(texts, sums, scores, strict=True)
            ),
        ),
        Step(
            "All that was looked at: ● was followed, ■ is complete.",
            values="\n" + draw_tree(root, [*_WORDS, *["…"] * _REST]),
        ),
        Step(
            "One hypothesis alone, which is greedy search, comes to the same here, since the best text begins with the "
            "best word.",
            values=f"{only}: {greedy.log_probabilities[0, 0].item():.1f}",
        ),
    ]


def _kept(root: Node, depth: int) -> str:
    level: list[tuple[str, Node]] = [("", root)]
    for _ in range(depth):
        kept = ((text, child) for text, node in level for child in node.children if child.state != "dropped")
        level = [(f"{text} {_WORDS[child.token or 0]}".strip(), child) for text, child in kept]
    level.sort(key=lambda each: -each[1].log_probability)
    return ", ".join(f"{text} {node.log_probability:.1f}" for text, node in level)
