"""Losses and updates that a script writes out itself: the doctor sees their targets, and the course of evaluations."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gradlab.diagnosis.doctor import Doctor

ROWS = 32


def chosen(scores, y):
    return scores[torch.arange(len(y)), y]


NUMBERS = {
    "powers": lambda out, y: ((out[:, 0] - y) ** 2).mean(),
    "the other way round": lambda out, y: (y - out.select(1, 0)).pow(2).sum(),
    "squares": lambda out, y: (out[:, :1].squeeze(1) - y).square().mean(),
    "a product": lambda out, y: (lambda e: (e * e).mean())(out[:, 0] - y),
    "torch's own, from before": lambda out, y, loss=F.mse_loss: loss(out[:, 0], y),
    "beside a penalty": lambda out, y: ((out[:, 0] - y) ** 2).mean() + 1e-3 * out.square().mean(),
}
CLASSES = {
    "an index": lambda out, y: -chosen(F.log_softmax(out, 1), y).mean(),
    "gathered": lambda out, y: -out.log_softmax(-1).gather(1, y[:, None]).mean(),
    "one-hot": lambda out, y: -(F.one_hot(y, 3).float() * out.log_softmax(1)).sum(1).mean(),
    "a logarithm": lambda out, y: -chosen(torch.log(out.softmax(1) + 1e-9), y).mean(),
    "torch's own, from before": F.cross_entropy,
    "logsumexp": lambda out, y: (torch.logsumexp(out, 1) - chosen(out, y)).mean(),
}
HALVES = {
    "two logarithms": lambda out, y: (
        -(y * torch.log(out[:, 0].sigmoid()) + (1 - y) * torch.log(1 - out[:, 0].sigmoid())).mean()
    ),
    "softplus": lambda out, y: (F.softplus(out[:, 0]) - y * out[:, 0]).mean(),
}


def network():
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))


def train(loss, y, steps=40):
    torch.manual_seed(0)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    with Doctor(tell=False) as doctor:
        for _ in range(steps):
            at = torch.randint(len(X), (ROWS,))
            optimizer.zero_grad()
            loss(model(X[at]), y[at]).backward()
            optimizer.step()
    assert doctor.verdict.faults == []
    return doctor


X = torch.randn(512, 4, generator=torch.Generator().manual_seed(0))
SUM, LARGEST, SIGN = X.sum(1), X[:, :3].argmax(1), (X[:, 0] > 0).float()


@pytest.mark.parametrize("form", NUMBERS)
def test_numbers_are_read_off_the_graph(form):
    record = train(NUMBERS[form], SUM).record
    (call,) = record.loss_calls
    assert call.kind == "mse_loss"
    assert call.constant_loss == pytest.approx(float(SUM.var()), rel=0.25)
    inputs, targets = record.examples[0]
    torch.testing.assert_close(targets, inputs.sum(1), rtol=0, atol=1e-5)


@pytest.mark.parametrize("form", CLASSES)
def test_classes_are_read_off_the_graph(form):
    record = train(CLASSES[form], LARGEST).record
    (call,) = record.loss_calls
    assert call.kind in ("cross_entropy", "nll_loss")
    inputs, targets = record.examples[0]
    torch.testing.assert_close(targets, inputs[:, :3].argmax(1))
    plain = train(lambda out, y: F.cross_entropy(out, y), LARGEST).record.loss_calls[0]
    assert call.values.first == pytest.approx(plain.values.first, rel=1e-4)


@pytest.mark.parametrize("form", HALVES)
def test_two_classes_are_read_off_the_graph(form):
    record = train(HALVES[form], SIGN).record
    (call,) = record.loss_calls
    assert call.kind.startswith("binary_cross_entropy")
    inputs, targets = record.examples[0]
    torch.testing.assert_close(targets, (inputs[:, 0] > 0).float())


@pytest.mark.parametrize(
    "loss",
    [
        lambda out, y: -(chosen(F.log_softmax(out, 1), out.argmax(1)) * y).mean(),  # of a policy, by its return
        lambda out, y: out.square().mean(),
        lambda out, y: (out[:, 0] - out[:, 1].detach() * y).relu().mean(),
    ],
)
def test_what_has_no_targets_gets_none(loss):
    assert train(loss, SUM).record.loss_calls == []


def test_labels_of_others_are_found_in_a_loss_by_hand():
    mixed = LARGEST[torch.randperm(len(LARGEST))]
    doctor = train(CLASSES["an index"], mixed, steps=300)
    assert "label_misalignment" in [finding.slug for finding in doctor.verdict.findings[:2]]


def memorised(rows, figure):
    """A network of many weights, and evaluations that only the script itself has a figure for."""
    torch.manual_seed(0)
    true, wide = torch.randn(20), nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1))
    x, other = torch.randn(rows, 20), torch.randn(400, 20)
    y, theirs = (((z @ true) + 3 * torch.randn(len(z)) > 0).float() for z in (x, other))
    optimizer = torch.optim.Adam(wide.parameters(), lr=1e-2)

    def loss(z, labels):
        return (F.softplus(wide(z)[:, 0]) - labels * wide(z)[:, 0]).mean()

    with Doctor(tell=False) as doctor:
        for step in range(240):
            optimizer.zero_grad()
            loss(x, y).backward()
            optimizer.step()
            if step % 20 == 0:
                with torch.no_grad():
                    figure(loss(other, theirs), (wide(other)[:, 0] > 0).float().eq(theirs).float().mean())
    return [finding.slug for finding in doctor.verdict.findings if finding.severity != "note"]


def test_an_evaluation_by_hand_shows_what_was_learnt_by_heart():
    assert memorised(60, lambda loss, accuracy: loss.item()) == ["overfitting"]
    assert memorised(60, lambda loss, accuracy: accuracy.item()) == []
    assert memorised(20_000, lambda loss, accuracy: loss.item()) == []


def test_weights_that_each_step_makes_anew_are_one():
    generator = torch.Generator().manual_seed(0)
    w = torch.randn(4, 1, generator=generator).requires_grad_()
    b = torch.zeros(1, requires_grad=True)
    with Doctor(tell=False) as doctor:
        for _ in range(40):
            loss = ((X @ w + b)[:, 0] - SUM).square().mean()
            dw, db = torch.autograd.grad(loss, (w, b))
            w = (w - 0.1 * dw).detach().requires_grad_()
            b = (b - 0.1 * db).detach().requires_grad_()
    assert set(doctor.record.parameters) == {"w", "b"}
    assert doctor.record.parameters["w"].changed
    assert doctor.record.steps >= 35
    assert [f.slug for f in doctor.verdict.findings if f.severity != "note"] == []
