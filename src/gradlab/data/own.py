"""Data that come ready: splits of one's own making, taken as they are."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from gradlab import specs
from gradlab.data.dataset import Dataset, SplitSeed
from gradlab.data.examples import Examples
from gradlab.data.preparation import Preparation
from gradlab.data.raw import Targets, Wants
from gradlab.errors import GradlabError
from gradlab.registry import shortly
from gradlab.specs import Spec

_ROWS = 4096  # that are looked at together


def seeded(built: Any, wants: Wants | None = None, *, seed: SplitSeed = 0) -> Dataset:
    """Has the knob of every source of ready splits, which are taken as they are: other data are refused."""
    raise GradlabError(
        f"What @gradlab.register.dataset registers must give a Dataset, but it gave {shortly(built)}. All examples as "
        "a Raw, which gradlab splits and preprocesses, are for @gradlab.register.data."
    )


@dataclass(frozen=True)
class Ready(Preparation):
    """Examples that need no preparation: what they are is all that a run must know. It stands for their source too."""

    kind: ClassVar[str] = "ready"

    example: Spec
    key: str = ""
    notes: list[str] = field(default_factory=list)
    reader: Any = None

    @property
    def spec(self) -> Spec:
        return self.example

    def describe(self) -> dict[str, Any]:
        return {"spec": specs.plain(self.example)}

    @classmethod
    def read_back(cls, described: dict[str, Any], targets: dict[str, Any], read: Callable[[str], str]) -> "Ready":
        return cls(specs.read(described["spec"]))

    def fingerprint(self) -> str:
        return self.key


def ready(train: Any, validation: Any, test: Any, spec: Spec, targets: Targets | None, notes: list[str]) -> Dataset:
    """A dataset of splits as they are."""
    digest = hashlib.sha256()
    for split in (train, validation, test):
        if isinstance(split, Examples):
            digest.update(str(len(split)).encode())
            for column in split.parts.values():
                for start in range(0, len(split), _ROWS) if hasattr(column, "__getitem__") else ():
                    rows = column[start : start + _ROWS].detach().cpu().contiguous()
                    digest.update(str((rows.dtype, tuple(rows.shape))).encode())
                    digest.update(rows.view(-1).numpy().tobytes())
    prepared = Ready(spec, digest.hexdigest(), notes)
    return Dataset(
        train=train,
        validation=validation,
        test=test,
        raw=prepared,
        preprocessing=prepared,
        targets=targets or Targets(),
    )
