"""Training in evaluation mode, evaluation in training mode, batch norm of a handful; and who means it."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from trainings import adam, batches, fit, found, grave, groups, mlp, pictures, series, sgd, slope, watching

MODES = ("train_in_eval_mode", "eval_in_train_mode", "batchnorm_tiny_batch")


def dropping(columns=8, outputs=4):
    return nn.Sequential(nn.Linear(columns, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, outputs))


def normed(columns=8, outputs=4):
    return nn.Sequential(nn.Linear(columns, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, outputs))


def seeing(outputs=3):
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Linear(384, outputs)
    )


def learn(model, x, y, steps=20, optimizer=None):
    """One epoch with cross-entropy."""
    optimizer = optimizer or sgd(model.parameters(), lr=0.05)
    for inputs, targets in batches(x, y, steps=steps):
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()


@torch.no_grad()
def accuracy(model, x, y, rows=64):
    return sum(float((model(a).argmax(1) == b).sum()) for a, b in zip(x.split(rows), y.split(rows), strict=True))


# -- training in evaluation mode ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [dropping, normed])
def test_evaluation_mode_from_the_start(make):
    with watching() as doctor:
        model = make().eval()
        fit(model, nn.CrossEntropyLoss(), *groups(), make=adam)
    finding = found(doctor, "train_in_eval_mode")
    assert finding.severity == "error"
    assert "model." in finding.where
    assert finding.since_step == 0
    assert "model.train()" in finding.fix


@pytest.mark.parametrize("epochs", [2, 4])
def test_nobody_goes_back_after_the_first_evaluation(epochs):
    x, y = pictures()
    model = seeing()
    with watching() as doctor:
        optimizer = sgd(model.parameters(), lr=0.05)
        for _ in range(epochs):
            learn(model, x[:96], y[:96], optimizer=optimizer)
            model.eval()
            accuracy(model, x[96:], y[96:])
    finding = found(doctor, "train_in_eval_mode")
    assert finding.severity == "error"
    assert "model.1" in finding.where
    assert "eval() called at tests/diagnosis/rules/test_modes.py" in finding.where
    assert finding.since_step == 20


def test_dropout_between_the_layers_of_a_recurrent_net():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.out = nn.LSTM(5, 12, num_layers=2, dropout=0.5, batch_first=True), nn.Linear(12, 1)

        def forward(self, x):
            return self.out(self.rnn(x)[0][:, -1])

    x, _ = series()
    model = Net()
    model.eval()
    with watching() as doctor:
        fit(model, lambda out, y: (out - y).abs().mean(), x, x.sum((1, 2))[:, None], make=adam)
    finding = found(doctor, "train_in_eval_mode")
    assert finding.severity == "error"
    assert "model.rnn" in finding.where


def test_dropout_of_a_function_after_the_first_evaluation():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.out = nn.Linear(8, 32), nn.Linear(32, 4)

        def forward(self, x):
            return self.out(F.dropout(torch.relu(self.inner(x)), 0.4, training=self.training))

    x, y = groups()
    model = Net()
    with watching() as doctor:
        learn(model, x[:200], y[:200])
        model.eval()
        accuracy(model, x[200:], y[200:])
        learn(model, x[:200], y[:200])
    finding = found(doctor, "train_in_eval_mode")
    assert finding.severity == "error"
    assert finding.where.startswith("model")


@pytest.mark.parametrize("make", [dropping, normed])
def test_both_modes_in_turn(make):
    x, y = groups(rows=512)
    model = make()
    with watching() as doctor:
        optimizer = adam(model.parameters())
        for _ in range(3):
            model.train()
            learn(model, x[:400], y[:400], optimizer=optimizer)
            model.eval()
            accuracy(model, x[400:], y[400:])
    assert grave(doctor) == []


def test_evaluation_mode_makes_no_difference():
    with watching() as doctor:
        fit(mlp().eval(), F.cross_entropy, *groups())
    assert grave(doctor) == []


@pytest.mark.parametrize("style", ["loaded", "not loaded", "with dropout"])
def test_batch_norm_is_frozen_on_purpose(style):
    x, y = pictures()
    model = seeing()
    if style == "with dropout":
        model.insert(4, nn.Dropout(0.3))
    with watching() as doctor:
        if style == "loaded":
            source = seeing()
            learn(source, x, y)
            model.load_state_dict(source.state_dict())
        model.train()
        for part in model.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.eval()
        learn(model, x, y, steps=40)
    assert grave(doctor, *MODES) == []


def test_a_backbone_in_evaluation_mode():
    class Net(nn.Module):
        def __init__(self, backbone):
            super().__init__()
            self.backbone, self.head = backbone, nn.Sequential(nn.Dropout(0.2), nn.Linear(16, 3))

        def train(self, mode=True):
            super().train(mode)
            self.backbone.eval()
            return self

        def forward(self, x):
            with torch.no_grad():
                h = self.backbone(x)
            return self.head(h)

    x, y = pictures()
    backbone = seeing(outputs=16)
    with watching() as doctor:
        learn(backbone, x, y)
        model = Net(backbone.requires_grad_(False))
        model.train()
        fit(model, F.cross_entropy, x, y)
    assert grave(doctor, *MODES) == []


def test_attacks_on_a_trained_model():
    """Backward passes in evaluation mode, after which nobody steps."""
    x, y = groups(rows=512)
    model = dropping()
    with watching() as doctor:
        learn(model, x, y, steps=40)
        model.eval()
        for inputs, targets in batches(x, y, steps=60):
            inputs.requires_grad_()
            F.cross_entropy(model(inputs), targets).backward()
            model(inputs.detach() + 0.1 * inputs.grad.sign())
    assert grave(doctor, *MODES) == []


def test_attacks_in_evaluation_mode_before_every_step():
    x, y = groups()
    model = dropping()
    with watching() as doctor:
        optimizer = sgd(model.parameters())
        for inputs, targets in batches(x, y):
            model.eval()
            inputs.requires_grad_()
            F.cross_entropy(model(inputs), targets).backward()
            attacked = (inputs + 0.1 * inputs.grad.sign()).detach()
            model.train()
            optimizer.zero_grad()
            F.cross_entropy(model(attacked), targets).backward()
            optimizer.step()
    assert grave(doctor) == []


def test_a_critic_in_evaluation_mode_while_its_maker_learns():
    real = torch.randn(256, 2) @ torch.randn(2, 2) + 1
    maker, critic = mlp(4, 2), normed(2, 1)
    with watching() as doctor:
        theirs, ours = adam(maker.parameters(), lr=1e-3), adam(critic.parameters(), lr=1e-3)
        for (x,) in batches(real):
            fake = maker(torch.randn(32, 4))
            critic.train()
            ours.zero_grad()
            (F.softplus(-critic(x)).mean() + F.softplus(critic(fake.detach())).mean()).backward()
            ours.step()
            critic.eval()
            theirs.zero_grad()
            F.softplus(-critic(fake)).mean().backward()
            theirs.step()
    assert grave(doctor) == []


# -- evaluation in training mode ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [dropping, normed])
def test_a_loss_is_measured_in_training_mode(make):
    x, y = groups(rows=512)
    model, loss = make(), nn.CrossEntropyLoss()
    train, test = (DataLoader(TensorDataset(x[at], y[at]), 32) for at in (slice(400), slice(400, None)))
    with watching() as doctor:
        optimizer = adam(model.parameters())
        for _ in range(3):
            for inputs, targets in train:
                optimizer.zero_grad()
                loss(model(inputs), targets).backward()
                optimizer.step()
            with torch.no_grad():
                for inputs, targets in test:
                    loss(model(inputs), targets)
    finding = found(doctor, "eval_in_train_mode")
    assert finding.severity == "error"
    assert "model, called at tests/diagnosis/rules/test_modes.py" in finding.where
    assert "model.eval()" in finding.fix


@pytest.mark.parametrize("off", [torch.no_grad, torch.inference_mode])
def test_an_accuracy_is_measured_in_training_mode(off):
    x, y = pictures(rows=160)
    model = seeing()
    with watching() as doctor:
        learn(model, x[:96], y[:96], steps=40)
        with off():
            for a, b in zip(x[96:].split(32), y[96:].split(32), strict=True):
                (model(a).argmax(1) == b).float().mean()
    finding = found(doctor, "eval_in_train_mode")
    assert finding.severity == "warning"
    assert "model" in finding.where


def test_errors_of_a_regression_in_training_mode():
    x, y = slope(rows=512)
    model = dropping(6, 1)
    with watching() as doctor:
        for _ in range(3):
            fit(model, F.mse_loss, x[:400], y[:400], make=adam, steps=15)
            with torch.no_grad():
                (model(x[400:]) - y[400:]).abs().mean()
    assert found(doctor, "eval_in_train_mode").severity == "warning"


class AlwaysDrops(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.out = nn.Linear(8, 32), nn.Linear(32, 4)

    def forward(self, x):
        return self.out(F.dropout(torch.relu(self.inner(x)), 0.4))


def test_dropout_of_a_function_that_is_not_told_the_mode():
    x, y = groups(rows=512)
    model = AlwaysDrops()
    with watching() as doctor:
        for _ in range(2):
            model.train()
            learn(model, x[:400], y[:400], steps=23)
            model.eval()
            accuracy(model, x[400:], y[400:])
    finding = found(doctor, "eval_in_train_mode")
    assert finding.severity == "warning"
    assert finding.where == "model (F.dropout)"
    assert "training=self.training" in finding.fix


def test_many_draws_of_dropout_of_a_function():
    x, y = groups(rows=512)
    model = AlwaysDrops()
    with watching() as doctor:
        learn(model, x[:400], y[:400], steps=40)
        model.eval()
        with torch.no_grad():
            for part in x[400:].split(32):
                torch.stack([model(part) for _ in range(10)]).std(0)
    assert grave(doctor, *MODES) == []


def test_nothing_that_acts_differently_in_training():
    x, y = groups(rows=512)
    model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Dropout(0.0), nn.Linear(16, 4))
    with watching() as doctor:
        for _ in range(3):
            learn(model, x[:400], y[:400])
            accuracy(model, x[400:], y[400:])
    assert grave(doctor) == []


@pytest.mark.parametrize("style", ["dropout alone", "whole model"])
def test_many_draws_of_dropout(style):
    """The spread of predictions tells how unsure the model is."""
    x, y = slope(rows=300)
    model = dropping(6, 1)
    with watching() as doctor:
        fit(model, F.mse_loss, x[:200], y[:200], make=adam)
        if style == "dropout alone":
            model.eval()
            for part in model.modules():
                if isinstance(part, nn.Dropout):
                    part.train()
        with torch.no_grad():
            draws = torch.stack([model(x[200:]) for _ in range(20)])
        assert float(draws.std(0).mean()) > 0
    assert grave(doctor, *MODES) == []


@pytest.mark.parametrize("style", ["torch's own", "by hand"])
def test_statistics_are_measured_anew(style):
    x, y = groups()
    model = normed()
    with watching() as doctor:
        learn(model, x, y, steps=40)
        average = copy.deepcopy(model)
        model.train()
        if style == "torch's own":
            torch.optim.swa_utils.update_bn(x.split(32), model)
        else:
            with torch.no_grad():
                for part in x.split(32):
                    model(part)
        model.eval()
        accuracy(model, x, y)
        average.train()
    assert grave(doctor, *MODES) == []


def test_statistics_are_measured_anew_and_nobody_evaluates():
    x, y = groups()
    model = normed()
    with watching() as doctor:
        learn(model, x, y, steps=40)
        torch.optim.swa_utils.update_bn(x.split(32), model)
    assert grave(doctor, *MODES) == []


def test_sizes_are_found_out_by_a_trial_call():
    x, y = pictures()
    model = nn.Sequential(
        nn.LazyConv2d(6, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.Dropout(0.1), nn.LazyLinear(3)
    )
    with watching() as doctor:
        with torch.no_grad():
            model(x[:2])
            model(x[:4])
        learn(model, x, y, steps=40)
    assert grave(doctor, *MODES) == []


def test_labels_made_by_the_model_itself():
    """A part of every batch has no labels: those of the model, in training mode, take their place."""
    x, y = groups(rows=512)
    model = dropping()
    with watching() as doctor:
        optimizer = adam(model.parameters())
        for inputs, targets, unlabelled in batches(x[:256], y[:256], x[256:]):
            with torch.no_grad():
                guessed = model(unlabelled).argmax(1)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets) + 0.1 * F.cross_entropy(model(unlabelled), guessed)
            loss.backward()
            optimizer.step()
    assert grave(doctor, *MODES) == []


def test_samples_of_a_generator():
    real = torch.randn(256, 2) @ torch.randn(2, 2) + 1
    maker, critic = normed(4, 2), mlp(2, 1)
    with watching() as doctor:
        theirs, ours = adam(maker.parameters(), lr=1e-3), adam(critic.parameters(), lr=1e-3)
        for step, (x,) in enumerate(batches(real)):
            fake = maker(torch.randn(32, 4))
            ours.zero_grad()
            (F.softplus(-critic(x)).mean() + F.softplus(critic(fake.detach())).mean()).backward()
            ours.step()
            theirs.zero_grad()
            F.softplus(-critic(fake)).mean().backward()
            theirs.step()
            if step % 10 == 9:
                with torch.no_grad():
                    maker(torch.randn(64, 4))
    assert grave(doctor, *MODES) == []


# -- batch norm of a handful -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [2, 4])
def test_a_handful_of_rows(rows):
    with watching() as doctor:
        fit(normed(), F.cross_entropy, *groups(), rows=rows)
    finding = found(doctor, "batchnorm_tiny_batch")
    assert finding.severity in (("error",) if rows == 2 else ("error", "warning"))
    assert finding.where == "model.1"
    assert "batch_size" in finding.fix


def test_one_picture_that_is_pooled_to_a_point():
    model = nn.Sequential(
        nn.Conv2d(1, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.BatchNorm2d(6), nn.Flatten(), nn.Linear(6, 1)
    )
    x, _ = pictures()
    with watching() as doctor:
        fit(model, lambda out, y: ((out - y) ** 2).mean(), x, x.mean((1, 2, 3))[:, None], make=adam, rows=2)
    finding = found(doctor, "batchnorm_tiny_batch")
    assert finding.severity == "error"
    assert finding.where == "model.3"


def test_few_pictures_have_many_places():
    with watching() as doctor:
        fit(seeing(), F.cross_entropy, *pictures(), rows=2)
    assert grave(doctor, *MODES) == []


def test_a_last_batch_that_is_small():
    x, y = groups(rows=66)
    model = normed()
    with watching() as doctor:
        optimizer = sgd(model.parameters())
        for _ in range(12):
            for inputs, targets in DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True):
                optimizer.zero_grad()
                F.cross_entropy(model(inputs), targets).backward()
                optimizer.step()
    assert grave(doctor) == []


def test_other_norms_need_no_batch():
    model = nn.Sequential(nn.Linear(8, 32), nn.GroupNorm(4, 32), nn.ReLU(), nn.Linear(32, 4))
    with watching() as doctor:
        fit(model, F.cross_entropy, *groups(), rows=2)
    assert grave(doctor, *MODES) == []


@pytest.mark.parametrize("momentum", [0.001, 0.1])
def test_statistics_of_an_evaluation_that_are_still_those_of_the_start(momentum):
    """Evaluated by its accuracy alone, as most classifiers are."""
    x, y = groups()
    x = 5 * x + 20
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16, momentum=momentum), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    with watching() as doctor:
        for _ in range(4):
            model.train()
            for rows in torch.randperm(len(x)).split(16):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                model(x).argmax(1)
    if momentum < 0.1:
        assert "first statistics are forgotten" in found(doctor, "train_eval_gap").evidence
    else:
        assert doctor.record.probed.modes == []
