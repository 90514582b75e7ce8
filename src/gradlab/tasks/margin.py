"""Classification by a margin: the linear support vector machine in primal form, or any model with hinge losses."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.data import Examples, Targets
from gradlab.errors import GradlabError
from gradlab.nn.losses import hinge, squared_hinge
from gradlab.registry import Positive
from gradlab.tasks.classify import Classify
from gradlab.tasks.constant import Constant
from gradlab.tasks.evaluation import predict
from gradlab.tasks.finite import check_outputs
from gradlab.tasks.objective import Loss, Objective
from gradlab.tasks.task import has_targets, tasks


@tasks.register("margin")
class Margin(Classify):
    r"""One class of several by hinge losses of decision values f: the support vector machine.

    $$ \ell(f, y) = \sum_c \max(0, 1 - s_c f_c)^p, \qquad s_c = 1 \text{ for } c = y, \text{ else } -1 $$

    Two classes have one decision value, which is positive for the second; several have one each, against all others.
    With $C$ and a linear model the optimum is that of scikit-learn's LinearSVC, whose penalty is of the intercept too:

    $$ \tfrac12 |w|^2 + \tfrac12 b^2 + C \sum_i \ell(f(x_i), y_i) $$

    Probabilities are those of decision values taken for logits, which the temperature of a run calibrates.
    """

    sections: ClassVar[tuple[str, ...]] = ("margin", "classes")

    def __init__(
        self,
        targets: Targets,
        *,
        squared: Annotated[bool, "square the hinge (p = 2), which makes it smooth"] = False,
        C: Annotated[
            Positive | None,
            "what the sum of losses counts beside ½|w|²: sets train.weight_decay to 1 / (C · examples), of biases too",
        ] = None,
    ):
        super().__init__(targets)
        self.squared, self.C = squared, C
        self.outputs = 1 if len(self.classes) == 2 else len(self.classes)

    def objectives(self) -> Mapping[str, Objective]:
        own = {} if self.C is None else {"weight_decay": 1 / (self.C * sum(self.targets.counts)), "decay_all": True}
        return {"loss": Objective(loss=self._minimised, train=own)}

    def check(self, model: nn.Module, train: Any) -> None:
        if self.C is not None and hasattr(model, "learn_without_gradients"):
            raise GradlabError("task.C is for models that learn by gradients. Set model.C instead.")
        if has_targets(train) and len(seen := torch.unique(train.targets[:])) < 2:
            raise GradlabError(
                f"A margin lies between two classes, but all training examples are of the class "
                f"{self.classes[int(seen[0])]!r}. Add examples of another class, or make the other splits smaller."
            )

    def class_logits(self, output: Float[Tensor, "batch outputs"]) -> Float[Tensor, "batch classes"]:
        return F.pad(output, (1, 0)) if self.outputs == 1 else output

    def signs(self, target: Int64[Tensor, " batch"]) -> Float[Tensor, "batch outputs"]:
        """On which side of each decision value a target is: -1 or 1."""
        if self.outputs == 1:
            return 2.0 * target[:, None] - 1.0
        return 2.0 * F.one_hot(target, self.outputs) - 1.0

    def loss(
        self,
        output: Float[Tensor, "batch outputs"],
        target: Int64[Tensor, " batch"],
        weight: Float[Tensor, " batch"] | None = None,
    ) -> Loss:
        loss = squared_hinge if self.squared else hinge
        losses = loss(output, self.signs(target).to(output.dtype), reduction="none").sum(1)
        return (losses.sum() if weight is None else weight.to(losses.dtype) @ losses), len(target)

    def training_loss(
        self,
        output: Float[Tensor, "batch outputs"],
        target: Int64[Tensor, " batch"],
        weight: Float[Tensor, " batch"] | None = None,
    ) -> Loss:
        return self.loss(output, target, weight)

    def expected_initial_loss(self) -> tuple[float, str]:
        return float(self.outputs), "hinge losses of decision values of 0"

    def baselines(self, train: Examples, model: nn.Module) -> dict[str, Constant]:
        """Decision values of 1 for the most frequent class and -1 for others."""
        most = torch.bincount(train.targets, minlength=len(self.classes)).argmax()
        return {"majority class": Constant(self.signs(most[None])[0])}

    def answers(self, model: nn.Module, inputs: Any, temperature: float = 1.0) -> list[dict[str, Any]]:
        output = check_outputs(predict(self.at_test(model), inputs))
        decisions = output[:, 0] if self.outputs == 1 else output.amax(1)
        decoded = zip(self.decode(output / temperature), decisions.tolist(), strict=True)
        return [{"label": answer.pop("label"), "decision": decision, **answer} for answer, decision in decoded]
