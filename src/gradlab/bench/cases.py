"""What the contestants train: small enough to show what a loop costs, or large enough to show what the work costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gradlab.errors import GradlabError, unknown


@dataclass(frozen=True, kw_only=True)
class Case:
    """A training that is the same for every contestant: batches in a shuffled order, a constant learning rate."""

    name: str
    title: str
    data: Literal["digits", "prototypes", "pydoc"]
    model: Literal["mlp", "lenet", "lstm", "gpt"]
    hidden: tuple[int, ...] = ()
    """Units of each layer."""
    rows: int
    length: int = 0
    """Tokens of an example, where the examples are windows of a text."""
    batch_size: int
    epochs: int = 1
    optimizer: Literal["Adam", "AdamW"] = "Adam"
    lr: float = 1e-3
    weight_decay: float = 0.0
    clip: float = 0.0
    """The longest gradient; 0 for any."""

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

TEXT_CASES = {
    case.name: case
    for case in (
        Case(
            name="lstm",
            title="LSTM 2×256 on windows of 128 characters",
            data="pydoc",
            model="lstm",
            hidden=(256, 256),
            rows=10 * 32,
            length=128,
            batch_size=32,
            clip=1.0,
        ),
        Case(
            name="gpt",
            title="GPT 4×128 with 4 heads on windows of 64 characters",
            data="pydoc",
            model="gpt",
            hidden=(128,) * 4,
            rows=100 * 12,
            length=64,
            batch_size=12,
            optimizer="AdamW",
            weight_decay=0.1,
            clip=1.0,
        ),
    )
}


def check_cases(names: Sequence[str], valid: Mapping[str, Case]) -> None:
    for name in names:
        if name not in valid:
            raise unknown("case", name, valid)


def check_rounds(rounds: int) -> None:
    if rounds < 1:
        raise GradlabError(f"A benchmark needs at least one round, got {rounds}.")
