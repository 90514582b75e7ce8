"""Support vector machines with kernels, which learn by solving their dual problem, without gradients."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.maths.kernel_functions import (
    KernelFunction,
    KernelName,
    check_positive_definite,
    kernel_function,
    scale_gamma,
)
from gradlab.maths.support_vectors import KernelColumns, Solution, regress, separate
from gradlab.models.registry import models
from gradlab.registry import Count, NonNegative, Positive
from gradlab.specs import Array

_PAIRS = 2**24  # kernel values that are held at once


@dataclass(frozen=True, kw_only=True)
class SupportVectorSettings:
    """What a support vector machine is made of."""

    C: Annotated[Positive, "what an error costs beside the width of the margin: the larger, the fewer errors"] = 1.0
    kernel: Annotated[KernelName, "inner product of examples: linear, rbf, polynomial or sigmoid"] = "rbf"
    gamma: Annotated[
        Positive | Literal["scale", "auto"],
        "factor γ in the kernel; scale: 1 / (features · variance), auto: 1 / features",
    ] = "scale"
    degree: Annotated[Count, "power of the polynomial kernel"] = 3
    coef0: Annotated[float, "what the polynomial and the sigmoid kernel add to the product"] = 0.0
    tol: Annotated[Positive, "violation of the conditions of the optimum at which it is reached"] = 1e-3
    updates: Annotated[Count, "most pairs of coefficients that a step changes, in each pair of classes"] = 1000
    cache: Annotated[Positive, "megabytes of columns of the kernel matrix that are kept"] = 256.0


class SupportVectors(nn.Module):
    r"""A sum of kernels at those training examples that matter, the support vectors.

    $$ f(x) = \sum_i \beta_i k(x_i, x) + b $$

    Each step goes on with the dual problem from the coefficients that the last one left. All numbers are float64.
    """

    vectors: Tensor
    rows: Tensor
    coefficients: Tensor
    intercepts: Tensor
    gamma: Tensor
    violation: Tensor

    def __init__(self, features: int, functions: int, settings: SupportVectorSettings, kernel: Any = None):
        """`functions` are to be learned; a `kernel` of one's own, a function of two sets of examples, is not saved."""
        super().__init__()
        self.settings, self.own_kernel = settings, kernel
        self._columns: KernelColumns | None = None
        empty = {"vectors": (0, features), "coefficients": (functions, 0), "intercepts": (functions,)}
        for name, shape in empty.items():
            self.register_buffer(name, torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("rows", torch.zeros(0, dtype=torch.int64))
        self.register_buffer("gamma", torch.ones((), dtype=torch.float64))
        self.register_buffer("violation", torch.tensor(torch.inf, dtype=torch.float64))

    @property
    def optimal(self) -> bool:
        """Whether the conditions of the optimum hold, up to `tol`."""
        return float(self.violation) <= self.settings.tol

    def fit_inputs(self, inputs: Tensor) -> None:
        """Refuse a kernel that is not positive definite, before the first step."""
        if not len(self.rows):
            self._check(inputs.detach().flatten(1).cpu().double())

    def _check(self, x: Tensor, weights: Tensor | None = None) -> str:
        self.gamma.fill_(scale_gamma(self.settings.gamma, x, weights))
        name = "own" if self.own_kernel else self.settings.kernel
        check_positive_definite(self._kernel(), x, name)
        return name

    def learn_without_gradients(self, train: Any, batch: Any) -> None:
        """One step: some updates of the coefficients, of all of the training examples."""
        if not self.optimal:
            weights = train.parts["weights"][:] if "weights" in train.parts else None
            self.step(train.inputs[:], train.targets[:], weights, self.settings.updates)

    def fit(self, inputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> "SupportVectors":
        """Solve it to the end, of examples that each count what their weight says."""
        self.step(inputs, targets, weights, None)
        return self

    def step(self, inputs: Tensor, targets: Tensor, weights: Tensor | None, updates: int | None) -> None:
        x = inputs.detach().flatten(1).cpu().double()
        bounds = self.settings.C * (np.ones(len(x)) if weights is None else weights.detach().cpu().double().numpy())
        coefficients = torch.zeros(len(self.intercepts), len(x), dtype=torch.float64)
        coefficients[:, self.rows.cpu()] = self.coefficients.cpu()
        solutions = self._solve(
            self._prepared(x, torch.from_numpy(bounds)), targets.detach().cpu(), bounds, coefficients.numpy(), updates
        )
        self._hold(x, solutions)

    def _solve(
        self, columns: KernelColumns, targets: Tensor, bounds: Any, start: Any, updates: int | None
    ) -> list[Solution]:
        raise NotImplementedError

    def _prepared(self, x: Tensor, weights: Tensor) -> KernelColumns:
        """Columns of the kernel matrix, which are kept from step to step; a resumed training computes the same."""
        if self._columns is None or self._columns.x.shape != x.shape or not torch.equal(self._columns.x, x):
            name = self._check(x, weights)
            self._columns = KernelColumns(self._kernel(), x, self.settings.cache, name)
        return self._columns

    def _hold(self, x: Tensor, solutions: list[Solution]) -> None:
        device, dense = self.vectors.device, torch.from_numpy(np.stack([s.coefficients for s in solutions]))
        rows = dense.any(0).nonzero()[:, 0]
        self.rows, self.vectors, self.coefficients = (p.to(device) for p in (rows, x[rows], dense[:, rows]))
        self.intercepts.copy_(torch.tensor([s.intercept for s in solutions], dtype=torch.float64))
        self.violation.fill_(max(s.violation for s in solutions))

    def _kernel(self) -> KernelFunction:
        if self.own_kernel is not None:
            return self.own_kernel  # type: ignore[no-any-return]
        s = self.settings
        return kernel_function(s.kernel, gamma=float(self.gamma), degree=s.degree, coef0=s.coef0)

    def values(self, x: Float[Tensor, "batch *shape"]) -> Float[Tensor, "batch functions"]:
        """f(x) of each function."""
        kernel, at_once = self._kernel(), max(1, _PAIRS // max(1, len(self.vectors)))
        parts = torch.split(x.flatten(1).double(), at_once)
        return torch.cat([kernel(part, self.vectors) @ self.coefficients.T for part in parts]) + self.intercepts

    def forward(self, x: Float[Tensor, "batch *shape"]) -> Float[Tensor, "batch outputs"]:
        return self.values(x)

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *rest: Any) -> None:
        """How many support vectors there are is known only after learning: they are taken as they were saved."""
        for name in ("vectors", "rows", "coefficients"):
            if (saved := state_dict.get(prefix + name)) is not None:
                setattr(self, name, torch.zeros_like(saved, device=self.vectors.device))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_columns": None}  # which are computed again where they are needed

    def extra_repr(self) -> str:
        return f"{len(self.vectors)} support vectors, kernel={self.settings.kernel}, C={self.settings.C:g}"


class SupportVectorRegression(SupportVectors):
    r"""The flattest functions whose errors are within ε, or cost what they are beyond it.

    $$ \min \tfrac12 |w|^2 + C \sum_i \max(0, |y_i - f(x_i)| - \varepsilon) $$

    >>> x = torch.arange(5.0)[:, None]
    >>> settings = SupportVectorSettings(kernel="linear", C=10.0)
    >>> SupportVectorRegression(1, 1, settings, epsilon=0.5).fit(x, 2 * x)(torch.tensor([[1.0]]))
    tensor([[2.2500]], dtype=torch.float64)
    """

    def __init__(
        self,
        features: int,
        outputs: int,
        settings: SupportVectorSettings = SupportVectorSettings(),
        kernel: Any = None,
        *,
        epsilon: float = 0.1,
    ):
        super().__init__(features, outputs, settings, kernel)
        self.epsilon = epsilon

    def _solve(
        self, columns: KernelColumns, targets: Tensor, bounds: Any, start: Any, updates: int | None
    ) -> list[Solution]:
        many = targets.double().reshape(len(targets), -1).T.numpy()
        return [
            regress(columns, y, bounds, self.epsilon, begun, tolerance=self.settings.tol, updates=updates)
            for y, begun in zip(many, start, strict=True)
        ]


class SupportVectorClassification(SupportVectors):
    r"""The widest margin between two classes, and between each pair of several: one versus one.

    $$ \min \tfrac12 |w|^2 + C \sum_i \max(0, 1 - y_i f(x_i)), \qquad y_i \in \{-1, 1\} $$

    The `values` of a pair (a, b) are positive for the first of the two, as those of scikit-learn are; of two classes
    alone they are positive for the second. Of several classes the outputs are the `votes` of the pairs, moved and
    stretched so that a class which wins all its pairs is at 1 or about it, and one that loses one of them at -1.

    >>> x, y = torch.tensor([[0.0], [1.0], [3.0], [5.0]]), torch.tensor([0, 0, 1, 1])
    >>> SupportVectorClassification(1, 2, SupportVectorSettings(kernel="linear")).fit(x, y)(torch.tensor([[2.5]]))
    tensor([[0.5000]], dtype=torch.float64)
    """

    def __init__(
        self,
        features: int,
        classes: int,
        settings: SupportVectorSettings = SupportVectorSettings(),
        kernel: Any = None,
        *,
        outputs: int | None = None,
    ):
        """With as many `outputs` as classes, two classes have two: 0 and f."""
        super().__init__(features, classes * (classes - 1) // 2, settings, kernel)
        self.pairs = list(combinations(range(classes), 2))
        self.classes, self.outputs = classes, outputs or (1 if classes == 2 else classes)

    def _solve(
        self, columns: KernelColumns, targets: Tensor, bounds: Any, start: Any, updates: int | None
    ) -> list[Solution]:
        labels = targets.numpy()
        counts = np.bincount(labels, minlength=self.classes)
        if (counts == 0).any():
            raise GradlabError(
                f"A support vector machine separates classes, but {int((counts > 0).sum())} of {self.classes} "
                "classes are in the training examples. Add examples, or leave out the others (data.classes)."
            )
        solutions = []
        for (a, b), begun in zip(self.pairs, start, strict=True):
            here = np.flatnonzero((labels == a) | (labels == b))
            positive = b if self.classes == 2 else a
            solved = separate(
                columns,
                here,
                np.where(labels[here] == positive, 1.0, -1.0),
                bounds[here],
                begun[here],
                tolerance=self.settings.tol,
                updates=updates,
            )
            whole = np.zeros(len(labels))
            whole[here] = solved.coefficients
            solutions.append(solved._replace(coefficients=whole))
        return solutions

    def forward(self, x: Float[Tensor, "batch *shape"]) -> Float[Tensor, "batch outputs"]:
        values = self.values(x)
        if self.classes == 2:
            return values if self.outputs == 1 else nn.functional.pad(values, (1, 0))
        return 2 * (votes(values, self.classes) - self.classes) + 3


def votes(values: Float[Tensor, "batch pairs"], classes: int) -> Float[Tensor, "batch classes"]:
    """How many pairs each class wins, and a third or less that says by how much; the `decision_function` of SVC.

    >>> votes(torch.tensor([[2.0, 1.0, -1.0]]), 3)
    tensor([[ 2.2500, -0.2500,  1.0000]])
    """
    first, second = torch.tensor(list(combinations(range(classes), 2)), device=values.device).T
    won, sums = (torch.zeros(len(values), classes, dtype=values.dtype, device=values.device) for _ in range(2))
    won.index_add_(1, first, (values >= 0).to(values.dtype)).index_add_(1, second, (values < 0).to(values.dtype))
    sums.index_add_(1, first, values).index_add_(1, second, -values)
    return won + sums / (3 * (sums.abs() + 1))


@models.register("support-vector-classifier")
def support_vector_classifier(
    inputs: Array, outputs: int, *, settings: SupportVectorSettings = SupportVectorSettings()
) -> nn.Module:
    """A support vector machine with a kernel for classes, in dual form; several classes one versus one."""
    size = int(np.prod(inputs.shape))
    return SupportVectorClassification(size, max(2, outputs), settings, outputs=outputs)


@models.register("support-vector-regressor")
def support_vector_regressor(
    inputs: Array,
    outputs: int,
    *,
    epsilon: Annotated[NonNegative, "error that costs nothing, in standard deviations of the target"] = 0.1,
    settings: SupportVectorSettings = SupportVectorSettings(),
) -> nn.Module:
    """A support vector machine with a kernel for numbers, in dual form."""
    return SupportVectorRegression(int(np.prod(inputs.shape)), outputs, settings, epsilon=epsilon)
