"""Who competes. Each file here is one way to train, written as its own users would; this one only lists them."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gradlab.bench.cases import Case


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
    reference: bool = False
    """Ratios are to the faster of the references of a case."""

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
    "tutorial": Entry(title="tutorial loop", path=f"{_HERE}.tutorial:Tutorial", reference=True),
    "floor": Entry(title="floor: forward and backward alone", path=f"{_HERE}.floor:Floor"),
    "by-hand": Entry(title="by hand: resident data, fused Adam", path=f"{_HERE}.by_hand:ByHand"),
    "lightning": Entry(title="Lightning", path=f"{_HERE}.lightning:Lightning", requires="lightning"),
    "keras": Entry(title="Keras on torch", path=f"{_HERE}.keras:Keras", requires="keras"),
    "skorch": Entry(title="skorch", path=f"{_HERE}.skorch:Skorch", requires="skorch"),
}


def _with_one_thread(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """gradlab chooses its number of threads; the others have torch's, which is too many for small work.

    So each of them also runs with one, and nobody is beaten by a default.
    """
    return {f"{name}-1": replace(e, title=f"{e.title}, 1 thread", threads=1) for name, e in entries.items()}


# NumPy alone; on the larger cases it is several times slower than anybody here and would only cost time.
_NUMPY = {
    "scikit-learn": Entry(
        title="scikit-learn MLPClassifier", path=f"{_HERE}.sklearn:ScikitLearn", requires="sklearn", cases=("digits",)
    ),
}

ENTRIES = {**_GRADLAB, **_OTHERS, **_with_one_thread(_OTHERS), **_NUMPY}
"""Who learns to name what is in a picture."""

_TEXT = f"{_HERE}.text"

_TEXT_REFERENCES = {
    "tutorial": Entry(title="tutorial loop", path=f"{_TEXT}.tutorial:Tutorial", cases=("lstm",), reference=True),
    "nanogpt": Entry(title="nanoGPT's loop", path=f"{_TEXT}.nanogpt:NanoGPT", cases=("gpt",), reference=True),
}

TEXT_ENTRIES = {
    **{name: replace(_GRADLAB[name], path=f"{_TEXT}.gradlab:GradlabText") for name in ("gradlab", "gradlab-bare")},
    **_TEXT_REFERENCES,
    **_with_one_thread(_TEXT_REFERENCES),
    # With memory kept, as gradlab has it: a floor must not lie above what stands on it.
    "floor": Entry(title="floor: forward and backward alone", path=f"{_TEXT}.floor:Floor", prepared=True),
    "by-hand": Entry(title="by hand: resident data, fused update", path=f"{_TEXT}.by_hand:ByHand"),
    "lightning": Entry(title="Lightning", path=f"{_TEXT}.lightning:Lightning", requires="lightning"),
}
"""Who learns to continue a text. Their models are plain PyTorch, as their users would write them."""


def entries(case: Case) -> dict[str, Entry]:
    """Who competes in a case."""
    family = TEXT_ENTRIES if case.length else ENTRIES
    return {name: entry for name, entry in family.items() if not entry.cases or case.name in entry.cases}
