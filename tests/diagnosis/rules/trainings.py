"""Small trainings, and what the doctor says of them."""

import functools
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.diagnosis.doctor import Doctor
from gradlab.diagnosis.finding import Finding

Make = Callable[..., torch.optim.Optimizer]


# -- data --------------------------------------------------------------------------------------------------------------


def groups(rows: int = 256, columns: int = 8, classes: int = 4) -> tuple[Tensor, Tensor]:
    """Clouds of points, one for each class: learnt in a few steps."""
    y = torch.arange(rows) % classes
    return 2 * torch.randn(classes, columns)[y] + torch.randn(rows, columns), y


def rings(rows: int = 256, columns: int = 2) -> tuple[Tensor, Tensor]:
    """Two classes, one around the other: no straight line parts them."""
    y = torch.arange(rows) % 2
    x = F.normalize(torch.randn(rows, columns), dim=1)
    return x * (1 + 1.5 * y[:, None] + 0.1 * torch.randn(rows, 1)), y


def slope(rows: int = 256, columns: int = 6) -> tuple[Tensor, Tensor]:
    """Numbers (rows, 1) that a line explains but for a little noise."""
    x = torch.randn(rows, columns)
    return x, x @ torch.randn(columns, 1) + 0.1 * torch.randn(rows, 1)


def bowl(rows: int = 256, columns: int = 4) -> tuple[Tensor, Tensor]:
    """Numbers (rows, 1) of which no line explains anything."""
    x = torch.randn(rows, columns)
    return x, x.square().sum(1, keepdim=True) / columns - 1


def series(rows: int = 128, length: int = 6, columns: int = 5, classes: int = 3) -> tuple[Tensor, Tensor]:
    """Sequences (rows, length, columns) with a class for each."""
    y = torch.arange(rows) % classes
    return torch.randn(classes, 1, columns)[y] + 0.5 * torch.randn(rows, length, columns), y


def pictures(rows: int = 128, size: int = 8, classes: int = 3) -> tuple[Tensor, Tensor]:
    """Pictures (rows, 1, size, size) with a class for each."""
    y = torch.arange(rows) % classes
    return torch.randn(classes, 1, size, size)[y] + 0.5 * torch.randn(rows, 1, size, size), y


def batches(*tensors: Tensor, steps: int = 40, rows: int = 32) -> Iterator[list[Tensor]]:
    """Drawn rows, so many times."""
    for _ in range(steps):
        at = torch.randint(len(tensors[0]), (rows,))
        yield [tensor[at] for tensor in tensors]


# -- models and loops --------------------------------------------------------------------------------------------------


def mlp(columns: int = 8, outputs: int = 4, hidden: int = 16) -> nn.Sequential:
    return nn.Sequential(nn.Linear(columns, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


sgd = functools.partial(torch.optim.SGD, lr=0.1)
adam = functools.partial(torch.optim.Adam, lr=1e-2)


def fit(
    model: nn.Module,
    loss: Callable[[Tensor, Tensor], Tensor],
    x: Tensor,
    y: Tensor,
    *,
    make: Make = sgd,
    steps: int = 40,
    rows: int = 32,
) -> None:
    """The loop that most trainings have."""
    optimizer = make([p for p in model.parameters() if p.requires_grad])
    for inputs, targets in batches(x, y, steps=steps, rows=rows):
        optimizer.zero_grad()
        loss(model(inputs), targets).backward()
        optimizer.step()


# -- what is said ------------------------------------------------------------------------------------------------------


def watching() -> Doctor:
    return Doctor(tell=False)


def found(doctor: Doctor, slug: str) -> Finding:
    """The one finding of that name."""
    assert doctor.verdict.faults == []
    (finding,) = [f for f in doctor.verdict.findings if f.slug == slug]
    return finding


def grave(doctor: Doctor, *slugs: str) -> list[Finding]:
    """Errors and warnings of these names; of all, if none is given."""
    assert doctor.verdict.faults == []
    assert doctor.verdict.refusal is None
    return [f for f in doctor.verdict.findings if f.severity != "note" and (not slugs or f.slug in slugs)]
