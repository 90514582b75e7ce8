import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.maths.optimisation.bfgs import bfgs as maths_bfgs
from gradlab.registry import Part
from gradlab.run.checkpoint import copy_tensors, flatten, unflatten
from gradlab.training.optimizers import SEARCHING, Parameters, optimizers

X, Y = torch.randn(40, 4, generator=torch.Generator().manual_seed(1)), torch.arange(40) % 3
DECAY = 0.05


class Net(nn.Module):
    """With a normalisation gain, and parameters that no loss ever reaches."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 3))
        self.unused = nn.Parameter(torch.ones(2, 2))

    def forward(self, x):
        return self.body(x)


def build(name, parameters, **values):
    return optimizers.build(optimizers.resolve(Part(name, values), "optimizer"), parameters)


def loss(model, step=0):
    rows = torch.arange(10) + 10 * (step % 4)
    return nn.functional.cross_entropy(model(X[rows].to(model.unused.dtype)), Y[rows])


def ours(name, lr=0.05, decay=DECAY, decay_all=False, steps=30, skips=(), dtype=torch.float32, **values):
    model = Net().to(dtype)
    parameters = Parameters(model, decay, decay_all)
    optimizer = build(name, parameters, **values)
    for step in range(steps):
        gradients = torch.autograd.grad(loss(model, step), parameters.tensors, allow_unused=True)
        optimizer.update(gradients, lr, torch.tensor(float(step in skips)) if skips else None)
    return model


def theirs(kind, lr=0.05, decay=DECAY, decay_all=False, steps=30, skips=(), dtype=torch.float32, **options):
    model = Net().to(dtype)
    groups = [
        {"params": [p for p in model.parameters() if p.ndim >= 2], "weight_decay": decay},
        {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": decay if decay_all else 0.0},
    ]
    optimizer = kind(groups, lr=lr, **options)
    for step in range(steps):
        optimizer.zero_grad()
        loss(model, step).backward()
        if step not in skips:
            optimizer.step()
    return model


class Lion(torch.optim.Optimizer):
    """The rule as its paper prints it, in NumPy and double precision; torch has none."""

    def __init__(self, params, lr, betas, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    def step(self):
        for group in self.param_groups:
            (beta1, beta2), lr, decay = group["betas"], group["lr"], group["weight_decay"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                g, w = p.grad.double().numpy(), p.detach().double().numpy()
                m = self.state[p].get("m", np.zeros_like(w))
                update = np.sign(beta1 * m + (1 - beta1) * g)
                p.data.copy_(torch.from_numpy(w - lr * (update + decay * w)))
                self.state[p]["m"] = beta2 * m + (1 - beta2) * g


class MuonAndAdamW(torch.optim.Optimizer):
    """Both of torch, for `Net`: the first map is a matrix inside of it, all else is AdamW's."""

    def __init__(self, groups, lr, adamw_rate=1.0, betas=(0.9, 0.999), **options):
        (*inner, last), decay = groups[0]["params"], groups[0]["weight_decay"]
        rest = [{"params": [last], "weight_decay": decay}, groups[1]]
        self.both = [
            torch.optim.Muon(inner, lr=lr, weight_decay=decay, **options),
            torch.optim.AdamW(rest, lr=lr * adamw_rate, betas=betas, foreach=False),
        ]

    def zero_grad(self):
        for one in self.both:
            one.zero_grad()

    def step(self):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)  # nothing is rounded: then all must agree
            for one in self.both:
                one.step()


