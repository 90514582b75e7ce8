"""How gradients go back through convolution and pooling, and a network that learns by them."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from gradlab.explanation.block import SourceCode
from gradlab.explanation.docstring import Docstring, Equation
from gradlab.explanation.equations import sentence, terminal
from gradlab.explanation.plot import Plot
from gradlab.explanation.side_by_side import SideBySide
from gradlab.explanation.worked import Grid, Worked
from gradlab.scratch import convolution, gates, networks

DOC = Docstring(
    "Backpropagation through convolution and pooling by hand, and a network that learns by it beside PyTorch's.",
    [
        r"Forwards, a kernel W lies at every place of a picture x, and its products with what is under it are summed. "
        r"$\ell$ is the loss, and $\delta = \partial \ell / \partial y$ the gradient that arrives.",
        Equation(r"y_{o,i,j} = b_o + \sum_{c,u,v} W_{o,c,u,v} \, x_{c,\, i+u,\, j+v}"),
        r"Backwards, a weight has met the pixel $(i+u, j+v)$ at the place $(i, j)$: its gradient is the picture with δ "
        r"as its kernel. A bias is added at every place.",
        Equation(
            r"\frac{\partial \ell}{\partial W_{o,c,u,v}} = \sum_{i,j} \delta_{o,i,j} \, x_{c,\, i+u,\, j+v}"
            r"\qquad \frac{\partial \ell}{\partial b_o} = \sum_{i,j} \delta_{o,i,j}"
        ),
        r"The pixel $(m, n)$ was seen from the places $(m-u, n-v)$: its gradient is δ in a frame of zeros, with the "
        r"kernel turned by half a circle. With a stride, δ has zeros at the places that were left out.",
        Equation(r"\frac{\partial \ell}{\partial x_{c,m,n}} = \sum_{o,u,v} W_{o,c,u,v} \, \delta_{o,\, m-u,\, n-v}"),
        r"The same by a product of matrices: with the patches of x as columns (im2col) the sums are those of a dense "
        r"layer, and each pixel adds up the gradients of the columns it is in (col2im). That the engine finds by "
        r"itself.",
        r"Pooling has no weights. Of a window of $k \times k$ entries, the largest has all of its gradient, and of a "
        r"mean each has the same share.",
        Equation(
            r"y_{i,j} = \max_{u,v} x_{ki+u,\, kj+v} \qquad \frac{\partial \ell}{\partial x_{ki+u,\, kj+v}} = "
            r"\begin{cases} \delta_{i,j} & \text{for the largest} \\ 0 & \text{else} \end{cases}"
        ),
        Equation(
            r"y_{i,j} = \frac{1}{k^2} \sum_{u,v} x_{ki+u,\, kj+v} \qquad "
            r"\frac{\partial \ell}{\partial x_{ki+u,\, kj+v}} = \frac{\delta_{i,j}}{k^2}"
        ),
    ],
    "",
)
ABOUT_TRAINING = (
    "Two convolutions of 3×3, each with ReLU and max pooling, and a dense layer learn the digits of 8×8 pixels: in "
    "NumPy by the rules above, and in PyTorch, from the same weights on the same batches of 64, by gradient descent "
    "with momentum, in float64."
)
_EVERY = 10  # steps of the table
_CODES: tuple[Callable[..., Any], ...] = (
    convolution.conv2d_by_hand,
    gates._slide,
    convolution.max_pool2d,
    convolution.average_pool2d,
    convolution.windows,
    gates.largest,
    gates.mean,
    gates.index,
    networks.cnn,
    networks.step,
)


@dataclass(frozen=True)
class Cnn:
    """The equations on small numbers, the code that has them, and what it learns."""

    worked: Worked
    codes: list[SourceCode]
    training: SideBySide

    @classmethod
    def of_digits(cls) -> "Cnn":
        return cls(Worked.example(), [*map(SourceCode.of_twin, _CODES)], SideBySide.of_digits())

    @property
    def rows(self) -> list[list[str]]:
        """Step, loss in NumPy, loss in PyTorch, their difference."""
        both = enumerate(zip(self.training.by_hand, self.training.by_torch, self.training.differences, strict=True))
        last = len(self.training.by_hand) - 1
        return [
            [str(i), f"{ours:.12f}", f"{theirs:.12f}", f"{difference:.0e}" if difference else "0"]
            for i, (ours, theirs, difference) in both
            if i % _EVERY == 0 or i == last
        ]

    @property
    def verdict(self) -> str:
        """What the table comes to."""
        t = self.training
        engine = max(abs(a - b) for a, b in zip(t.by_engine, t.by_torch, strict=True))
        right = ", ".join(f"{share:.1%} in {place}" for place, share in t.accuracy.items())
        return (
            f"The largest difference of {len(t.by_hand)} steps is {max(t.differences):.0e}, and {engine:.0e} with the "
            f"product of matrices, whose derivatives the engine finds. Digits that were not trained on are recognised: "
            f"{right}."
        )

    @property
    def plot(self) -> Plot:
        lines = {"the loss in NumPy": self.training.by_hand, "that in PyTorch": self.training.by_torch}
        steps = list(range(len(self.training.by_hand)))
        ends = 0, 1.05 * max(self.training.by_hand)
        return Plot(steps, "the steps of the training", lines, ends, widths=(2, 7), jump=math.inf)

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        t = self.training
        return {
            "name": "cnn",
            "summary": DOC.summary,
            "equations": [{"latex": latex, "unicode": terminal(latex)} for latex in DOC.equations],
            "text": [sentence(part) for part in DOC.body if isinstance(part, str)],
            "example": {
                part: [_plain(grid) for grid in getattr(self.worked, part)]
                for part in ("forwards", "backwards", "mean")
            },
            "entries": [terminal(latex) for latex in self.worked.entries],
            "code": [asdict(code) for code in self.codes],
            "losses": {"numpy": t.by_hand, "torch": t.by_torch},
            "largest_difference": max(t.differences),
            "accuracy": t.accuracy,
        }


def _plain(grid: Grid) -> dict[str, Any]:
    return {"latex": grid.symbol, "words": grid.words, "values": grid.values.tolist()}
