"""What goes in: words of a bag beside a table that was wiped out, raw pixels before a norm, evaluation on another scale,
and sparse tensors."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
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


def test_features_that_another_part_has_made_move_with_its_weights():
    x, y = groups()
    trunk, head = nn.Sequential(nn.Linear(8, 6), nn.Softplus()), nn.Linear(6, 4)
    with watching() as doctor:
        optimizer = sgd([*trunk.parameters(), *head.parameters()])
        for epoch in range(4):
            for a, b in batches(x[:200], y[:200], steps=20):
                optimizer.zero_grad()
                F.cross_entropy(head(trunk(a)), b).backward()
                optimizer.step()
            with torch.no_grad():
                trunk[0].bias += 40.0 * (epoch == 0)
                F.cross_entropy(3 * head(trunk(x[200:])), y[200:].flip(0))
    assert grave(doctor, "evaluation_scale") == []


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
