"""Who competes. Each file here is one way to train, written as its own users would; this one only lists them."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A contestant and the settings of its process. `path` is resolved there, so that its imports are its own."""

    title: str
    path: str
    options: Mapping[str, Any] = field(default_factory=dict)
    requires: str = "torch"
    threads: int | None = None
    """None leaves torch's default."""
    cases: tuple[str, ...] = ()
    """The only cases it competes in; empty for all."""
    prepared: bool = False
    """Starts as gradlab's command line does."""

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.requires) is not None


_HERE = "gradlab.bench.contestants"

_GRADLAB = {
    "gradlab": Entry(
        title="gradlab, observers on", path=f"{_HERE}.gradlab:Gradlab", options={"observed": True}, prepared=True
    ),
    "gradlab-bare": Entry(
        title="gradlab, no observers", path=f"{_HERE}.gradlab:Gradlab", options={"observed": False}, prepared=True
    ),
    # Less exact arithmetic than the others', so a row of its own, in the case where it pays on CPUs made for it.
    "gradlab-bf16": Entry(
        title="gradlab, observers on, bf16",
        path=f"{_HERE}.gradlab:Gradlab",
        options={"observed": True, "precision": "bf16"},
        cases=("mlp",),
        prepared=True,
    ),
}

_OTHERS = {
    "tutorial": Entry(title="tutorial loop", path=f"{_HERE}.tutorial:Tutorial"),
    "floor": Entry(title="floor: forward and backward alone", path=f"{_HERE}.floor:Floor"),
    "by-hand": Entry(title="by hand: resident data, fused Adam", path=f"{_HERE}.by_hand:ByHand"),
    "lightning": Entry(title="Lightning", path=f"{_HERE}.lightning:Lightning", requires="lightning"),
    "keras": Entry(title="Keras on torch", path=f"{_HERE}.keras:Keras", requires="keras"),
    "skorch": Entry(title="skorch", path=f"{_HERE}.skorch:Skorch", requires="skorch"),
}

# gradlab chooses its number of threads; the others have torch's, which is too many for small work. So each of them
# also runs with one, and nobody is beaten by a default.
_ONE_THREAD = {f"{name}-1": replace(e, title=f"{e.title}, 1 thread", threads=1) for name, e in _OTHERS.items()}

# NumPy alone; on the larger cases it is several times slower than anybody here and would only cost time.
_NUMPY = {
    "scikit-learn": Entry(
        title="scikit-learn MLPClassifier", path=f"{_HERE}.sklearn:ScikitLearn", requires="sklearn", cases=("digits",)
    ),
}

ENTRIES = {**_GRADLAB, **_OTHERS, **_ONE_THREAD, **_NUMPY}

REFERENCES = ("tutorial", "tutorial-1")
"""Ratios are to the faster of these."""
