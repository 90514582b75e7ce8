"""What was seen of a training: plain data that rules read. Nothing in here judges, and nothing changes the training."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from gradlab.diagnosis.series import Series, median


@dataclass(frozen=True)
class Site:
    """A line of the user's code."""

    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(kw_only=True)
class Parameter:
    """A leaf tensor that a training could change."""

    name: str
    """As seen from its root: `net.layers.0.weight`."""
    shape: tuple[int, ...]
    requires_grad: bool
    dtype: str = "float32"
    owner: str = ""
    """The class of the module it belongs to."""
    registered: bool = True
    """Whether its root's parameters() give it."""
    site: Site | None = None
    """Where it came into being."""
    # Before the first step:
    mean: float = math.nan
    std: float = math.nan
    rows_equal: bool = False
    """Whether all output units began with the same weights,"""
    rows_equal_later: bool = False
    """and still had the same when they were looked at last."""
    loaded: bool = False
    """Whether load_state_dict or an assignment gave it its values."""
    inherited: bool = False
    """Whether another root's had the same values, or it had been trained before the watch began."""
    drawn: bool = True
    """Whether it could have been drawn at random, as torch's initialisers draw."""
    asked: bool = False
    """Whether its own gradient was asked for, as that of an input is."""
    # Over the looks:
    gradient: Series = field(default_factory=Series)
    """Norm of the gradient as the optimiser finds it."""
    weight: Series = field(default_factory=Series)
    """Norm of the values."""
    first_gradient: float = math.nan
    """Root mean square of the gradient's elements at the first look."""
    update: Series = field(default_factory=Series)
    """Norm of one step's change, divided by the norm of the values."""
    # At the end:
    used: int = 0
    """Looks in which its module ran, in a root's call with gradients on."""
    used_without: int = 0
    """Looks in which its module ran with gradients off in the whole call."""
    reached: int = 0
    """Looks in which a loss depended on it."""
    optimizer: int | None = None
    """Which optimiser has it."""
    changed: bool = False
    """Whether its values have ever changed."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(kw_only=True)
class Module:
    """A module that has run."""

    path: str
    kind: str
    site: Site | None = None
    root: str = ""
    registered: bool = True
    """Whether its root knows it as a submodule."""
    leaf: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    """What its constructor was given, as far as it is simple: p, num_features, eps, in_features, …"""
    trained: int = 0
    """Looks with gradients on, in which it ran."""
    trained_in_eval: int = 0
    """Those of them in which its `training` was False."""
    judged: int = 0
    """Looks with gradients off."""
    judged_in_train: int = 0
    per_channel: Series = field(default_factory=Series)
    """Batch norm in training: how many values each channel's statistics are made of."""
    mean: Series = field(default_factory=Series)
    std: Series = field(default_factory=Series)
    """Of its outputs, in training."""


@dataclass(kw_only=True)
class Activation:
    """A non-linearity in the graph of a loss, whether a module or a function made it."""

    kind: str
    """relu, tanh, sigmoid, softmax, gelu, …"""
    where: str
    """The module that made it, else its number among its kind: `relu #2`."""
    order: int
    """Its place, from the input to the loss."""
    hidden: bool = True
    """Whether parameters come after it."""
    units: int = 0
    dead: Series = field(default_factory=Series)
    """relu: the share of units that were zero for every row of the last looks (up to 20 of them)."""
    zero: Series = field(default_factory=Series)
    """relu: the share of outputs that are zero."""
    saturated: Series = field(default_factory=Series)
    """tanh, sigmoid: the share of outputs within 1 % of their rails."""
    gradient: Series = field(default_factory=Series)
    """Root mean square of the gradient that comes back to it."""


