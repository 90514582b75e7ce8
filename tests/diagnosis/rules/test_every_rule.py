"""Every rule on a record with its fault, and on one that differs in nothing else: written by hand, so that it is fast.

What a watch makes of real trainings is tested beside this, and by the corpus.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from string import Formatter

import pytest
import torch

from gradlab.diagnosis.record import (
    Activation,
    Bootstrap,
    Classes,
    Clipping,
    Graph,
    Inputs,
    Leak,
    Loss,
    LossCall,
    Module,
    Node,
    NotFinite,
    OptimizerRecord,
    Parameter,
    Policy,
    Probed,
    Recognised,
    Record,
    Root,
    Shared,
    Site,
    Transitions,
)
from gradlab.diagnosis.rules import judge, rules
from gradlab.diagnosis.series import Series

CASES: dict[str, Callable[[bool], Record]] = {}
ONLY_NOTES = {"clipping_never_binds", "better_rate"}
STEPS = 200
FLAT, FALLING = [1.0] * 40, [0.9**n for n in range(40)]


def of(slug: str) -> Callable[[Callable[[bool], Record]], None]:
    """A case of a rule: a function that makes a record, with the fault or without."""
    return lambda make: CASES.__setitem__(slug, make)


def series(values: Iterable[float], every: int = 1) -> Series:
    made = Series()
    for i, value in enumerate(values):
        made.add(i * every, value)
    return made


def weight(name: str = "net.0.weight", shape: tuple[int, ...] = (8, 8), **more) -> Parameter:
    usual = {"requires_grad": True, "owner": "Linear", "optimizer": 0, "reached": 20, "used": 20, "changed": True}
    usual |= {"mean": 0.0, "std": 0.3, "weight": series([3.0] * 20), "update": series([1e-3] * 20)}
    usual |= {"gradient": series([0.1] * 20)}
    return Parameter(name=name, shape=shape, **(usual | more))


def training(losses: list[float], *parameters: Parameter, nodes: list[Node] | None = None, **more) -> Record:
    """A loss and an optimiser; cross-entropy of four classes, of which a constant prediction gives 1."""
    graph = Graph(step=0, nodes=nodes or [])
    loss = Loss(site=Site("train.py", 20), values=series(losses), count=STEPS, graphs=[graph], last_graph=graph)
    loss.carried, loss.nodes = series([0.0] * 20), series([30.0] * 20)
    call = LossCall(kind="cross_entropy", site=Site("train.py", 19), training=True, values=loss.values, count=STEPS)
    call.constant_loss, call.rows_sum_to_one = 1.0, False
    call.targets, call.target_shape = Counter({0: 50, 1: 50, 2: 50, 3: 50}), (16,)
    optimizer = OptimizerRecord(number=0, kind="SGD", site=Site("train.py", 9), steps=STEPS, checked=20)
    optimizer.rate, optimizer.gradient, optimizer.backwards = (series([v] * 40) for v in (0.1, 1.0, 1.0))
    several = parameters or (weight(),)
    return replace(
        Record(
            steps=STEPS,
            losses=[loss],
            loss_calls=[call],
            optimizers=[optimizer],
            parameters={p.name: p for p in several},
            roots=[Root(name="net", kind="Sequential", site=Site("train.py", 18), trained=STEPS, stepped=STEPS)],
        ),
        **more,
    )


def failed(*parameters: Parameter, **more) -> Record:
    return training(FLAT, *parameters, **more)


def inputs(record: Record, **more) -> Record:
    columns = Inputs(shape=(16, 4), dtype="float32", rows=400, looks=5, mean=[0.0] * 4, std=[1.0] * 4)
    columns.low, columns.high = [-3.0] * 4, [3.0] * 4
    vars(columns).update(more)
    record.roots[0].inputs = [columns]
    return record


def recognised(name: str, examples: int, right: int, area: float = 0.8) -> Recognised:
    return Recognised(name=name, examples=examples, right=right, area=area)


def graph(*names: str, **last) -> list[Node]:
    """A chain from the loss to a parameter."""
    chain = [Node(name=name, inputs=[i + 1], shape=(16, 4)) for i, name in enumerate(names)]
    vars(chain[-1]).update(last)
    return [*chain, Node(name="AccumulateGrad", inputs=[], parameter="net.0.weight", shape=(4, 8))]


# -- brakes, clearing, rates -------------------------------------------------------------------------------------------


@of("weight_decay_too_strong")
def _(wrong):
    record = failed(weight(weight=series([3.0 * 0.8**n for n in range(20)])))
    record.optimizers[0].decay = series([2.0 if wrong else 0.01] * 20)
    return record


@of("dropout_too_strong")
def _(wrong):
    settings = {"p": 0.95 if wrong else 0.5}
    return failed(modules={"net.1": Module(path="net.1", kind="Dropout", root="net", settings=settings, trained=20)})


@of("clipping_always_binds")
def _(wrong):
    limit = 1e-3 if wrong else 0.5
    return failed(clippings=[Clipping(site=None, limit=limit, count=40, bound=40, norm=series([1.0] * 40))])


@of("clipping_never_binds")
def _(wrong):
    limit = 1e4 if wrong else 5.0
    return training(FALLING, clippings=[Clipping(site=None, limit=limit, count=60, norm=series([1.0] * 60))])


@of("missing_zero_grad")
def _(wrong):
    record = training(FALLING)
    record.optimizers[0].stale, record.optimizers[0].leftover = 20 if wrong else 4, series([5.0] * 20)
    return record


@of("step_before_backward")
def _(wrong):
    record = failed()
    record.optimizers[0].empty, record.optimizers[0].none_though_backward = 20, 20 if wrong else 0
    return record


@of("unscaled_accumulation")
def _(wrong):
    record = failed()
    record.optimizers[0].backwards, record.losses[0].count = series([4.0] * 40), 4 * STEPS
    record.loss_calls[0].values = series([1.0 if wrong else 4.0] * 40)
    return record


@of("lr_too_high")
def _(wrong):
    return failed(weight(update=series([2.0 if wrong else 0.05] * 20)))


@of("lr_too_low")
def _(wrong):
    return failed(weight(update=series([1e-6 if wrong else 1e-2] * 20)))


@of("lr_decayed_to_zero")
def _(wrong):
    record = failed()
    record.optimizers[0].rate = series([0.1] * 10 + [1e-6 if wrong else 0.05] * 30)
    return record


@of("better_rate")
def _(wrong):
    rates = {1e-3: 0.95, 1e-1: 0.1 if wrong else 0.9}
    return failed(probed=Probed(rates=rates, rate=(1e-3, 1.0, 20)))


# -- first weights -----------------------------------------------------------------------------------------------------


@of("constant_init")
def _(wrong):
    return failed(weight(std=0.0, rows_equal=True, rows_equal_later=wrong))


@of("init_too_large")
def _(wrong):
    return failed(weight(std=10.0 if wrong else 0.3))


@of("init_too_small")
def _(wrong):
    return failed(weight(std=1e-3 if wrong else 0.3))


def rails(first: float, last: float) -> list[Activation]:
    course = [first + (last - first) * n / 9 for n in range(10)]
    return [Activation(kind="tanh", where="net.1", order=0, units=8, saturated=series(course))]


@of("saturated_init")
def _(wrong):
    return failed(activations=rails(0.95 if wrong else 0.1, 0.5))


@of("saturated_activation")
def _(wrong):
    return failed(activations=rails(0.1, 0.95 if wrong else 0.2))


@of("wrong_initial_loss")
def _(wrong):
    return failed(probed=Probed(first_loss=(30.0 if wrong else 1.5, 1.4, "cross_entropy")))


# -- signals -----------------------------------------------------------------------------------------------------------


@of("dead_relu")
def _(wrong):
    dead = series([0.9 if wrong else 0.2] * 10)
    return failed(activations=[Activation(kind="relu", where="net.1", order=0, units=8, dead=dead)])


@of("vanishing_gradient")
def _(wrong):
    sizes = [1e-7 if wrong else 1e-2, 1e-3, 1e-2, 1e-1]
    return failed(*(weight(f"net.{i}.weight", gradient=series([size] * 20)) for i, size in enumerate(sizes)))


@of("exploding_gradient")
def _(wrong):
    record = failed()
    record.optimizers[0].gradient = series([1e5 if wrong else 1.0] * 20)
    return record


@of("nan_loss")
def _(wrong):
    record = training([*FALLING, math.nan] if wrong else FALLING)
    if wrong:
        record.losses[0].not_finite = 40
        record.not_finite = NotFinite(step=40, what="loss", operation="Log", module="net.2")
    return record


@of("fp16_underflow")
def _(wrong):
    return failed(weight(dtype="float16", update=series([0.0 if wrong else 1e-3] * 20)))


# -- inputs, labels, leaks, loading ------------------------------------------------------------------------------------


@of("unnormalized_input")
def _(wrong):
    return inputs(failed(), std=[1.0, 1.0, 1.0, 1e4 if wrong else 2.0])


@of("constant_feature")
def _(wrong):
    return inputs(failed(), high=[-3.0, -3.0, -3.0, 3.0] if wrong else [3.0] * 4)


@of("duplicated_feature")
def _(wrong):
    return inputs(failed(), duplicated=[(0, 1), (0, 2)], copies=2) if wrong else inputs(failed())


@of("unshuffled_data")
def _(wrong):
    record = training(FALLING)
    record.loss_calls[0].batch_labels = [[n % 4] * 16 if wrong else [0, 1, 2, 3] * 4 for n in range(10)]
    return record


@of("class_imbalance")
def _(wrong):
    record = training(FALLING)
    call = record.loss_calls[0]
    call.targets, call.recent_targets = Counter({0: 950, 1: 50}), Counter({0: 95, 1: 5})
    call.recent_predicted = Counter({0: 100} if wrong else {0: 95, 1: 5})
    call.recent_right = Counter({0: 95} if wrong else {0: 95, 1: 5})
    return record


@of("unmasked_padding")
def _(wrong):
    record = training(FALLING)
    lengths = torch.tensor([3, 5, 6, 4, 8, 2])[:, None]
    words = torch.arange(60).reshape(6, 10) % 7 + 1
    record.loss_calls[0].first_targets = torch.where(torch.arange(10) < lengths, words, 0)
    record.loss_calls[0].settings = {"ignore_index": -100 if wrong else 0}
    return record


@of("ignored_class")
def _(wrong):
    record = inputs(training(FALLING))
    call = record.loss_calls[0]
    call.first_targets, call.input_shape = torch.arange(16) % 4, (16, 4)
    call.settings = {"ignore_index": 0 if wrong else 255}
    return record


@of("same_batch")
def _(wrong):
    record = training(FALLING, first_batches=STEPS, later_batches=0)
    record.loss_calls[0].batch_labels = [[0, 1, 2, 3] if wrong else [n % 4, 1, 2, 3] for n in range(10)]
    record.first_batches = STEPS if wrong else STEPS // 10
    return record


@of("answer_after_padding")
def _(wrong):
    return failed(probed=Probed(padded={"net": (0.8, 0.99 if wrong else 0.5)}))


@of("inverted_padding_mask")
def _(wrong):
    attention = Module(path="net.attention", kind="MultiheadAttention", padded=20, padding_only=20 if wrong else 1)
    return training(FALLING, modules={attention.path: attention})


@of("label_misalignment")
def _(wrong):
    record = failed()
    drawn = torch.Generator().manual_seed(0)
    x = torch.randn(200, 3, generator=drawn)
    y = (x[:, 0] > 0).long()
    labels = y[torch.randperm(200, generator=drawn)] if wrong else y
    record.examples = list(zip(x.split(50), labels.split(50), strict=True))
    return record


@of("data_leak")
def _(wrong):
    shared = Shared(trained=1000, values=8, continuous=True, batches=4, rows=200, shared=100 if wrong else 2, clear=3)
    return training(FALLING, shared=[shared])


@of("target_leak")
def _(wrong):
    leak = Leak(column="closed", target="churn", figure="balanced accuracy", alone=0.99, others=0.7)
    return training(FALLING, leaks=[leak] if wrong else [])


@of("missed_class")
def _(wrong):
    rare = recognised("yes", 30, 1 if wrong else 20)
    return training(FALLING, classes=Classes(task="classify", each=[recognised("no", 970, 965), rare]))


@of("causal_leak")
def _(wrong):
    return training(FALLING, probed=Probed(future=0.1 if wrong else 1e-7))


@of("slow_data_loader")
def _(wrong):
    record = training(FALLING, waited=series([0.2] * 30), worked=series([0.01] * 30))
    record.loader_seconds = 5.9 if wrong else 0.1  # or something else took the time
    return record


# -- losses and graphs -------------------------------------------------------------------------------------------------


@of("softmax_before_ce")
def _(wrong):
    return training(FALLING, nodes=graph("NllLoss", "LogSoftmax", "Softmax" if wrong else "Addmm"))


@of("sigmoid_before_bce_logits")
def _(wrong):
    return training(FALLING, nodes=graph("BinaryCrossEntropyWithLogits", "View", "Sigmoid" if wrong else "Addmm"))


@of("double_log")
def _(wrong):
    return training(FALLING, nodes=graph("Mean", "Log", "LogSoftmax" if wrong else "Softmax", "Addmm"))


@of("wrong_softmax_dim")
def _(wrong):
    nodes = graph("NllLoss", "LogSoftmax", "Addmm")
    nodes[1].dim = 0 if wrong else 1
    record = training(FALLING, nodes=nodes)
    record.loss_calls[0].input_shape = (16, 4)
    return record


@of("wrong_loss_axis")
def _(wrong):
    nodes = graph("NllLoss2D", "LogSoftmax", "View" if wrong else "Transpose", "Addmm")
    nodes[1].dim, nodes[1].shape, nodes[2].shape, nodes[3].shape = 1, (16, 5, 4), (16, 5, 4), (80, 4)
    return training(FALLING, nodes=nodes)


@of("target_broadcast")
def _(wrong):
    record = training(FALLING)
    shape = (16, 1)
    record.loss_calls = [
        replace(record.loss_calls[0], kind="mse_loss", input_shape=shape, target_shape=shape[: 2 - wrong])
    ]
    return record


@of("missing_activation")
def _(wrong):
    names = ["NllLoss", "LogSoftmax", "Addmm", "Add" if wrong else "Relu", "Addmm"]
    nodes = [Node(name=name, inputs=[i + 1], shape=(16, 8)) for i, name in enumerate(names)]
    nodes[2].inputs, nodes[4].inputs = [3, 5], [6]
    nodes += [Node(name="AccumulateGrad", inputs=[], parameter=f"net.{i}.weight", shape=(8, 8)) for i in (2, 0)]
    return failed(nodes=nodes)


@of("graph_growth")
def _(wrong):
    record = training(FALLING)
    record.losses[0].nodes = series([30.0 * (n + 1 if wrong else 1) for n in range(20)])
    record.losses[0].carried = series([30.0 * n if wrong else 0.0 for n in range(20)])
    return record


# -- modes -------------------------------------------------------------------------------------------------------------


@of("train_in_eval_mode")
def _(wrong):
    record = training(FALLING)
    record.roots[0].stepped_in_eval = STEPS if wrong else 0
    dropout = Module(path="net.1", kind="Dropout", root="net", settings={"p": 0.5}, trained=20, trained_in_eval=20)
    record.modules = {"net.1": dropout}
    return record


@of("eval_in_train_mode")
def _(wrong):
    record = training(FALLING)
    record.roots[0].evaluated, record.roots[0].evaluated_in_train = 10, 10 if wrong else 0
    return record


@of("batchnorm_tiny_batch")
def _(wrong):
    per_channel = series([2.0 if wrong else 32.0] * 10)
    norm = Module(path="net.1", kind="BatchNorm1d", root="net", per_channel=per_channel)
    return training(FALLING, modules={"net.1": norm})


@of("train_eval_gap")
def _(wrong):
    modes = Probed.Modes(root="net", train=0.1, evaluated=0.9 if wrong else 0.12, start=1.0, culprit="1", cause="noise")
    return training(FALLING, probed=Probed(modes=[modes]))


# -- wiring ------------------------------------------------------------------------------------------------------------


def lost(**more) -> Parameter:
    return weight("net.2.weight", **({"changed": False, "optimizer": None} | more))


@of("unregistered_params")
def _(wrong):
    return training(FALLING, weight(), lost(registered=False, optimizer=None if wrong else 0, changed=not wrong))


@of("optimizer_missing_params")
def _(wrong):
    return training(FALLING, weight(), lost(optimizer=None if wrong else 0, changed=not wrong))


@of("frozen_params")
def _(wrong):
    return training(FALLING, weight(), lost(requires_grad=False, reached=0, loaded=not wrong))


@of("broken_graph")
def _(wrong):
    return training(FALLING, weight(), lost(optimizer=0, reached=0 if wrong else 20, changed=not wrong))


# -- generative models -------------------------------------------------------------------------------------------------


@of("gan_imbalance")
def _(wrong):
    record = training(FALLING)
    critic = replace(record.losses[0], values=series([0.6] * 10 + [0.01 if wrong else 0.6] * 30), parameters={"d"})
    generator = replace(
        record.losses[0], values=series([0.7] * 10 + [8.0 if wrong else 0.8] * 30), parameters={"d", "g"}
    )
    other = replace(record.optimizers[0], number=1)
    return replace(record, losses=[critic, generator], optimizers=[record.optimizers[0], other], loss_calls=[])


@of("advantage_not_detached")
def _(wrong):
    nodes = [
        Node(name="Mean", inputs=[1], shape=()),
        Node(name="Mul", inputs=[2, 5] if wrong else [2], shape=(16,)),
        Node(name="Gather", inputs=[3], shape=(16, 1)),
        Node(name="LogSoftmax", inputs=[4], shape=(16, 4)),
        Node(name="Addmm", inputs=[7], shape=(16, 4), module="actor"),
        Node(name="Sub", inputs=[6], shape=(16, 1)),
        Node(name="Addmm", inputs=[7], shape=(16, 1), module="critic"),
        Node(name="AccumulateGrad", inputs=[], parameter="net.0.weight", shape=(8, 8)),
    ]
    return training(FALLING, nodes=nodes)


def bootstrap(**more) -> Record:
    usual = {"site": Site("train.py", 20), "online": "q", "target": "slow", "discount": 0.9, "since": 1, "rows": 900}
    usual |= {"steps": STEPS, "until": STEPS, "compared": 30, "moved": 30}
    return training(FALLING, bootstraps=[Bootstrap(**(usual | more))])


@of("bootstrap_through_end")
def _(wrong):
    return bootstrap(
        transitions=Transitions(rows=900, states=20, table=True, ends=2, end_rows=40, end_added=40 * wrong)
    )


@of("time_limit_as_end")
def _(wrong):
    cut = Transitions(rows=900, states=800, table=False, cut=30 * wrong, cut_states=9, after=25)
    return bootstrap(transitions=cut)


@of("target_never_synchronised")
def _(wrong):
    return bootstrap(moved=0 if wrong else 29)


@of("target_always_synchronised")
def _(wrong):
    return bootstrap(equal=30 if wrong else 1)


def policy(**more) -> Record:
    return training(FALLING, policies=[Policy(site=Site("train.py", 20), since=0, **more)])


@of("scores_other_actions")
def _(wrong):
    return policy(scored=600, others=300 * wrong, others_since=0, greedy=300)


@of("ratio_always_one")
def _(wrong):
    return policy(clamped=True, ratios=series([0.0 if wrong else 0.1] * 20))


@of("dead_entropy")
def _(wrong):
    # One that is certain and good has learnt.
    spread = series([0.9, 0.5] + [0.001] * 18, every=10)
    brought = series([3.0] * 20 if wrong else [3.0] * 5 + [9.0] * 15, every=10)
    return policy(spread=spread, brought=brought, deviation=series([1.0] * 20, every=10))


@of("vae_posterior_collapse")
def _(wrong):
    nodes = [
        Node(name="MseLoss", inputs=[1], shape=()),
        Node(name="Addmm", inputs=[2], shape=(16, 8), module="decoder"),
        Node(name="Exp", inputs=[3], shape=(16, 2)),
        Node(name="Addmm", inputs=[4], shape=(16, 2), module="log_variance"),
        Node(name="AccumulateGrad", inputs=[], parameter="net.0.weight", shape=(2, 8)),
    ]
    spread = series([0.01 if wrong else 1.0] * 10)
    head = Module(path="log_variance", kind="Linear", root="net", mean=series([0.0] * 10), std=spread)
    return training(FALLING, nodes=nodes, modules={"log_variance": head})


# -- outcomes and probes -----------------------------------------------------------------------------------------------


@of("overfitting")
def _(wrong):
    record = training(FALLING)
    evaluated = [1.0, 0.5, 0.4, 0.8, 1.5, 2.0] if wrong else [1.0, 0.6, 0.5, 0.45, 0.42, 0.41]
    held_out = LossCall(kind="cross_entropy", site=None, training=False, values=series(evaluated, 30), count=6)
    record.loss_calls.append(held_out)
    return record


@of("underfitting")
def _(wrong):
    return failed(probed=Probed(by_heart=(1.0, 0.9 if wrong else 0.2, 150)))


@of("no_learning")
def _(wrong):
    return training(FLAT if wrong else FALLING)


@of("batch_mixing")
def _(wrong):
    mixed = Probed.Mixing(
        root="net", change=0.5 if wrong else 1e-6, rows=1.0, order=0.5 if wrong else 0.0, company="new"
    )
    return training(FALLING, probed=Probed(mixing=[mixed]))


@of("wrong_gradient")
def _(wrong):
    slope = Probed.Slope(name="Own", site=None, argument=0, checked=8, wrong=8, passed=0, stopped=0, example=(2.0, 1.0))
    return training(FALLING, probed=Probed(slopes=[slope] if wrong else []))


# -- axes, directions, targets -----------------------------------------------------------------------------------------


@of("softmax_of_one")
def _(wrong):
    nodes = graph("BinaryCrossEntropy", "Softmax", "Addmm")
    nodes[1].dim, nodes[1].shape, nodes[2].shape = 1, (16, 1 if wrong else 2), (16, 1 if wrong else 2)
    return training(FALLING, nodes=nodes)


@of("view_mixes_axes")
def _(wrong):
    nodes = graph("Mean", "View", "Convolution")
    nodes[1].before, nodes[1].shape = (16, 10, 24), (16, 24, 10) if wrong else (16, 240)
    return training(FALLING, nodes=nodes)


@of("rate_not_positive")
def _(wrong):
    record = failed()
    record.optimizers[0].rate = series([0.1 - 0.004 * i if wrong else 0.1 for i in range(40)])
    return record


@of("uphill_steps")
def _(wrong):
    record = training([1.1**n for n in range(40)])
    record.optimizers[0].uphill = series([0.5 if wrong else -0.5] * 20)
    return record


@of("constant_target")
def _(wrong):
    record = training(FALLING, nodes=graph("NllLoss", "LogSoftmax", "Addmm"))
    record.loss_calls[0].targets = Counter({0: 200} if wrong else {0: 190, 1: 10})
    return record


@of("target_scale")
def _(wrong):
    record = training(FALLING)
    record.loss_calls[0].kind = "binary_cross_entropy_with_logits"
    record.loss_calls[0].target_low, record.loss_calls[0].target_high = 0.0, 1 / 255 if wrong else 1.0
    return record


@of("output_range")
def _(wrong):
    record = failed(nodes=graph("MseLoss", "Relu", "Addmm"))
    call = record.loss_calls[0]
    call.kind, call.input_shape = "mse_loss", (16, 4)
    call.first_targets = torch.linspace(-1.0 if wrong else 0.0, 1.0, 64).reshape(16, 4)
    return record


def untouched(norms: list[float]) -> Record:
    """Losses that are sent back, while no weight changes."""
    record = training(FLAT, weight(changed=False, optimizer=None), steps=0, optimizers=[])
    record.hand_gradient = series(norms)
    return record


@of("never_updated")
def _(wrong):
    record = untouched([0.3] * 20)
    record.parameters["net.0.weight"].changed = not wrong
    return record


@of("zero_gradient")
def _(wrong):
    return untouched([0.0 if wrong else 0.3] * 20)


@of("batches_unused")
def _(wrong):
    record = failed(nodes=graph("NllLoss", "LogSoftmax", "Addmm"))
    record.loss_calls[0].count = 20 * STEPS if wrong else STEPS
    return record


@of("scores_in_nll_loss")
def _(wrong):
    record = training([-(1.2**n) for n in range(40)])
    call = record.loss_calls[0]
    call.kind, call.logs_sum_to_one = "nll_loss", not wrong
    return record


@of("several_labels")
def _(wrong):
    record = training(FALLING)
    ones = torch.zeros(16, 4)
    ones[:, 0] = 1.0
    ones[:8, 1] = float(wrong)
    record.loss_calls[0].first_targets = ones
    return record


@of("no_floor")
def _(wrong):
    return training([1.0 - (1.3 if wrong else 1.05) ** n for n in range(40)])


@of("evaluation_scale")
def _(wrong):
    record = inputs(training(FALLING))
    judged = LossCall(kind="cross_entropy", site=Site("train.py", 30), training=False, values=series([1.0] * 5))
    record.loss_calls.append(judged)
    mean = 9.0 if wrong else 0.5
    record.roots[0].evaluation_inputs = replace(record.roots[0].inputs[0], mean=[mean] * 4)
    return record


# -- the tests ---------------------------------------------------------------------------------------------------------


def test_every_rule_has_a_case() -> None:
    assert CASES.keys() == rules.keys()


@pytest.mark.parametrize("slug", sorted(rules))
def test_a_fault_is_named_and_without_it_the_rule_is_silent(slug: str) -> None:
    findings, faults = judge(CASES[slug](True))
    assert faults == []
    finding = next(f for f in findings if f.slug == slug)
    assert (finding.severity == "note") is (slug in ONLY_NOTES or finding.follows_from is not None)
    assert finding.place
    assert finding.evidence[-1] in ".…"
    assert finding.fix
    assert "None" not in finding.where + finding.evidence + finding.fix
    findings, faults = judge(CASES[slug](False))
    assert faults == []
    assert slug not in [f.slug for f in findings]


@pytest.mark.parametrize("slug", sorted(rules))
def test_what_a_finding_says_is_measured(slug: str) -> None:
    finding = next(f for f in judge(CASES[slug](True))[0] if f.slug == slug)
    fields = {name for _, name, _, _ in Formatter().parse(rules[slug].evidence + rules[slug].remedy) if name}
    assert fields <= finding.measured.keys() or not rules[slug].evidence
    assert any(isinstance(value, (int, float)) for value in finding.measured.values()) or slug == "target_broadcast"


def test_features_that_another_root_has_made_move_with_its_weights() -> None:
    record = CASES["evaluation_scale"](True)
    record.roots[0].from_root = ([0.0] * 4, [1.0] * 4)
    assert "evaluation_scale" not in [f.slug for f in judge(record)[0]]