JUDGES = {
    "sgd": ("sgd", {}, torch.optim.SGD, {}),
    "momentum": ("momentum", {"momentum": 0.8}, torch.optim.SGD, {"momentum": 0.8}),
    "nesterov": ("nesterov", {"momentum": 0.8}, torch.optim.SGD, {"momentum": 0.8, "nesterov": True}),
    "adam": ("adam", {"beta1": 0.8, "eps": 1e-6}, torch.optim.Adam, {"betas": (0.8, 0.999), "eps": 1e-6}),
    "adamw": ("adamw", {"beta2": 0.95}, torch.optim.AdamW, {"betas": (0.9, 0.95)}),
    "adagrad": ("adagrad", {}, torch.optim.Adagrad, {}),
    "adagrad that starts high": (
        "adagrad",
        {"initial": 0.3, "eps": 1e-6},
        torch.optim.Adagrad,
        {"initial_accumulator_value": 0.3, "eps": 1e-6},
    ),
    "rmsprop": ("rmsprop", {"alpha": 0.9, "eps": 1e-4}, torch.optim.RMSprop, {"alpha": 0.9, "eps": 1e-4}),
    "rmsprop with momentum": ("rmsprop", {"momentum": 0.7}, torch.optim.RMSprop, {"momentum": 0.7}),
    "rmsprop, centred": ("rmsprop", {"centered": True}, torch.optim.RMSprop, {"centered": True}),
    "rmsprop with both": (
        "rmsprop",
        {"centered": True, "momentum": 0.5, "alpha": 0.8, "eps": 1e-3},
        torch.optim.RMSprop,
        {"centered": True, "momentum": 0.5, "alpha": 0.8, "eps": 1e-3},
    ),
    "adadelta": ("adadelta", {"rho": 0.8, "eps": 1e-3}, torch.optim.Adadelta, {"rho": 0.8, "eps": 1e-3}),
    "lion": ("lion", {"beta1": 0.8, "beta2": 0.95}, Lion, {"betas": (0.8, 0.95)}),
    "muon": ("muon", {}, MuonAndAdamW, {"adjust_lr_fn": "match_rms_adamw"}),
    "muon as it was first": (
        "muon",
        {"adjust": "original", "adamw_rate": 0.25, "momentum": 0.8, "iterations": 3, "nesterov": False, "beta2": 0.95},
        MuonAndAdamW,
        {"adamw_rate": 0.25, "momentum": 0.8, "ns_steps": 3, "nesterov": False, "betas": (0.9, 0.95)},
    ),
}
FUSED = ["sgd", "momentum", "nesterov", "adam", "adamw", "adagrad", "adagrad that starts high"]


def assert_equal(a, b):
    for (name, p), q in zip(a.named_parameters(), b.parameters(), strict=True):
        assert torch.equal(p, q), name


def gap(a, b):
    return max((p - q).abs().max().item() for p, q in zip(a.parameters(), b.parameters(), strict=True))


@pytest.mark.parametrize("name", sorted(JUDGES))
@pytest.mark.parametrize("decay", [0.0, DECAY])
@pytest.mark.parametrize("decay_all", [False, True])
def test_every_rule_is_that_of_torch_optim(name, decay, decay_all):
    rule, values, kind, options = JUDGES[name]
    # In double precision: the large first steps of some rules make much of a last bit that is rounded otherwise.
    same = {"decay": decay, "decay_all": decay_all, "dtype": torch.float64}
    apart = {} if kind in (Lion, MuonAndAdamW) else {"foreach": False}
    assert gap(ours(rule, **same, **values), theirs(kind, **same, **apart, **options)) < 1e-9


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("decay_all", [False, True])
def test_a_rule_that_torch_has_fused_is_that_of_torch_to_the_bit(name, decay_all):
    rule, values, kind, options = JUDGES[name]
    mine = ours(rule, decay_all=decay_all, **values)
    assert_equal(mine, theirs(kind, decay_all=decay_all, fused=True, **options))


def test_every_rule_has_a_judge():
    assert {rule for rule, *_ in JUDGES.values()} == set(optimizers) - SEARCHING


@pytest.mark.parametrize("name", sorted(JUDGES))
def test_every_rule_learns_and_decay_changes_where_it_goes(name):
    rule, values, _, _ = JUDGES[name]
    assert loss(ours(rule, steps=60, **values)) < loss(Net())
    assert gap(ours(rule, **values), ours(rule, decay=0.0, **values)) > 1e-3


def test_weight_decay_of_sgd_shrinks_the_weights_and_not_the_biases():
    # E04: w ← (1 - ηλ) w - η g; dropping the first factor is the slip that this rejects.
    model, eta, decay = nn.Linear(3, 2), 0.1, 0.5
    parameters = Parameters(model, decay)
    w, b = (p.detach().clone() for p in parameters.tensors)
    g, h = torch.randn(2, 3), torch.randn(2)
    build("sgd", parameters).update([g, h], eta)
    assert_close(model.weight.detach(), (1 - eta * decay) * w - eta * g)
    assert_close(model.bias.detach(), b - eta * h)
    assert (model.weight - (w - eta * g)).abs().max() > 1e-3