@dataclass(kw_only=True)
class Node:
    """An operation of a loss's graph."""

    name: str
    """As autograd names it, without `Backward0`: Addmm, NllLoss, LogSoftmax, Relu, AccumulateGrad, …"""
    inputs: list[int]
    """The nodes whose results it took; those come later in the list: node 0 is the loss."""
    shape: tuple[int, ...] = ()
    """Of its result."""
    dim: int | None = None
    """The axis it works along, where it has one."""
    axes: tuple[int, ...] = ()
    """Of what moves axes: which axis of its input each one of its result is."""
    other: tuple[int, ...] | None = None
    """Of a product with something that has no graph: the shape of that."""
    parameter: str | None = None
    """AccumulateGrad: the name of the parameter."""
    module: str | None = None
    """The path of the module whose output it is."""
    low: float = math.nan
    high: float = math.nan
    """The range of the tensor that it has saved, where it saved one (its result, or else its input)."""


@dataclass(kw_only=True)
class Graph:
    """The graph of a loss, at one look: `nodes[0]` is the loss itself."""

    step: int
    nodes: list[Node]

    def named(self, *names: str) -> Iterator[tuple[int, Node]]:
        return ((i, node) for i, node in enumerate(self.nodes) if node.name in names)

    def above(self, index: int) -> set[int]:
        """All that a node was computed from, with itself."""
        found, waiting = {index}, [index]
        while waiting:
            for i in self.nodes[waiting.pop()].inputs:
                if i not in found:
                    found.add(i)
                    waiting.append(i)
        return found

    def parameters(self) -> set[str]:
        return {node.parameter for node in self.nodes if node.parameter is not None}


@dataclass(kw_only=True)
class Loss:
    """What `backward()` was called on, at one line of the user's code."""

    site: Site | None
    values: Series = field(default_factory=Series)
    count: int = 0
    """Calls of backward()."""
    nodes: Series = field(default_factory=Series)
    """The size of its graph."""
    carried: Series = field(default_factory=Series)
    """How much of it was part of a graph at a look before."""
    seconds: Series = field(default_factory=Series)
    """How long the backward pass took."""
    graphs: list[Graph] = field(default_factory=list)
    """Of the first looks."""
    last_graph: Graph | None = None
    not_finite: int | None = None
    """The first step at which it was NaN or infinite."""
    shape: tuple[int, ...] = ()
    parameters: set[str] = field(default_factory=set)
    """Those it ever depended on."""
    optimizers: set[int] = field(default_factory=set)
    """Those that have a parameter of its."""

    @property
    def start(self) -> float:
        return self.values.head(5)

    @property
    def end(self) -> float:
        return self.values.tail(0.1)


@dataclass(kw_only=True)
class Judged:
    """One of torch's loss functions, as it was called at one line: in training, or with gradients off."""

    kind: str
    """cross_entropy, nll_loss, mse_loss, l1_loss, binary_cross_entropy, binary_cross_entropy_with_logits, kl_div, …"""
    site: Site | None
    training: bool
    values: Series = field(default_factory=Series)
    """Means over elements, whatever the reduction was; of all calls with gradients off, and of looks else."""
    count: int = 0
    input_shape: tuple[int, ...] = ()
    target_shape: tuple[int, ...] = ()
    target_dtype: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    """reduction, ignore_index, weighted, label_smoothing, …"""
    # Sums over looks; classes are of the class axis, or 0 and 1.
    targets: Counter[int] = field(default_factory=Counter)
    predicted: Counter[int] = field(default_factory=Counter)
    right: Counter[int] = field(default_factory=Counter)
    """Targets that were predicted."""
    recent_predicted: Counter[int] = field(default_factory=Counter)
    recent_targets: Counter[int] = field(default_factory=Counter)
    recent_right: Counter[int] = field(default_factory=Counter)
    """Of the last tenth of the looks so far."""
    first_targets: Tensor | None = field(default=None, repr=False)
    """Of the first look, at most 20,000 of them."""
    label_runs: list[tuple[int, int]] = field(default_factory=list)
    """Of each of the first looks: how many classes were in the batch, and how many labels it had."""
    batch_labels: list[list[int]] = field(default_factory=list)
    """The labels of consecutive batches from the first step on (at most 40 batches of at most 512)."""
    target_mean: float = math.nan
    target_std: float = math.nan
    input_mean: Series = field(default_factory=Series)
    input_std: Series = field(default_factory=Series)
    input_low: float = math.inf
    input_high: float = -math.inf
    rows_sum_to_one: bool = True
    """Whether in all looks the inputs lay in [0, 1] and summed to 1 along the class axis."""
    constant_loss: float = math.nan
    """What the best constant prediction would give: label entropy, variance of the targets, …"""


