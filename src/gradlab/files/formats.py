"""What the JSON files of runs and studies hold. Other keys may stand beside these: later versions add some."""

import math
from typing import Annotated, Any, Literal, NotRequired

from pydantic import BeforeValidator, ConfigDict, Field
from typing_extensions import TypedDict

Count = Annotated[int, Field(ge=0)]
Number = Annotated[float, BeforeValidator(lambda value: math.nan if value is None else value)]
"""JSON knows no NaN: null stands for it."""
Figures = dict[str, Number]

_OPEN = ConfigDict(extra="allow")


class EnvironmentFile(TypedDict):
    """environment.json: where a run happened."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]

    gradlab: str
    python: NotRequired[str]
    torch: str
    numpy: NotRequired[str]
    system: NotRequired[str]
    processor: NotRequired[str]
    cores: NotRequired[int | None]
    device: str
    device_name: str
    threads: Annotated[int, Field(ge=1)]
    processes: NotRequired[Annotated[int, Field(ge=1)]]
    step: str
    step_reason: NotRequired[str]
    """Why the step is eager, where it could have been replayed."""
    command: NotRequired[str]
    started: NotRequired[str]
    code: NotRequired[dict[str, str]]
    """SHA-256 of the user's own files that registered parts of the recipe, by their names."""


class Line(TypedDict):
    """A line of metrics.jsonl; beside these it has the figures."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]

    step: Count
    epoch: float
    split: str


class Data(TypedDict):
    """data.json: what the inputs and targets are, and how raw ones become those."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]

    inputs: dict[str, Any]
    reader: NotRequired[dict[str, Any] | None]
    targets: dict[str, Any]
    sizes: dict[str, Count]
    fingerprint: str


class Calibration(TypedDict):
    """Of a classifier: the temperature that was fitted, or 1 and why it was refused; the loss on held-out folds of the
    validation split and the calibration error, both without it and with it."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]

    split: NotRequired[str]
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    refused: NotRequired[str]
    held_out_loss: NotRequired[Number]
    held_out_loss_calibrated: NotRequired[Number]
    test_ece: NotRequired[Number]
    test_ece_calibrated: NotRequired[Number]


class FeaturesFile(TypedDict):
    """features.json: by which features the samples of a run are compared with examples."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]

    kind: Literal["numbers", "classifier", "random"]
    dimension: Count


class Pruning(TypedDict):
    """pruning.json of a run that begins with pruned weights: of which run they are, and how many are kept."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]

    of: str
    keep: Annotated[float, Field(gt=0, le=1)]
    by: Literal["global", "layer"]
    start: Literal["trained", "rewind", "reinit"]
    """Where the kept weights begin: as trained, as they were before the first step, or drawn anew."""
    kept: Count
    weights: Count
    layers: dict[str, list[Count]]
    """For each parameter that is pruned: kept weights, and all."""


class BestBaseline(TypedDict):
    """The most telling figure of a finished model next to that of its best baseline."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]

    split: str
    metric: str
    value: float | None
    baseline: str
    baseline_value: float | None
    standard_error: float | None
    """Of the difference; None where it is not known."""
    better: bool
    """By more than the standard error."""


class ReferenceFigures(TypedDict, total=False):
    """The baseline that a model is compared with first: its name, and its figures on each split."""

    name: str
    validation: Figures
    test: Figures


class Result(TypedDict):
    """result.json: what came out of a run. It is finished when this is there."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]

    run: NotRequired[str]
    recipe: str
    steps: Count
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    parameters: Count
    ended: Literal["finished", "patience"]
    weights: str
    validation: Figures
    test: Figures
    baseline: ReferenceFigures
    baselines: NotRequired[dict[str, dict[str, Figures]]]
    best_baseline: NotRequired[BestBaseline]
    calibration: NotRequired[Calibration]
    notes: NotRequired[list[str]]
    """What a person should know of the figures."""
    findings: NotRequired[list[dict[str, Any]]]
    pruning: NotRequired[Pruning]


class StateFile(TypedDict):
    """state.json of a checkpoint: all of it that is no tensor. `{"$tensor": NAME}` stands for one."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]

    step: Count
    optimizer: dict[str, Any]
    rng: NotRequired[dict[str, str]]
    progress: NotRequired[dict[str, Any]]


class LearnerState(TypedDict):
    """Where the network of an estimator stands."""

    preprocessing: dict[str, Any]
    dtype: Literal["float32", "float64"]
    seed: int
    epochs: Count
    losses: list[float]


class EstimatorState(TypedDict):
    """What state.json of a saved estimator says of it; `parameters` and `known` have values as `plain` writes them."""

    format: Literal[1]
    gradlab: str
    kind: str
    parameters: dict[str, Any]
    known: dict[str, Any]
    learner: LearnerState


class Study(TypedDict):
    """study.json: what was asked for, from the first moment on, and what has come out."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]

    asked: dict[str, Any]
    members: NotRequired[list[dict[str, Any]]]
    result: NotRequired[dict[str, Any]]


class TrialOutcome(TypedDict):
    """What the database of a sweep holds of a trial that has ended."""

    ended: str
    steps: NotRequired[Count]
    seconds: NotRequired[float]
    test: NotRequired[Figures]


class Index(TypedDict):
    """model.safetensors.index.json of Hugging Face: which file has which tensor."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]

    weight_map: dict[str, str]
