"""Rules that measure: small trainings with one thing wrong, and the same with nothing wrong."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.diagnosis.doctor import Doctor
from gradlab.diagnosis.finding import Finding
from gradlab.diagnosis.rules import rules


def rings(seed: int, rows: int = 600) -> tuple[Tensor, Tensor]:
    """Two rings of points: nothing linear tells them apart."""
    drawn = torch.Generator().manual_seed(seed)
    y = torch.randint(2, (rows,), generator=drawn)
    angle = 6.2832 * torch.rand(rows, generator=drawn)
    radius = 0.5 + y + 0.1 * torch.randn(rows, generator=drawn)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1), y


def network(*between: Callable[[], nn.Module], width: int = 32) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Linear(2, width)]
    for make in between or (nn.ReLU,):
        layers += [make(), nn.Linear(width, width)]
    return nn.Sequential(*layers, (between or (nn.ReLU,))[0](), nn.Linear(width, 2))


def train(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.Adam,
    lr: float = 0.01,
    steps: int = 150,
    shuffled: bool = True,
    clip: float | None = None,
    gamma: float = 1.0,
    loss: Callable[[Tensor, Tensor], Tensor] = F.cross_entropy,
    **options: float,
) -> list[Finding]:
    stepping = optimizer(model.parameters(), lr=lr, **options)
    schedule = torch.optim.lr_scheduler.ExponentialLR(stepping, gamma)
    size = 50
    with Doctor(tell=False) as doctor:
        for step in range(steps):
            rows = torch.arange(step * size, (step + 1) * size) % len(x)
            if shuffled:
                rows = torch.randint(len(x), (size,))
            stepping.zero_grad()
            loss(model(x[rows]), y[rows]).backward()
            if clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            stepping.step()
            schedule.step()
    assert not doctor.verdict.faults
    return doctor.verdict.findings


def first(findings: list[Finding]) -> list[str]:
    return [f.slug for f in findings[:2] if f.severity != "note"]


def grave(findings: list[Finding]) -> list[str]:
    return [f.slug for f in findings if f.severity != "note"]


def scaled(factor: float) -> Callable[[nn.Module], None]:
    def scale(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=factor / module.in_features**0.5)
            nn.init.zeros_(module.bias)

    return scale


@pytest.fixture(params=[0, 1])
def seed(request: pytest.FixtureRequest) -> int:
    torch.manual_seed(request.param)
    return int(request.param)


def test_a_healthy_training_is_called_healthy(seed):
    assert not grave(train(network(), *rings(seed)))


@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.SGD])
def test_a_rate_that_is_far_too_high(seed, optimizer):
    assert "lr_too_high" in first(train(network(), *rings(seed), optimizer=optimizer, lr=300.0))


@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.SGD])
def test_a_rate_that_is_far_too_low(seed, optimizer):
    assert "lr_too_low" in first(train(network(), *rings(seed), optimizer=optimizer, lr=1e-7))


def test_a_rate_that_has_decayed_to_nothing(seed):
    assert first(train(network(), *rings(seed), gamma=0.5))[0] == "lr_decayed_to_zero"
    assert not grave(train(network(), *rings(seed), gamma=0.97, lr=0.03))


def test_weights_that_begin_alike(seed):
    model = network(nn.Tanh)
    for parameter in model.parameters():
        nn.init.constant_(parameter, 0.05)
    assert "constant_init" in first(train(model, *rings(seed)))


def test_weights_that_begin_far_too_large_or_small(seed):
    assert "init_too_large" in first(train(network(nn.ReLU, nn.ReLU).apply(scaled(40.0)), *rings(seed), lr=1e-3))
    small = network(nn.ReLU, nn.ReLU, nn.ReLU).apply(scaled(1e-3))
    assert "init_too_small" in first(train(small, *rings(seed), optimizer=torch.optim.SGD))


def test_a_loss_that_is_flat_and_then_falls_began_with_weights_that_are_too_small(seed):
    def slugs(factor: float) -> list[str]:
        model = network(nn.ReLU, nn.ReLU, nn.ReLU).apply(scaled(factor))
        return grave(train(model, *rings(seed), lr=1e-3, steps=400))

    assert "init_too_small" in slugs(0.01)
    assert "init_too_small" not in slugs(1.4)


def test_saturated_units(seed):
    model = network(nn.Tanh, nn.Tanh).apply(scaled(30.0))
    assert "saturated_init" in [f.slug for f in train(model, *rings(seed), lr=1e-4)[:2]]


def test_dead_units(seed):
    model = network()
    nn.init.constant_(model[0].bias, -20.0)
    assert first(train(model, *rings(seed)))[0] == "dead_relu"


def test_a_gradient_that_vanishes(seed):
    model = network(*[nn.Sigmoid] * 8)
    assert "vanishing_gradient" in first(train(model, *rings(seed), optimizer=torch.optim.SGD, lr=0.1))


def test_decay_dropout_and_clipping_that_are_far_too_strong(seed):
    data = rings(seed)
    assert "weight_decay_too_strong" in first(
        train(network(), *data, optimizer=torch.optim.SGD, lr=0.1, weight_decay=3.0)
    )
    assert "dropout_too_strong" in first(train(network(lambda: nn.Sequential(nn.ReLU(), nn.Dropout(0.95))), *data))
    assert "clipping_always_binds" in first(train(network(), *data, optimizer=torch.optim.SGD, lr=0.1, clip=1e-5))
    assert not grave(train(network(), *data, clip=1.0))


def test_no_activation(seed):
    model = nn.Sequential(nn.Linear(2, 32), nn.Linear(32, 32), nn.Linear(32, 2))
    assert first(train(model, *rings(seed)))[0] == "missing_activation"


def test_inputs_of_very_different_scales(seed):
    x, y = rings(seed)
    assert "unnormalized_input" in first(train(network(), x * torch.tensor([1e6, 1e-3]), y, optimizer=torch.optim.SGD))


def test_labels_in_order_and_labels_of_others(seed):
    x, y = rings(seed)
    order = y.argsort()
    assert "unshuffled_data" in first(train(network(), x[order], y[order], shuffled=False))
    wrong = train(network(), x, y[torch.randperm(len(y))], steps=300)
    assert "label_misalignment" in [f.slug for f in wrong[:2]]


def test_columns_that_say_nothing(seed):
    x, y = rings(seed)
    wide = torch.cat([torch.zeros(len(x), 8), torch.randn(len(x), 2)], 1)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
    assert "constant_feature" in first(train(model, wide, y))


def test_columns_that_say_the_same(seed):
    x, y = rings(seed)
    noise, model = torch.randn(len(x), 2), nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
    copies = torch.cat([noise, noise, noise], 1)
    assert "duplicated_feature" in grave(train(model, copies, y[torch.randperm(len(y))]))
    beside = train(model, torch.cat([x, torch.randn(len(x), 4)], 1), y)
    assert "duplicated_feature" not in [f.slug for f in beside]


def test_a_limit_that_no_gradient_reaches(seed):
    assert "clipping_never_binds" in [f.slug for f in train(network(), *rings(seed), clip=1e5)]
    assert "clipping_never_binds" not in [f.slug for f in train(network(), *rings(seed), clip=1.0)]


def test_units_that_become_saturated(seed):
    x, y = rings(seed)
    driven = train(network(nn.Tanh), x, y[torch.randperm(len(y))], optimizer=torch.optim.SGD, lr=30.0)
    assert "saturated_activation" in [f.slug for f in driven]
    assert "saturated_activation" not in [f.slug for f in train(network(nn.Tanh), x, y)]


def test_a_class_that_is_never_predicted(seed):
    x, _ = rings(seed)
    y = (torch.rand(len(x), generator=torch.Generator().manual_seed(seed)) < 0.04).long()
    assert "class_imbalance" in first(train(network(), x, y))


@pytest.mark.parametrize(("weight", "named"), [((1.9, 0.1), True), ((1.0, 0.0), False), ((0.5, 20.0), False)])
def test_weights_that_make_a_rare_class_rarer(seed, weight, named):
    x = torch.randn(512, 2, generator=torch.Generator().manual_seed(seed))
    y = (x[:, 0] + 0.5 * torch.randn(512, generator=torch.Generator().manual_seed(seed + 1)) > 1.6).long()
    findings = train(network(), x, y, loss=nn.CrossEntropyLoss(weight=torch.tensor(weight)))
    assert ("class_imbalance" in grave(findings)) is named
    if named:
        assert "0.0526 times" in next(f.evidence for f in findings if f.slug == "class_imbalance")


@pytest.mark.parametrize("inside", [True, False])
def test_a_number_of_padding_that_is_also_a_class(inside):
    """Tags of words are left out at the ends of sentences only, or also where the class is meant."""
    tokens = torch.randint(1, 30, (64, 10))
    tags = tokens % 3 if inside else tokens % 2 + 1
    at = torch.arange(10) >= torch.randint(4, 9, (64, 1))
    tokens, tags = tokens.masked_fill(at, 0), tags.masked_fill(at, 0)
    model = nn.Sequential(nn.Embedding(30, 8), nn.Linear(8, 3), nn.Flatten(0, 1))
    findings = train(model, tokens, tags, loss=lambda out, y: F.cross_entropy(out, y.flatten(), ignore_index=0))
    assert ("ignored_class" in [f.slug for f in findings]) is inside


def test_the_first_number_that_is_none(seed):
    x, _ = rings(seed)
    model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    stepping = torch.optim.SGD(model.parameters(), lr=0.01)
    with Doctor(tell=False) as doctor:
        for step in range(60):
            stepping.zero_grad()
            size = model(x).abs() * (0.0 if step == 40 else 1.0)
            (size + 1.0 if step != 40 else size).log().mean().square().backward()
            stepping.step()
    found = doctor.verdict.findings[0]
    assert (found.slug, found.since_step) == ("nan_loss", 40)
    assert "logarithm of 0" in found.evidence


def test_every_rule_says_what_it_means_in_a_sentence():
    for one in rules.values():
        assert one.meaning.endswith("."), one.slug
        assert one.title[0].islower(), one.slug
        assert set(one.follows.split()) <= {*rules, "*"}, one.slug