@dataclass(kw_only=True)
class Optimizer:
    """An optimiser that has stepped."""

    number: int
    kind: str
    site: Site | None
    steps: int = 0
    first_step: int = 0
    """The global step of its first one."""
    rate: Series = field(default_factory=Series)
    """The largest learning rate of its groups."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Of its first group: momentum, betas, weight_decay, …"""
    closure: bool = False
    parameters: list[str] = field(default_factory=list)
    stale: int = 0
    """Steps, of those checked, since whose predecessor no backward pass began with clear gradients."""
    checked: int = 0
    empty: int = 0
    """Steps, of those checked, at which all gradients were None or zero."""
    empty_though_backward: int = 0
    """Those of them before which a backward pass had reached its parameters since the step before."""
    none_though_backward: int = 0
    """Those of them at which there was no gradient, or one that had been cleared since."""
    backwards: Series = field(default_factory=Series)
    """Backward passes whose gradients were summed for a step."""
    gradient: Series = field(default_factory=Series)
    """Global norm of the gradient it was given."""
    leftover: Series = field(default_factory=Series)
    """Global norm of what was already in the gradients when the backward pass began."""
    decay: Series = field(default_factory=Series)
    """Norm of the weight decay's part of a step, divided by that of the rest."""


@dataclass(kw_only=True)
class Clipping:
    """Calls of clip_grad_norm_ (or clip_grad_value_) at one line."""

    site: Site | None
    limit: float
    by_value: bool = False
    count: int = 0
    bound: int = 0
    """How often the norm was above the limit."""
    norm: Series = field(default_factory=Series)


@dataclass(kw_only=True)
class Root:
    """A module that the user's code called itself."""

    name: str
    kind: str
    reference: Callable[[], nn.Module | None] = field(default=lambda: None, repr=False)
    site: Site | None = None
    trained: int = 0
    """Calls with gradients on."""
    judged: int = 0
    """Calls with gradients off."""
    trained_in_eval: int = 0
    stepped: int = 0
    """Steps of an optimiser that has its parameters, and those of them that were made of calls in evaluation mode."""
    stepped_in_eval: int = 0
    eval_since: int = -1
    """The first of these."""
    judged_in_train: int = 0
    judged_again: int = 0
    """Calls with gradients off and the input of the call before, not counted above: draws of what is random in it."""
    judged_steps: int = 0
    """Steps after which it was called with gradients off: few, if that was an evaluation."""
    judged_site: Site | None = None
    eval_site: Site | None = None
    """The last call of eval()."""
    train_site: Site | None = None
    compiled: bool = False
    output_spread: Series = field(default_factory=Series)
    """Standard deviation over the rows of a batch of what it gives in training, mean over features."""
    input_spread: Series = field(default_factory=Series)
    given: tuple[list[float], list[float]] | None = None
    """Means and deviations of the columns of its input in the last looks, where that came from no other root,"""
    made: tuple[list[float], list[float]] | None = None
    """and where another root had made it; with the step when that was seen last."""
    made_at: int = -1
    beside: set[str] = field(default_factory=set)
    """Roots that were given the very same input: a student and its teacher, not a model and its head."""
    inputs: list[Inputs] = field(default_factory=list)
    """One for each tensor argument of training calls."""
    initial: nn.Module | None = field(default=None, repr=False)
    """A copy with the first weights, where one could be made."""

    @property
    def module(self) -> nn.Module | None:
        """None if the user has dropped it."""
        return self.reference()


