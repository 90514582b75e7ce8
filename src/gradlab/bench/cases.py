"""What the contestants train: small enough to show what a loop costs, or large enough to show what the work costs."""

from dataclasses import dataclass
from typing import Literal

from gradlab.errors import GradlabError, unknown


@dataclass(frozen=True, kw_only=True)
class Case:
    """A training that is the same for every contestant: Adam at `lr`, batches in a shuffled order."""

    name: str
    title: str
    data: Literal["digits", "prototypes"]
    model: Literal["mlp", "lenet"]
    hidden: tuple[int, ...] = ()
    rows: int
    batch_size: int
    epochs: int = 1
    lr: float = 1e-3

    @property
    def steps(self) -> int:
        return self.epochs * -(-self.rows // self.batch_size)


CASES = {
    case.name: case
    for case in (
        Case(
            name="digits",
            title="MLP 64-128-10 on 1,437 handwritten digits",
            data="digits",
            model="mlp",
            hidden=(128,),
            rows=1437,
            batch_size=32,
            epochs=20,
        ),
        Case(
            name="mlp",
            title="MLP 784-512-512-10 on made-up data of MNIST's shape",
            data="prototypes",
            model="mlp",
            hidden=(512, 512),
            rows=400 * 64,
            batch_size=64,
        ),
        Case(
            name="lenet",
            title="LeNet on made-up data of MNIST's shape",
            data="prototypes",
            model="lenet",
            rows=120 * 64,
            batch_size=64,
        ),
    )
}


def check_case(name: str) -> None:
    if name not in CASES:
        raise unknown("case", name, CASES)


def check_rounds(rounds: int) -> None:
    if rounds < 1:
        raise GradlabError(f"A benchmark needs at least one round, got {rounds}.")
