"""A deep network that is one linear map is found; models that should be linear, or bend in other ways, are not."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from trainings import adam, batches, bowl, fit, found, grave, groups, mlp, rings, series, sgd, slope, watching

SLUG = "missing_activation"


def straight(columns, outputs, *between):
    """Linear layers with nothing that bends between them."""
    return nn.Sequential(nn.Linear(columns, 24), *between, nn.Linear(24, 24), *between, nn.Linear(24, outputs))


@pytest.mark.parametrize("between", [[], [nn.Dropout(0.1)], [nn.BatchNorm1d(24)], [nn.Identity()]])
@pytest.mark.parametrize("seed", range(2))
def test_rings_cannot_be_parted_by_a_line(between, seed):
    torch.manual_seed(seed)
    x, y = rings()
    model = straight(2, 2, *between)
    with watching() as doctor:
        optimizer = adam(model.parameters(), lr=3e-3)
        for _ in range(5):
            for inputs, targets in DataLoader(TensorDataset(x, y), 32, shuffle=True):
                optimizer.zero_grad()
                nn.CrossEntropyLoss()(model(inputs), targets).backward()
                optimizer.step()
    finding = found(doctor, SLUG)
    assert finding.severity == "error"
    assert "model.0" in finding.where
    assert "3 linear maps" in finding.evidence
    assert "nn.ReLU()" in finding.fix


@pytest.mark.parametrize(
    "loss",
    [
        F.mse_loss,
        lambda out, y: ((out - y) ** 2).mean(),
        lambda out, y: torch.mean((y - out) * (y - out)),
        lambda out, y: (out - y).abs().sum() / len(y),
        lambda out, y: F.mse_loss(out, y) + 1e-4 * out.square().mean(),
    ],
)
def test_a_bowl_is_no_plane(loss):
    with watching() as doctor:
        fit(straight(4, 1), loss, *bowl(), make=adam, steps=60)
    finding = found(doctor, SLUG)
    assert finding.severity == "error"
    assert "model.0" in finding.where


@pytest.mark.parametrize(
    "loss",
    [
        F.binary_cross_entropy_with_logits,
        lambda out, y: F.binary_cross_entropy(torch.sigmoid(out), y),
        lambda out, y: -(y * F.logsigmoid(out) + (1 - y) * F.logsigmoid(-out)).mean(),
    ],
)
def test_two_classes(loss):
    x, y = rings()
    with watching() as doctor:
        fit(straight(2, 1), loss, x, y[:, None].float(), steps=60)
    assert found(doctor, SLUG).severity == "error"


def test_convolutions_in_a_row():
    x = torch.randn(256, 1, 6, 6)
    y = (x.std((1, 2, 3)) > 1).long()
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.AvgPool2d(2),
        nn.Conv2d(4, 8, 3, padding=1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 2),
    )
    with watching() as doctor:
        fit(model, F.cross_entropy, x, y, steps=60)
    finding = found(doctor, SLUG)
    assert finding.severity == "error"
    assert "model.0 … model.5" in finding.where


def test_layers_by_hand():
    first, out = (torch.randn(4, 16) / 2).requires_grad_(), (torch.randn(16, 1) / 4).requires_grad_()
    with watching() as doctor:
        optimizer = sgd([first, out], lr=0.02)
        for x, y in batches(*bowl(), steps=60):
            optimizer.zero_grad()
            (x @ first @ out - y).square().mean().backward()
            optimizer.step()
    assert found(doctor, SLUG).severity == "error"


def test_a_line_explains_half_of_it():
    """What a line leaves would be learnt with an activation: a warning, since it learns."""
    x, _ = slope()
    y = x @ torch.ones(6, 1) / 2 + 1.6 * x[:, :1].abs()
    with watching() as doctor:
        fit(straight(6, 1), F.mse_loss, x, y, make=adam, steps=60)
    assert found(doctor, SLUG).severity == "warning"


# -- look-alikes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("outputs", "loss"),
    [
        (2, F.cross_entropy),
        (2, lambda out, y: F.nll_loss(F.log_softmax(out, 1), y)),
        (1, lambda out, y: F.binary_cross_entropy_with_logits(out[:, 0], y.float())),
        (1, lambda out, y: (torch.sigmoid(out[:, 0]) - y).square().mean()),
        (1, lambda out, y: F.mse_loss(out[:, 0], y.float())),
    ],
)
def test_one_linear_layer_is_a_model_of_its_own(outputs, loss, seed):
    torch.manual_seed(seed)
    with watching() as doctor:
        fit(nn.Linear(2, outputs), loss, *rings())
    assert grave(doctor, SLUG) == []


def test_a_plane_is_learnt_by_several_layers():
    with watching() as doctor:
        fit(straight(6, 1), F.mse_loss, *slope(), make=adam, steps=60)
    assert grave(doctor) == []
    assert found(doctor, SLUG).severity == "note"


@pytest.mark.parametrize("tied", [False, True])
def test_principal_components(tied):
    """A linear autoencoder is narrow on purpose; of noise it can tell but little."""

    class Narrow(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.up = nn.Linear(12, 2, bias=False), nn.Linear(2, 12, bias=False)

        def forward(self, x):
            h = self.down(x)
            return h @ self.down.weight if tied else self.up(h)

    x = torch.randn(256, 12)
    with watching() as doctor:
        fit(Narrow(), F.mse_loss, x, x, make=adam)
    assert grave(doctor, SLUG) == []


@pytest.mark.parametrize("kept", ["frozen", "trained"])
def test_low_rank_factors(kept):
    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.whole = nn.Linear(8, 8).requires_grad_(kept == "trained")
            self.down, self.up = nn.Linear(8, 2, bias=False), nn.Linear(2, 8, bias=False)
            nn.init.zeros_(self.up.weight)

        def forward(self, x):
            return self.whole(x) + self.up(self.down(x))

    x = torch.randn(256, 8)
    with watching() as doctor:
        fit(Adapted(), F.mse_loss, x, x @ torch.randn(8, 8) + 4 * torch.randn(256, 8), make=adam)
    assert grave(doctor, SLUG) == []


def test_factors_of_a_matrix():
    rows, columns = torch.randn(40, 3, requires_grad=True), torch.randn(30, 3, requires_grad=True)
    wanted = torch.randn(40, 30)
    with watching() as doctor:
        optimizer = torch.optim.Adam([rows, columns], lr=0.02)
        for _ in range(40):
            optimizer.zero_grad()
            ((rows @ columns.T - wanted) ** 2).mean().backward()
            optimizer.step()
    assert grave(doctor, SLUG) == []


def test_ratings_of_users_and_things():
    class Ratings(nn.Module):
        def __init__(self):
            super().__init__()
            self.users, self.things = nn.Embedding(40, 4), nn.Embedding(30, 4)

        def forward(self, pairs):
            return (self.users(pairs[:, 0]) * self.things(pairs[:, 1])).sum(1)

    pairs = torch.stack([torch.randint(40, (256,)), torch.randint(30, (256,))], 1)
    with watching() as doctor:
        fit(Ratings(), F.mse_loss, pairs, torch.randn(256), make=adam)
    assert grave(doctor, SLUG) == []


def test_two_linear_encoders_are_compared():
    """The product of both bends."""
    x = torch.randn(256, 6)
    z = x @ torch.randn(6, 5) + 3 * torch.randn(256, 5)
    one, other = nn.Linear(6, 4), nn.Linear(5, 4)
    with watching() as doctor:
        optimizer = adam([*one.parameters(), *other.parameters()])
        for a, b in batches(x, z):
            optimizer.zero_grad()
            F.cross_entropy(one(a) @ other(b).T, torch.arange(len(a))).backward()
            optimizer.step()
    assert grave(doctor, SLUG) == []


def test_bags_of_words():
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.bag, self.out = nn.EmbeddingBag(50, 8), nn.Linear(8, 2)

        def forward(self, x):
            return self.out(self.bag(x))

    with watching() as doctor:
        fit(Words(), F.cross_entropy, torch.randint(50, (256, 6)), torch.arange(256) % 2, make=adam)
    assert grave(doctor, SLUG) == []


class Bent(nn.Module):
    def __init__(self, bend, columns=4):
        super().__init__()
        self.inner, self.out, self.bend = nn.Linear(columns, 24), nn.Linear(24, 1), bend

    def forward(self, x):
        return self.out(self.bend(self.inner(x)))


@pytest.mark.parametrize(
    "bend",
    [
        torch.relu,
        F.gelu,
        torch.sin,
        lambda h: h.clamp(min=0),
        lambda h: torch.where(h > 0, h, 0.1 * h),
        lambda h: torch.maximum(h, -h),
        lambda h: h * torch.sigmoid(h),
        lambda h: h * h,
        lambda h: F.layer_norm(h, (24,)),
        lambda h: h / (1 + h.abs()),
        lambda h: F.max_pool1d(h, 3, stride=1, padding=1),
    ],
)
def test_whatever_bends(bend):
    """Nothing is learnt here, since the rate is next to nothing; the activation is not to blame."""
    with watching() as doctor:
        fit(Bent(bend), F.mse_loss, *bowl(), make=lambda p: sgd(p, lr=1e-6))
    assert grave(doctor, SLUG) == []


def test_one_head_of_two_is_linear():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.deep, self.first, self.second = mlp(4, 1), nn.Linear(4, 8), nn.Linear(8, 1)

        def forward(self, x):
            return self.second(self.first(x)), self.deep(x)

    with watching() as doctor:
        fit(
            Heads(),
            lambda out, y: F.mse_loss(out[0], y) + F.mse_loss(out[1], y),
            *bowl(),
            make=lambda p: sgd(p, lr=1e-6),
        )
    assert grave(doctor, SLUG) == []


def test_recurrent_nets_and_attention_bend():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.look = nn.GRU(5, 8, batch_first=True), nn.MultiheadAttention(8, 2, batch_first=True)
            self.out = nn.Linear(8, 3)

        def forward(self, x):
            h = self.rnn(x)[0]
            return self.out(self.look(h, h, h)[0].mean(1))

    x, _ = series()
    with watching() as doctor:
        fit(Net(), F.cross_entropy, x, torch.arange(128) % 3)
    assert grave(doctor, SLUG) == []


def test_features_of_a_model_that_was_trained_before():
    x, y = groups()
    with watching() as doctor:
        body = mlp(outputs=16)
        fit(nn.Sequential(body, nn.ReLU(), nn.Linear(16, 4)), F.cross_entropy, x, y)
        with torch.no_grad():
            features = body(x)
        fit(nn.Linear(16, 4), F.cross_entropy, features, y)
    assert grave(doctor, SLUG) == []