@settings(max_examples=15)
@given(st.floats(0.05, 0.95), st.floats(1e-3, 0.1))
def test_the_average_form_takes_the_path_of_the_sum_at_the_rate_times_one_minus_m(m, eta):
    average = ours("momentum", lr=eta, decay=0.0, momentum=m, form="average")
    assert gap(average, ours("momentum", lr=eta * (1 - m), decay=0.0, momentum=m)) < 1e-5
    assert gap(average, ours("momentum", lr=eta, decay=0.0, momentum=m)) > 1e-5  # and no other rate will do


class Parabola(nn.Module):
    """λ θ² / 2, whose gradient is λ θ."""

    def __init__(self, curvature):
        super().__init__()
        self.theta, self.curvature = nn.Parameter(torch.ones((), dtype=torch.float64)), curvature

    def gradient(self):
        return self.curvature * self.theta.detach()


def settles(step, parabola, steps=400):
    for _ in range(steps):
        step()
    return parabola.theta.abs().item() < 1


def heavy_ball(m, curvature, eta):
    parabola = Parabola(curvature)
    optimizer = build("momentum", Parameters(parabola), momentum=m)
    return (lambda: optimizer.update([parabola.gradient()], eta)), parabola


def heavy_ball_of_the_old_velocity(m, curvature, eta):
    """As misprinted in many notes: θ moves by the velocity from before this gradient (E35)."""
    parabola, velocity = Parabola(curvature), torch.zeros((), dtype=torch.float64)

    def step():
        gradient = parabola.gradient()
        parabola.theta.data -= eta * velocity
        velocity.mul_(m).add_(gradient)

    return step, parabola


@given(st.floats(0, 0.95), st.floats(0.1, 10), st.sampled_from([0.1, 0.5, 0.9, 0.97]))
def test_heavy_ball_settles_below_its_limit(m, curvature, share):
    assert settles(*heavy_ball(m, curvature, share * 2 * (1 + m) / curvature))


@given(st.floats(0, 0.95), st.floats(0.1, 10), st.sampled_from([1.03, 1.1, 1.5]))
def test_heavy_ball_diverges_above_its_limit(m, curvature, share):
    assert not settles(*heavy_ball(m, curvature, share * 2 * (1 + m) / curvature))


def test_the_law_of_stability_rejects_a_step_by_the_old_velocity():
    assert not settles(*heavy_ball_of_the_old_velocity(0.9, 1.0, 0.5 * 2 * 1.9))


@pytest.mark.parametrize("name", sorted(JUDGES))
def test_a_set_flag_makes_the_update_a_no_op(name):
    rule, values, kind, options = JUDGES[name]
    same = {"skips": (4, 5, 11), "dtype": torch.float64}
    assert gap(ours(rule, **same, **values), theirs(kind, **same, **options)) < 1e-9


@pytest.mark.parametrize("name", sorted(JUDGES))
def test_a_flagged_gradient_that_is_not_a_number_leaves_no_trace(name):
    model = Net()
    parameters = Parameters(model, DECAY)
    optimizer = build(JUDGES[name][0], parameters, **JUDGES[name][1])
    optimizer.update([torch.ones_like(p) for p in parameters.tensors], 0.1, torch.zeros(()))
    before = copy_tensors([model.state_dict(), optimizer.snapshot()])
    optimizer.update([torch.full_like(p, torch.nan) for p in parameters.tensors], 0.1, torch.ones(()))
    assert_close(copy_tensors([model.state_dict(), optimizer.snapshot()]), before, rtol=0, atol=0)


@pytest.mark.parametrize("name", sorted(JUDGES))
def test_a_parameter_without_a_gradient_stays_even_under_decay(name):
    rule, values, _, _ = JUDGES[name]
    assert torch.equal(ours(rule, decay_all=True, **values).unused, torch.ones(2, 2))


@pytest.mark.parametrize("name", sorted(JUDGES))
def test_a_tensor_as_the_rate_does_what_the_number_does(name):
    rule, values, _, _ = JUDGES[name]
    rate, values = torch.tensor(0.05), {**values, "dtype": torch.float64}
    assert gap(ours(rule, lr=rate, **values), ours(rule, lr=rate.item(), **values)) < 1e-9


