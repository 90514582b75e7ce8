"""How derivatives are found: the NumPy engine at work on one neuron."""

from dataclasses import dataclass
from typing import Any

from gradlab.explanation.block import SourceCode
from gradlab.scratch import Tensor, gates
from gradlab.scratch import tensor as engine
from gradlab.scratch.drawing import svg, text
from gradlab.scratch.functions import sigmoid

SUMMARY = (
    "Reverse-mode automatic differentiation: the graph of a computation, walked once from the result to the start."
)
EQUATION = r"\ell = \frac{1}{2} \left( \sigma(w x + b) - y \right)^2"
STEPS = [
    "Forwards, each gate computes its value and keeps what its derivative needs. The tensors remember what they were "
    "made from: they are the graph.",
    "Backwards, from the result, whose gradient is 1, each gate turns the gradient of its output into those of its "
    "inputs: the chain rule, one factor at a time. Where a tensor is used more than once, its gradients add up.",
    "All derivatives together cost about as much as the result itself, however many parameters there are.",
]


@dataclass(frozen=True)
class Autodiff:
    """One neuron with a squared loss: its graph with values and gradients, and the code that found them."""

    graph: str
    picture: str
    narrow: str
    """The same picture for a narrow window."""
    gate: SourceCode
    backward: SourceCode

    @classmethod
    def of_a_neuron(cls) -> "Autodiff":
        w, x, b = Tensor(2.0, "w"), Tensor(-1.5, "x"), Tensor(1.0, "b")
        loss = 0.5 * (sigmoid(w * x + b) - 1.0) ** 2
        loss.name = "loss"
        loss.backward()
        codes = SourceCode.of_twin(gates.multiply), SourceCode.of_twin(engine.Tensor.backward)
        return cls(text(loss), svg(loss), svg(loss, down=True), *codes)

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": "autodiff",
            "summary": SUMMARY,
            "equations": [{"latex": EQUATION}],
            "text": STEPS,
            "graph": self.graph,
            "svg": self.picture,
            "code": [{"name": code.name, "text": code.text} for code in (self.gate, self.backward)],
        }
