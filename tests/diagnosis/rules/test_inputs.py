"""What goes in: words of a bag beside a table that was wiped out, raw pixels before a norm, evaluation on another
scale, sparse tensors, channels that came last, targets among the inputs, and loaders that are begun anew."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from trainings import adam, batches, fit, found, grave, groups, mlp, sgd, watching


def bag(rows=300, words=400):
    y = torch.arange(rows) % 4
    x = torch.zeros(rows, words)
    for _ in range(4):
        x[torch.arange(rows), torch.randint(words, (rows,))] = 1.0
    return x, y


def test_words_of_a_bag_are_rare():
    with watching() as doctor:
        fit(mlp(400), nn.CrossEntropyLoss(), *bag(), steps=60)
    assert grave(doctor, "constant_feature") == []


def test_a_table_that_was_wiped_out():
    x, y = bag()
    with watching() as doctor:
        fit(mlp(400), nn.CrossEntropyLoss(), x * (torch.arange(300) % 40 == 0)[:, None], y, steps=60)
    assert found(doctor, "constant_feature").severity in ("error", "warning")


@pytest.mark.parametrize("normed", [True, False])
def test_raw_pixels_before_a_first_layer(normed):
    x, y = torch.randint(0, 256, (256, 1, 8, 8)).float(), torch.arange(256) % 3
    norm = nn.BatchNorm2d(4) if normed else nn.Identity()
    model = nn.Sequential(nn.Conv2d(1, 4, 3), norm, nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
    with watching() as doctor:
        fit(model, nn.CrossEntropyLoss(), x, y, steps=60)
    assert bool(grave(doctor, "unnormalized_input")) is not normed


@pytest.mark.parametrize("scaled", [True, False])
def test_evaluation_inputs_are_on_another_scale(scaled):
    x, y = groups()
    model = mlp()
    with watching() as doctor:
        optimizer = adam(model.parameters())
        for _ in range(4):
            for a, b in batches(x[:200], y[:200], steps=20):
                optimizer.zero_grad()
                F.cross_entropy(model(a), b).backward()
                optimizer.step()
            with torch.no_grad():
                F.cross_entropy(model(x[200:] if scaled else 40 * x[200:] + 30), y[200:])
    assert bool(grave(doctor, "evaluation_scale")) is not scaled


def test_a_sparse_input_is_no_fault_of_the_doctor():
    class Graph(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 4)

        def forward(self, given):
            adjacency, x = given
            return torch.sparse.mm(adjacency, self.layer(x))

    x, y = groups(64)
    adjacency = torch.eye(64).to_sparse()
    model = Graph()
    optimizer = sgd(model.parameters())
    with watching() as doctor:
        for _ in range(20):
            optimizer.zero_grad()
            F.cross_entropy(model((adjacency, x)), y).backward()
            optimizer.step()
            with torch.no_grad():
                model((adjacency, x))
    assert grave(doctor) == []


@pytest.mark.parametrize("tiny", [True, False])
def test_shares_of_words_are_small_on_average_only(tiny):
    x, y = bag()
    x = x / 400 if tiny else x / x.sum(1, keepdim=True) / 2
    with watching() as doctor:
        fit(mlp(400), nn.CrossEntropyLoss(), x, y, make=sgd, steps=30)
    assert bool(grave(doctor, "unnormalized_input")) is tiny


@pytest.mark.parametrize("moved", [True, False])
def test_pictures_whose_channels_came_last(moved):
    coarse = torch.rand(128, 3, 4, 4)
    last = F.interpolate(coarse, 16, mode="bilinear").permute(0, 2, 3, 1).contiguous()
    x = last.permute(0, 3, 1, 2) if moved else last.view(128, 3, 16, 16)
    y = torch.randint(3, (128,))  # nothing to learn
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(784, 3))
    with watching() as doctor:
        fit(model, nn.CrossEntropyLoss(), x, y, make=sgd, steps=60)
    assert bool(grave(doctor, "view_mixes_axes")) is not moved


@pytest.mark.parametrize("texture", ["noise", "stripes", "chequers"])
def test_pictures_that_are_not_smooth_are_no_others(texture):
    at = torch.arange(12)
    x = torch.randn(128, 3, 12, 12)
    if texture == "stripes":
        x = 0.1 * x + (at % 3 == 0).float()
    elif texture == "chequers":
        x = 0.1 * x + ((at + at[:, None]) % 2).float()
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(400, 3))
    with watching() as doctor:
        fit(model, nn.CrossEntropyLoss(), x, torch.randint(3, (128,)), steps=60)
    assert "view_mixes_axes" not in [f.slug for f in doctor.verdict.findings]


@pytest.mark.parametrize("ahead", [0, 1])
def test_a_target_that_is_one_of_the_inputs(ahead):
    series = torch.randn(400).cumsum(0) / 10
    x = series.unfold(0, 6, 1)[:380]
    y = series[5 + ahead :][:380, None]
    with watching() as doctor:
        fit(mlp(6, 1), nn.MSELoss(), x, y, steps=60)
    assert ("target_leak" in [f.slug for f in doctor.verdict.findings]) is (ahead == 0)


@pytest.mark.parametrize("way", ["anew", "anew, shuffled", "passes"])
def test_a_loader_that_is_begun_anew_for_each_step(way):
    x, y = groups()
    loader = DataLoader(TensorDataset(x, y[torch.randperm(len(y))]), batch_size=32, shuffle="shuffled" in way)
    model = mlp()
    optimizer = sgd(model.parameters())
    with watching() as doctor:
        for _ in range(10):
            for pair in loader:
                a, b = pair if way == "passes" else next(iter(loader))
                optimizer.zero_grad()
                F.cross_entropy(model(a), b).backward()
                optimizer.step()
    severities = [f.severity for f in doctor.verdict.findings if f.slug == "same_batch"]
    assert severities == []  # a pass that goes on beside is no loop without one
    with watching() as doctor:
        for _ in range(80):
            a, b = next(iter(loader)) if way != "passes" else (x, y)
            optimizer.zero_grad()
            F.cross_entropy(model(a), b).backward()
            optimizer.step()
    severities = [f.severity for f in doctor.verdict.findings if f.slug == "same_batch"]
    assert severities == {"anew": ["error"], "anew, shuffled": ["note"], "passes": []}[way]