def test_a_spread_that_rounds_below_zero_is_none():
    """Of a gradient that is always the same, mean square less squared mean is 0, or just below: its root is no NaN."""
    model = Net()
    parameters = Parameters(model)
    optimizer = build("rmsprop", parameters, centered=True, alpha=0.5)
    same = [torch.randn_like(p) * 3 for p in parameters.tensors]
    for _ in range(50):
        optimizer.update(same, 1e-9)
    assert all(p.isfinite().all() for p in model.parameters())


@settings(max_examples=15)
@given(st.floats(1e-3, 1e3), st.sampled_from(["adam", "rmsprop", "adagrad", "lion"]))
def test_rules_that_divide_by_the_gradients_size_do_not_care_for_its_scale(scale, name):
    ways = []
    for factor in (1.0, scale):
        model = Net()
        parameters = Parameters(model)
        optimizer = build(name, parameters, **({} if name == "lion" else {"eps": 1e-30}))
        for step in range(10):
            gradients = torch.autograd.grad(factor * loss(model, step), parameters.tensors, allow_unused=True)
            optimizer.update(gradients, 0.01)
        ways.append(model)
    assert gap(*ways) < 1e-3


@given(st.floats(-5, 5), st.floats(1e-4, 0.1))
def test_lion_moves_every_weight_by_the_rate_and_a_weight_without_slope_not_at_all(start, eta):
    model = nn.Linear(2, 1, bias=False)
    nn.init.constant_(model.weight, start)
    build("lion", Parameters(model)).update([torch.tensor([[1e-6, 0.0]])], eta)
    assert_close(model.weight.detach(), torch.tensor([[start - eta, start]]))


@given(st.floats(0.1, 10), st.floats(1e-3, 1))
def test_adagrad_of_a_constant_gradient_takes_steps_that_fall_as_one_over_the_root_of_their_number(g, eta):
    model = nn.Linear(1, 1, bias=False).double()
    optimizer, before = build("adagrad", Parameters(model)), model.weight.item()
    for _ in range(9):
        optimizer.update([torch.full((1, 1), g, dtype=torch.float64)], eta)
    assert before - model.weight.item() == pytest.approx(eta * sum(n**-0.5 for n in range(1, 10)), rel=1e-5)


def test_frozen_parameters_are_not_among_the_trained_ones():
    model = Net()
    model.body[0].weight.requires_grad_(False)
    parameters = Parameters(model, 0.1)
    assert "body.0.weight" not in parameters.names
    assert dict(zip(parameters.names, parameters.decays, strict=True)) == {
        "unused": 0.1,
        "body.0.bias": 0.0,
        "body.1.weight": 0.0,
        "body.1.bias": 0.0,
        "body.3.weight": 0.1,
        "body.3.bias": 0.0,
    }


def through_json(snapshot):
    tensors, structure = flatten(copy_tensors(snapshot))
    return unflatten(json.loads(json.dumps(structure)), tensors)


@pytest.mark.parametrize("name", sorted(JUDGES))
def test_state_that_went_through_json_continues_to_the_bit(name):
    rule, values, _, _ = JUDGES[name]

    def go(model, optimizer, steps):
        for step in steps:
            gradients = torch.autograd.grad(loss(model, step), optimizer.parameters.tensors, allow_unused=True)
            optimizer.update(gradients, 0.05)

    first = Net()
    optimizer = build(rule, Parameters(first, DECAY), **values)
    go(first, optimizer, range(7))
    second = Net()
    second.load_state_dict(first.state_dict())
    resumed = build(rule, Parameters(second, DECAY), **values)
    resumed.restore(through_json(optimizer.snapshot()))
    go(first, optimizer, range(7, 14))
    go(second, resumed, range(7, 14))
    assert_equal(first, second)


def test_lbfgs_is_that_of_torch_optim_on_the_penalised_loss():
    mine, other = Net(), Net()
    optimizer = build("lbfgs", Parameters(mine, DECAY), history=5, iterations=4)
    judge = torch.optim.LBFGS(
        other.parameters(), lr=0.7, max_iter=4, max_eval=25, history_size=5, line_search_fn="strong_wolfe"
    )

    def closure():
        judge.zero_grad()
        value = loss(other)
        for p in other.parameters():
            value = value + (DECAY / 2 * p.square().sum() if p.ndim >= 2 else 0)
        value.backward()
        return value

    for _ in range(5):
        optimizer.minimise(lambda: loss(mine), 0.7)
        judge.step(closure)
    assert gap(mine, other) < 1e-7