@dataclass(kw_only=True)
class Inputs:
    """A tensor argument of a root."""

    shape: tuple[int, ...] = ()
    dtype: str = ""
    looks: int = 0
    rows: int = 0
    mean: list[float] = field(default_factory=list)
    std: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    """Of each column (features of a table, channels of a picture), pooled over the looks; at most 4096 columns."""
    duplicated: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of columns that were equal in all looks (tables only, at most 10)."""
    not_finite: bool = False
    sample: Tensor | None = field(default=None, repr=False)
    """Rows of the first looks, for probes."""


@dataclass(kw_only=True)
class Capture:
    """One training step as it could be run again: model, inputs, and how its loss was made."""

    root: Root
    model: nn.Module = field(repr=False)
    """A copy, with the weights before the step."""
    args: tuple[Any, ...] = field(repr=False)
    kwargs: dict[str, Any] = field(repr=False, default_factory=dict)
    output: Any = field(repr=False, default=None)
    connected: tuple[int, ...] = ()
    """Which of the tensors in its output the loss depends on."""
    kind: str | None = None
    """The loss function, one of torch.nn.functional, if that is how it was made."""
    target: Tensor | None = field(repr=False, default=None)
    options: dict[str, Any] = field(default_factory=dict)
    view: tuple[tuple[int, ...], tuple[int, ...], int] | None = None
    """Shape, strides and offset of the loss's input in the storage of the output."""
    place: int | None = None
    """Which of several outputs it was."""
    loss: float = math.nan
    step: int = 0


@dataclass(kw_only=True)
class NotFinite:
    """The first NaN or infinity."""

    step: int
    what: str
    """loss, gradient, parameter, input"""
    where: str = ""
    operation: str = ""
    """As autograd names it, without `Backward0`."""
    module: str = ""
    detail: str = ""


@dataclass(kw_only=True)
class Shared:
    """Rows that a root was judged on, beside those that it or another root was trained on."""

    trained: int
    """Different rows."""
    values: int
    """How many numbers make a row."""
    continuous: bool
    """Whether they are real numbers, which do not meet by chance."""
    batches: int = 0
    """Those in which some rows, but not nearly all, were training rows; with their rows, and the training rows."""
    rows: int = 0
    shared: int = 0
    clear: int = 0
    """Batches without any training row."""
    known: int = 0
    """Batches of nothing but training rows."""
    all_there: bool = False
    """Whether nearly all training rows were among them."""
    by_chance: float = 0.0
    """The share of training rows that there would be if all were drawn alike, by how often rows meet in a batch."""
    stream: bool = False
    """Whether new rows came all the time in training."""
    again: float = 0.0
    """Of the rows that came more than once where new ones came all the time, the share among those judged on."""


