"""A beam search as a tree: what was looked at, what was followed, and how probable it was."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from jaxtyping import Bool, Float, Int64
from torch import Tensor

State = Literal["kept", "dropped", "finished"]

MARKS: dict[State, str] = {"kept": " ●", "dropped": "", "finished": " ■"}


@dataclass
class Node:
    """A text that a search looked at: that of its parent and one token."""

    token: int | None
    """None at the root, which is the prompt."""

    log_probability: float
    """Of all tokens from the root to here."""

    state: State = "dropped"
    """Whether it was among the best and was followed, or was not, or was complete."""

    children: list["Node"] = field(default_factory=list)
    """The most probable first."""

    def child(self, token: int, log_probability: float) -> "Node":
        """The text with one token more, which becomes part of the tree if it is not yet."""
        for child in self.children:
            if child.token == token:
                return child
        new = Node(token, log_probability)
        self.children.append(new)
        self.children.sort(key=lambda child: -child.log_probability)
        return new

    def __iter__(self) -> Iterator["Node"]:
        """All nodes below, depth first."""
        for child in self.children:
            yield child
            yield from child


class Recorder:
    """Grows a tree for each example, step by step. Of each text it takes the best continuations, one for each beam."""

    def __init__(self, batch: int, beams: int, shown: int) -> None:
        self.shown = shown
        self.roots = [Node(None, 0.0, "kept") for _ in range(batch)]
        self._beams: list[list[Node]] = [[root] * beams for root in self.roots]

    def step(
        self,
        scores: Float[Tensor, "batch groups each vocabulary"],
        sums: Float[Tensor, "batch groups each"],
        parents: Int64[Tensor, "batch groups each"],
        tokens: Int64[Tensor, "batch groups each"],
        ending: Float[Tensor, "batch groups each"],
        places: Int64[Tensor, "batch groups some"],
        passed: Bool[Tensor, " batch"],
    ) -> None:
        """What one step looked at (`scores`), went on with and set aside; nothing for examples it `passed` over."""
        groups, each, size = scores.shape[1:]
        best, best_tokens = scores.topk(min(self.shown, size))
        for row, beams in enumerate(self._beams):
            if passed[row]:
                continue
            followed = list(beams)
            for group in range(groups):
                own = beams[group * each : (group + 1) * each]
                for beam, node in enumerate(own):
                    seen = zip(best_tokens[row, group, beam].tolist(), best[row, group, beam].tolist(), strict=True)
                    for token, total in seen:
                        if total > -math.inf:  # else the beam is not alive, or the token is ruled out
                            node.child(token, total)
                for i in range(each):
                    place = int(places[row, group, i])
                    if (total := float(ending[row, group, i])) > -math.inf:
                        own[place // size].child(place % size, total).state = "finished"
                    if (total := float(sums[row, group, i])) > -math.inf:
                        node = own[int(parents[row, group, i])].child(int(tokens[row, group, i]), total)
                        node.state = "kept"
                        followed[group * each + i] = node
            self._beams[row] = followed


def draw_tree(
    root: Node, words: Sequence[str] | Callable[[int], str] = str, *, start: str = "START", digits: int = 1
) -> str:
    """A tree as text, with log-probabilities: ● was followed, ■ was complete, and the rest was dropped.

    `words` are those of the vocabulary, or a function of a token.

    >>> root = Node(None, 0.0)
    >>> root.child(0, -0.7).state = "kept"
    >>> root.children[0].child(2, -2.9).state, root.child(1, -0.9).state = "dropped", "kept"
    >>> root.children[0].child(3, -1.7).state = "kept"
    >>> print(draw_tree(root, ["he", "I", "struck", "hit"]))
    START
    ├─ he −0.7 ●
    │  ├─ hit −1.7 ●
    │  └─ struck −2.9
    └─ I −0.9 ●
    """
    word = words if callable(words) else words.__getitem__
    return "\n".join([start, *_lines(root, word, digits)])


def _lines(node: Node, word: Callable[[int], str], digits: int) -> Iterator[str]:
    for child in node.children:
        assert child.token is not None
        last = child is node.children[-1]
        figure = f"{child.log_probability:.{digits}f}".replace("-", "−")
        yield f"{'└─' if last else '├─'} {word(child.token)} {figure}{MARKS[child.state]}"
        for line in _lines(child, word, digits):
            yield ("   " if last else "│  ") + line