def curved(model):
    """A loss whose minimum, where all weights are 1, lies in a narrow valley."""
    x = torch.cat([p.flatten() for p in model.parameters()])
    return (1 - x[:-1]).square().sum() + 100 * (x[1:] - x[:-1].square()).square().sum()


@pytest.mark.parametrize("name", sorted(SEARCHING))
@pytest.mark.parametrize("iterations", [1, 2, 20])
def test_however_few_iterations_a_step_has_a_search_arrives(name, iterations):
    model = nn.Linear(2, 1).double()
    nn.init.zeros_(model.weight)
    optimizer = build(name, Parameters(model), iterations=iterations)
    for _ in range(100 // iterations):
        optimizer.minimise(lambda: curved(model), 1.0)
    for p in model.parameters():
        torch.testing.assert_close(p.detach(), torch.ones_like(p), rtol=0, atol=1e-4)


@pytest.mark.parametrize("decay", [0.0, DECAY])
def test_bfgs_is_that_of_the_mathematics_on_the_penalised_loss(decay):
    model = nn.Linear(2, 1).double()
    start = torch.cat([p.detach().flatten() for p in model.parameters()])
    optimizer = build("bfgs", Parameters(model, decay), iterations=3)
    for _ in range(3):
        optimizer.minimise(lambda: curved(model), 1.0)

    def penalised(x):
        value = (1 - x[:-1]).square().sum() + 100 * (x[1:] - x[:-1].square()).square().sum()
        return value + decay / 2 * x[:2].square().sum()

    path, inverse = maths_bfgs(penalised, start, steps=9)
    here = torch.cat([p.detach().flatten() for p in model.parameters()])
    torch.testing.assert_close(here, path.points[-1], rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(optimizer.inverse, inverse, rtol=1e-8, atol=1e-8)
    slopes = torch.cat([p.grad.flatten() for p in model.parameters()])
    torch.testing.assert_close(slopes, path.gradients[-1], rtol=1e-6, atol=1e-8)


def test_bfgs_refuses_a_model_whose_matrix_does_not_fit_into_memory():
    with torch.device("meta"):
        large = nn.Linear(3000, 3000)
    says = r"bfgs keeps a matrix of 9,003,000 × 9,003,000 numbers .* GB .* Take train.optimizer=lbfgs"
    with pytest.raises(GradlabError, match=says):
        build("bfgs", Parameters(large))


def test_at_a_minimum_bfgs_stays():
    model = nn.Linear(2, 1)
    for p in model.parameters():
        nn.init.ones_(p)
    optimizer = build("bfgs", Parameters(model))
    looks = []
    optimizer.minimise(lambda: (looks.append(1), curved(model))[1], 1.0)
    assert len(looks) == 1
    assert all((p == 1).all() and (p.grad == 0).all() for p in model.parameters())


@pytest.mark.parametrize("name", sorted(SEARCHING))
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_the_state_of_a_search_goes_through_json_and_continues_to_the_bit(name, steps):
    first = Net()
    optimizer = build(name, Parameters(first, DECAY), iterations=2)
    for _ in range(steps):
        optimizer.minimise(lambda: loss(first), 1.0)
    second = Net()
    second.load_state_dict(first.state_dict())
    resumed = build(name, Parameters(second, DECAY), iterations=2)
    resumed.restore(through_json(optimizer.snapshot()))
    for _ in range(3):
        optimizer.minimise(lambda: loss(first), 1.0)
        resumed.minimise(lambda: loss(second), 1.0)
    assert_equal(first, second)
    assert optimizer.step == resumed.step == steps + 3


@pytest.mark.parametrize("name", ["momentum", "nesterov"])
@pytest.mark.parametrize("value", [1.0, 1.5, -0.1])
def test_a_momentum_that_cannot_settle_is_refused(name, value):
    with pytest.raises(ValueError, match="momentum"):
        optimizers.resolve(Part(name, {"momentum": value}), "optimizer")