@dataclass(kw_only=True)
class Probed:
    """What short extra runs on copies told; None where a probe was not made."""

    @dataclass(kw_only=True)
    class Mixing:
        """Whether an example's output depends on the others of its batch, in evaluation mode."""

        root: str
        change: float
        """How much outputs change when only other rows do, relative to the largest of them."""
        rows: float
        """The share of the outputs that change."""
        order: float | None
        """How much outputs change with the order of the rows; None where chance has a part in them."""
        company: str
        """With whom rows are seen: `new` (shuffled), `same` (always the same batches), `all` (one batch), `unknown`."""
        through: str = ""
        """A module that was told to take the first axis for time: its path and kind."""
        doubt: str = ""
        """Why rows may belong together."""

    @dataclass(kw_only=True)
    class Modes:
        """The loss of one batch with the weights of the end, in both modes."""

        root: str
        train: float
        judged: float
        start: float
        """With the first weights, as it was trained."""
        culprit: str = ""
        """The module whose mode alone makes most of the difference, and what it is: norm, noise, or branch."""
        cause: str = ""
        agree: float = 0.0
        """How much the outputs of both modes say the same: 1 is a rescaling."""
        settled: float = math.nan
        """Batch norm: the share of the first statistics that is forgotten."""

    @dataclass(kw_only=True)
    class Slope:
        """An autograd function of the user's, against numeric differences."""

        name: str
        site: Site | None
        argument: int
        checked: int
        """Places of the argument that were compared,"""
        wrong: int
        """those where both slopes are there and differ,"""
        passed: int
        """where only backward has one (as in a straight-through estimator),"""
        stopped: int
        """and where only the function itself has one."""
        example: tuple[float, float] = (math.nan, math.nan)
        """Backward's and the numeric slope, where they differ most."""
        ratio: float = math.nan
        """Of the two, where it is the same everywhere."""
        meant: str = ""
        """Why that is most probably meant: `identity`, `steps`, `scaled`."""

    by_heart: tuple[float, float, int] | None = None
    """One batch learnt by heart: loss before and after, and the steps it took."""
    future: float | None = None
    """How much outputs change with inputs after them, relative to their size; of models that predict the next."""
    mixing: list[Mixing] = field(default_factory=list)
    modes: list[Modes] = field(default_factory=list)
    slopes: list[Slope] = field(default_factory=list)
    """Those that differ, one for each argument of a function."""
    rates: dict[float, float] = field(default_factory=dict)
    """The loss of one batch after a few steps at several rates, infinite where it shot up."""
    rate: tuple[float, float, int] | None = None
    """Of the same: the script's own rate, the loss before any step, and the number of steps."""
    unused: set[str] = field(default_factory=set)
    """Parameters that change nothing of what the loss is made of."""
    first_loss: tuple[float, float, str] | None = None
    """The first loss, what a model that knows nothing would give, and by which loss function."""


