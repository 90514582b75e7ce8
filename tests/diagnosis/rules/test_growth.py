"""A graph that is carried from step to step is found; one that is long, or of changing length, is not."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from trainings import adam, batches, found, grave, groups, series, sgd, watching

from gradlab.diagnosis.record import Loss, Record
from gradlab.diagnosis.rules.growth import graph_growth


class Leaky(nn.Module):
    """A state that fades, and what is read off it."""

    def __init__(self):
        super().__init__()
        self.fade, self.drive, self.out = nn.Parameter(torch.zeros(8)), nn.Linear(3, 8), nn.Linear(8, 1)

    def forward(self, x, state):
        keep, outs = torch.sigmoid(self.fade), []
        for drive in torch.tanh(self.drive(x)):
            state = keep * state + (1 - keep) * drive
            outs.append(state)
        return self.out(torch.stack(outs)).squeeze(-1), state


def stream(model, carry, steps=32, length=3, reset=None):
    """A long series in pieces; `carry` says what of the state goes on to the next piece."""
    x = torch.randn(steps * length, 4, 3)
    y = x.cumsum(0).mean(-1) / (1 + torch.arange(len(x)))[:, None].sqrt()
    optimizer = adam(model.parameters())
    state = torch.zeros(4, 8)
    for step, (inputs, targets) in enumerate(zip(x.split(length), y.split(length), strict=True)):
        if reset and step % reset == 0:
            state = torch.zeros(4, 8)
        out, state = model(inputs, state)
        optimizer.zero_grad()
        F.mse_loss(out, targets).backward(retain_graph=True)
        optimizer.step()
        state = carry(state)


@pytest.mark.parametrize("reset", [None, 16])
def test_a_state_is_carried_with_its_graph(reset):
    with watching() as doctor:
        stream(Leaky(), lambda state: state, reset=reset)
    finding = found(doctor, "graph_growth")
    assert finding.severity == "error"
    assert "backward() at tests/diagnosis/rules/test_growth.py" in finding.where
    assert finding.since_step <= 1
    assert "detach()" in finding.fix
    assert "more in each step" in finding.evidence


def test_a_running_total_is_what_is_sent_back():
    x, y = groups()
    model = nn.Linear(8, 4)
    total = torch.zeros(())
    with watching() as doctor:
        optimizer = sgd(model.parameters(), lr=0.01)
        for inputs, targets in batches(x, y):
            total = total + nn.CrossEntropyLoss()(model(inputs), targets)
            optimizer.zero_grad()
            (0.01 * total).backward(retain_graph=True)
            optimizer.step()
    finding = found(doctor, "graph_growth")
    assert finding.severity == "error"
    assert "loss.item()" in finding.fix


def test_a_recurrent_net_by_hand():
    inner, hidden, out = (torch.randn(n, m) / 4 for n, m in ((3, 8), (8, 8), (8, 1)))
    weights = [w.requires_grad_() for w in (inner, hidden, out)]
    state = torch.zeros(4, 8)
    with watching() as doctor:
        for _ in range(40):
            loss = torch.zeros(())
            for _ in range(3):
                x = torch.randn(4, 3)
                state = torch.tanh(x @ inner + state @ hidden)
                loss = loss + ((state @ out)[:, 0] - x.sum(1)).square().mean()
            loss.backward(retain_graph=True)
            for weight in weights:
                weight.data -= 0.01 * weight.grad
                weight.grad = None
    assert found(doctor, "graph_growth").severity == "error"


def test_growth_from_some_step_on():
    """The state is cut off in the first steps alone."""
    count = iter(range(1000))
    with watching() as doctor:
        stream(Leaky(), lambda state: state.detach() if next(count) < 10 else state, steps=41)
    finding = found(doctor, "graph_growth")
    assert finding.severity == "error"
    assert finding.since_step >= 11


def test_growth_beyond_what_is_counted():
    loss = Loss(site=None)
    for step, (nodes, carried) in enumerate([(9000, 0), (18000, 8990), *[(20_000, 11_000)] * 8]):
        loss.nodes.add(step, nodes)
        loss.carried.add(step, carried)
    (seen,) = graph_growth(Record(losses=[loss]))
    assert seen.grade[0] == "error"


# -- look-alikes -------------------------------------------------------------------------------------------------------


def test_a_state_is_carried_without_its_graph():
    with watching() as doctor:
        stream(Leaky(), lambda state: state.detach())
    assert grave(doctor, "graph_growth") == []


def test_one_graph_for_many_steps():
    """What is made of the weights once, before the loop, is carried but does not grow."""
    x, y = groups()
    weight, scale = torch.zeros(8, 4, requires_grad=True), torch.zeros(4, requires_grad=True)
    with watching() as doctor:
        optimizer = sgd([weight, scale], lr=0.05)
        factor = torch.exp(scale)
        for inputs, targets in batches(x, y):
            optimizer.zero_grad()
            F.cross_entropy(inputs @ weight * factor, targets).backward(retain_graph=True)
            optimizer.step()
    assert grave(doctor, "graph_growth") == []


class Unrolled(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(5, 8), nn.Linear(8, 3)

    def forward(self, x):
        h = torch.zeros(len(x), 8)
        for part in x.unbind(1):
            h = self.cell(part, h)
        return self.out(h)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("lengths", ["at random", "longer in each epoch", "sorted"])
def test_sequences_of_different_lengths(lengths, seed):
    torch.manual_seed(seed)
    x, y = series(length=12)
    model = Unrolled()
    with watching() as doctor:
        optimizer = adam(model.parameters())
        for step, (inputs, targets) in enumerate(batches(x, y)):
            length = {
                "at random": int(torch.randint(1, 13, ())),
                "longer in each epoch": 2 + 10 * (step // 8) // 4,
                "sorted": 2 + step // 4,
            }[lengths]
            optimizer.zero_grad()
            F.cross_entropy(model(inputs[:, :length]), targets).backward()
            optimizer.step()
    assert grave(doctor, "graph_growth") == []


def test_losses_of_several_batches_are_summed_before_they_are_sent_back():
    x, y = groups()
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    with watching() as doctor:
        optimizer = sgd(model.parameters())
        kept, total = 0.0, torch.zeros(())
        for step, (inputs, targets) in enumerate(batches(x, y, steps=120)):
            total = total + F.cross_entropy(model(inputs), targets) / 3
            if step % 3 == 2:
                optimizer.zero_grad()
                total.backward()
                optimizer.step()
                kept, total = kept + total.item(), torch.zeros(())
    assert grave(doctor) == []


def test_layers_that_are_added_one_by_one():
    x, y = groups()
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    with watching() as doctor:
        for step, (inputs, targets) in enumerate(batches(x, y, steps=60)):
            if step % 20 == 0:
                model.insert(0, nn.Sequential(nn.Linear(8, 8), nn.ReLU()))
                optimizer = sgd(model.parameters())
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
    assert grave(doctor, "graph_growth") == []


@pytest.mark.parametrize(
    ("take", "grows"),
    [
        (lambda out: out.mean(), True),
        (lambda out: out.mean().item(), False),
        (lambda out: out.detach().mean(), False),
    ],
)
def test_a_running_total_that_no_backward_pass_goes_through(take, grows):
    x, y = groups()
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    total = 0.0
    with watching() as doctor:
        optimizer = sgd(model.parameters())
        for inputs, targets in batches(x, y, steps=60):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            total = 0.9 * total + take(model(inputs))
    assert [finding.slug for finding in grave(doctor)] == (["graph_growth"] if grows else [])


def test_outputs_and_losses_that_are_kept_are_no_graph():
    x, y = groups()
    model, kept = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4)), []
    with watching() as doctor:
        optimizer = sgd(model.parameters())
        for inputs, targets in batches(x, y, steps=60):
            optimizer.zero_grad()
            out = model(inputs)
            loss = F.cross_entropy(out, targets)
            loss.backward()
            optimizer.step()
            kept += [out.detach(), loss]
    assert grave(doctor) == []
