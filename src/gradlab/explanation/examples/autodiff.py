"""Worked examples of automatic differentiation."""

from gradlab import scratch
from gradlab.explanation.walk import Step, worked


@worked("multiply-gate", "A gate that multiplies, and its two derivatives")
def multiply_gate() -> list[Step]:
    x, y = scratch.Tensor(3.0), scratch.Tensor(-2.0)
    product = x * y
    product.backward()
    assert x.grad is not None
    assert y.grad is not None
    return [
        Step("Forwards, the gate multiplies.", r"f(x, y) = x y", f"f(3, -2) = {float(product.value):g}"),
        Step(
            "Backwards, each input has the other one for its derivative.",
            r"\frac{\partial f}{\partial x} = y \qquad \frac{\partial f}{\partial y} = x",
            f"∂f/∂x = {float(x.grad):g}, ∂f/∂y = {float(y.grad):g}",
        ),
    ]