@dataclass(kw_only=True)
class Record:
    """A training as it was seen."""

    steps: int = 0
    """Optimiser steps, of all optimisers; where there is none, updates by hand."""
    looks: list[int] = field(default_factory=list)
    """The steps that were looked at closely."""
    seconds: float = 0.0
    own_seconds: float = 0.0
    """What watching took."""
    by_hand: bool = False
    """Whether parameters were changed without an optimiser of torch."""
    hand_checked: int = 0
    """Updates by hand, and those after which the next backward pass found the old gradients still there."""
    hand_stale: int = 0
    losses: list[Loss] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)
    readings: dict[Site, Series] = field(default_factory=dict)
    """Numbers that the script took out of tensors after a root had run with gradients off: figures of evaluations."""
    optimizers: list[Optimizer] = field(default_factory=list)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    modules: dict[str, Module] = field(default_factory=dict)
    activations: list[Activation] = field(default_factory=list)
    roots: list[Root] = field(default_factory=list)
    clippings: list[Clipping] = field(default_factory=list)
    captures: list[Capture] = field(default_factory=list)
    not_finite: NotFinite | None = None
    warnings: list[tuple[str, Site | None]] = field(default_factory=list)
    """What Python's warnings said during the run."""
    shared: list[Shared] = field(default_factory=list)
    """For each root that was given data: the rows it was judged on, and those of them that were trained on."""
    waited: Series = field(default_factory=Series)
    """Seconds between a step and the next root's call, without evaluation."""
    worked: Series = field(default_factory=Series)
    """Seconds from that call to the end of its step."""
    held: Series = field(default_factory=Series)
    """The share of earlier looks whose activations are still in memory: of a graph that nobody holds, none are."""
    held_graphs: Series = field(default_factory=Series)
    """The same of graphs, also those that a backward pass has gone through."""
    loader_seconds: float = 0.0
    """In DataLoader's __next__, while training."""
    autocast: set[str] = field(default_factory=set)
    """dtypes of autocast under which roots ran in training."""
    scaler: bool = False
    """Whether a GradScaler was used."""
    recurrent: dict[str, Series] = field(default_factory=dict)
    """By root: the norm of the loss's gradient by the input at each time step (the steps of the series are times)."""
    examples: list[tuple[Tensor, Tensor]] = field(default_factory=list, repr=False)
    """Inputs of the looks with their targets, where a root was called once and one of torch's losses judged it."""
    probed: Probed = field(default_factory=Probed)
    custom_functions: dict[str, Any] = field(default_factory=dict)
    """User's autograd functions by name, as classes."""

    # -- what several rules ask ---------------------------------------------------------------------------------

    @property
    def main(self) -> Loss | None:
        """The loss with most calls; of several, the first."""
        return max(self.losses, key=lambda loss: loss.count, default=None)

    @property
    def adversarial(self) -> bool:
        """Whether optimisers take turns on losses of their own, so that none of them need fall."""
        return len(self.losses) > 1 and sum(o.steps > 0.05 * self.steps for o in self.optimizers) > 1

    @property
    def self_made(self) -> bool:
        """Whether what is trained is also asked without gradients in most steps, as by an agent that acts: its targets
        move with it, and its loss need not fall."""
        return any(r.trained and r.judged_steps > 0.3 * max(1, self.steps) for r in self.roots) and self.steps >= 20

    def stuck(self, loss: Loss | None = None) -> bool:
        """Whether a training has failed to learn: what most measurements need before they are called a fault."""
        loss = loss or self.main
        if loss is None:
            return False
        if loss.not_finite is not None or (self.not_finite is not None and self.not_finite.what != "input"):
            return True
        if len(loss.values) < 10 or self.adversarial or self.self_made:
            return False
        # Before any step; the median of a few, unless they have shot up already.
        start, end = min(loss.start, max(loss.values.first, 0.3 * loss.start)), loss.end
        if not (math.isfinite(start) and math.isfinite(end)):
            return True
        if start > 0 and loss.values.largest > 3 * start and end > 0.5 * start:
            return True
        return self.left(loss) > 0.97 if self._constant() else start > 0 and end > 0.9 * start

    def left(self, loss: Loss | None = None) -> float:
        """The share of the loss that is still there: of the best constant prediction's, where it is known, else of the
        first steps'. Below zero (log-densities, rewards) nothing can be said, and it is 0."""
        loss = loss or self.main
        if loss is None or not loss.values:
            return 0.0
        if loss.not_finite is not None:
            return math.inf
        if self.adversarial or self.self_made:
            return 0.0
        judged = self._constant()
        if judged is not None:
            # Of all steps, in units of the loss function: parts of an accumulated batch are divided by their number.
            seen = dict(judged.values)
            scale = median([value / seen[step] for step, value in loss.values if seen.get(step, 0.0) > 0])
            return loss.end / scale / judged.constant_loss if scale > 0 else 0.0
        return loss.end / loss.start if loss.start > 0 and loss.end > 0 else 0.0

    def _constant(self) -> Judged | None:
        """The only loss function of the training, if it is known what the best constant prediction gives."""
        known = [j for j in self.judged if j.training and j.count > 0]
        if len(known) != 1 or len(self.losses) != 1 or len(known[0].values) < 5:
            return None
        one = known[0]
        # Weights and smoothing make another constant the best, of another loss.
        plain = not any(one.settings.get(name) for name in ("weight", "pos_weight", "label_smoothing"))
        return one if plain and math.isfinite(one.constant_loss) and one.constant_loss > 1e-6 else None

    def constant_loss(self) -> float:
        """What the best constant prediction would give, if the loss is one of torch's and the only one."""
        one = self._constant()
        return one.constant_loss if one else math.nan

    def update_ratio(self, name: str) -> float:
        """A typical update of a parameter, relative to its size, after the first steps."""
        update = self.parameters[name].update
        return median(update.values[2:] or update.values)

    def trained_weights(self) -> list[Parameter]:
        """Matrices and kernels that an optimiser has, from input to loss as far as the order is known."""
        return [p for p in self.parameters.values() if p.optimizer is not None and len(p.shape) >= 2]
