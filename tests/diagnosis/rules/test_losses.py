"""Losses with a softmax too many, along a wrong axis, or of shapes that broadcast; and those that only look so."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from trainings import adam, batches, bowl, fit, found, grave, groups, mlp, rings, series, sgd, slope, watching

LOSSES = (
    "softmax_before_ce",
    "sigmoid_before_bce_logits",
    "double_log",
    "wrong_softmax_dim",
    "wrong_loss_axis",
    "target_broadcast",
)


# -- a softmax too many ------------------------------------------------------------------------------------------------


def test_a_softmax_at_the_end_of_the_model():
    model = nn.Sequential(*mlp(), nn.Softmax(dim=1))
    x, y = groups()
    with watching() as doctor:
        optimizer = adam(model.parameters())
        for inputs, targets in DataLoader(TensorDataset(x, y), 32, shuffle=True):
            loss = nn.CrossEntropyLoss()(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    finding = found(doctor, "softmax_before_ce")
    assert finding.severity == "error"
    assert "model.3" in finding.where
    assert "test_losses.py" in finding.where
    assert f"{math.log(math.e + 3) - 1:.2f}" in finding.evidence
    assert doctor.verdict.findings[0] is finding


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_softmax_of_a_function_for_every_place_of_a_sequence(smoothing):
    rnn, head = nn.GRU(5, 12, batch_first=True), nn.Linear(12, 3)
    x, y = series()
    with watching() as doctor:
        optimizer = sgd([*rnn.parameters(), *head.parameters()])
        for inputs, targets in batches(x, y):
            out = F.softmax(head(rnn(inputs)[0]), dim=-1)
            loss = F.cross_entropy(out.reshape(-1, 3), targets.repeat_interleave(6), label_smoothing=smoothing)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    finding = found(doctor, "softmax_before_ce")
    assert finding.severity == "error"
    assert "drop the softmax" in finding.fix


def test_a_softmax_before_a_loss_of_log_softmax_and_nll():
    with watching() as doctor:
        fit(mlp(), lambda out, y: F.nll_loss(F.log_softmax(F.softmax(out, 1), 1), y), *groups())
    assert found(doctor, "softmax_before_ce").severity == "error"


def test_a_softmax_before_soft_targets():
    x, y = groups()
    with watching() as doctor:
        fit(mlp(), lambda out, t: F.cross_entropy(out.softmax(1), t), x, 0.9 * F.one_hot(y, 4) + 0.025)
    assert found(doctor, "softmax_before_ce").severity == "error"


def test_probabilities_without_a_logarithm():
    """nll_loss wants their logarithms."""
    with watching() as doctor:
        fit(nn.Sequential(*mlp(), nn.Softmax(dim=1)), nn.NLLLoss(), *groups())
    finding = found(doctor, "softmax_before_ce")
    assert finding.severity == "error"
    assert "log_softmax" in finding.fix


def test_a_sigmoid_before_cross_entropy():
    with watching() as doctor:
        fit(nn.Sequential(*mlp(), nn.Sigmoid()), nn.CrossEntropyLoss(), *groups())
    finding = found(doctor, "softmax_before_ce")
    assert finding.severity == "error"
    assert "sigmoid" in finding.evidence


@pytest.mark.parametrize(
    "loss",
    [
        F.cross_entropy,
        lambda out, y: F.nll_loss(F.log_softmax(out, 1), y),
        lambda out, y: F.nll_loss(torch.log(F.softmax(out, 1)), y),
        lambda out, y: F.cross_entropy(F.log_softmax(out, 1), y),
        lambda out, y: F.cross_entropy(torch.log(F.softmax(out, 1) + 1e-9), y),
        lambda out, y: -F.log_softmax(out, 1)[torch.arange(len(y)), y].mean(),
        lambda out, y: -(F.one_hot(y, 4) * torch.log(F.softmax(out, 1).clamp(min=1e-9))).sum(1).mean(),
        lambda out, y: (torch.logsumexp(out, 1) - out.gather(1, y[:, None])[:, 0]).mean(),
        lambda out, y: F.kl_div(F.log_softmax(out, 1), 0.9 * F.one_hot(y, 4) + 0.025, reduction="batchmean"),
        lambda out, y: -torch.distributions.Categorical(probs=F.softmax(out, 1)).log_prob(y).mean(),
        lambda out, y: F.mse_loss(F.softmax(out, 1), F.one_hot(y, 4).float()),
        lambda out, y: F.multi_margin_loss(out, y),
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_every_sound_way_to_the_same_loss(loss, seed):
    torch.manual_seed(seed)
    with watching() as doctor:
        fit(mlp(), loss, *groups(), make=adam, steps=30)
    assert grave(doctor) == []


def test_a_softmax_for_the_metrics_alone():
    x, y = groups()
    model = mlp()
    with watching() as doctor:
        optimizer = sgd(model.parameters())
        for inputs, targets in batches(x, y):
            logits = model(inputs)
            F.softmax(logits, 1).max(1)
            optimizer.zero_grad()
            F.cross_entropy(logits, targets).backward()
            optimizer.step()
    assert grave(doctor) == []


def test_a_student_learns_a_teachers_probabilities():
    x, y = groups()
    with watching() as doctor:
        teacher = mlp()
        fit(teacher, F.cross_entropy, x, y)
        teacher.requires_grad_(False)

        def loss(out, targets):
            hard, soft = F.cross_entropy(out[0], targets), F.softmax(out[1] / 2, 1)
            return hard + F.kl_div(F.log_softmax(out[0] / 2, 1), soft, reduction="batchmean")

        class Both(nn.Module):
            def __init__(self):
                super().__init__()
                self.student, self.teacher = mlp(), teacher

            def forward(self, inputs):
                return self.student(inputs), self.teacher(inputs)

        fit(Both(), loss, x, y)
    assert grave(doctor, *LOSSES) == []


def test_a_softmax_inside_that_weighs_experts():
    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate, self.experts = nn.Linear(8, 3), nn.ModuleList(mlp() for _ in range(3))

        def forward(self, x):
            weights = F.softmax(self.gate(x), 1)
            return sum(weights[:, i : i + 1] * expert(x) for i, expert in enumerate(self.experts))

    with watching() as doctor:
        fit(Experts(), F.cross_entropy, *groups(), make=adam)
    assert grave(doctor, *LOSSES) == []


# -- a sigmoid too many ------------------------------------------------------------------------------------------------


def test_a_sigmoid_at_the_end_of_the_model():
    x, y = rings()
    with watching() as doctor:
        fit(nn.Sequential(*mlp(2, 1), nn.Sigmoid()), nn.BCEWithLogitsLoss(), x, y[:, None].float(), make=adam)
    finding = found(doctor, "sigmoid_before_bce_logits")
    assert finding.severity == "error"
    assert "model.3" in finding.where
    assert "BCELoss" in finding.fix


def test_a_sigmoid_of_a_function_with_many_labels():
    x = torch.randn(256, 8)
    with watching() as doctor:
        fit(
            mlp(8, 5),
            lambda out, y: F.binary_cross_entropy_with_logits(torch.sigmoid(out).squeeze(), y),
            x,
            (x[:, :5] > 0).float(),
        )
    finding = found(doctor, "sigmoid_before_bce_logits")
    assert finding.severity == "error"
    assert "test_losses.py" in finding.where or "trainings.py" in finding.where


@pytest.mark.parametrize(
    "loss",
    [
        F.binary_cross_entropy_with_logits,
        lambda out, y: F.binary_cross_entropy(torch.sigmoid(out), y),
        lambda out, y: -(y * F.logsigmoid(out) + (1 - y) * F.logsigmoid(-out)).mean(),
        lambda out, y: F.softplus(out - 2 * y * out).mean(),
    ],
)
def test_every_sound_way_to_the_loss_of_two_classes(loss):
    x, y = groups(classes=2)
    with watching() as doctor:
        fit(mlp(8, 1), loss, x, y[:, None].float())
    assert grave(doctor) == []


def test_gates_are_sigmoids_too():
    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate, self.value, self.out = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 1)

        def forward(self, x):
            return self.out(torch.sigmoid(self.gate(x)) * self.value(x))

    x, y = groups(classes=2)
    with watching() as doctor:
        fit(Gated(), F.binary_cross_entropy_with_logits, x, y[:, None].float())
    assert grave(doctor, *LOSSES) == []


# -- a logarithm too many ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "loss",
    [
        lambda out, y: F.nll_loss(torch.log(F.log_softmax(out, 1)), y),
        lambda out, y: F.nll_loss(torch.log(F.log_softmax(out, 1).clamp(min=1e-6)), y),
        lambda out, y: -(F.one_hot(y, 4) * torch.log(F.log_softmax(out, 1) + 1e-8)).sum(1).mean(),
        lambda out, y: F.nll_loss(torch.log(torch.log(F.softmax(out, 1)).abs()), y),
    ],
    ids=["plain", "clamped", "shifted", "absolute"],
)
def test_a_logarithm_of_a_logarithm(loss):
    with watching() as doctor:
        fit(mlp(), loss, *groups())
    finding = found(doctor, "double_log")
    assert finding.severity == "error"
    assert "log_softmax" in finding.fix


def test_a_model_gives_logarithms_and_the_loss_takes_them_again():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = mlp(2, 2)

        def forward(self, x):
            return F.log_softmax(self.body(x), dim=1)

    net = Net()
    with watching() as doctor:
        optimizer = adam(net.parameters())
        for x, y in batches(*rings()):
            likely = torch.log(net(x))
            optimizer.zero_grad()
            (-likely[torch.arange(len(y)), y].mean()).backward()
            optimizer.step()
    finding = found(doctor, "double_log")
    assert finding.severity == "error"
    assert "net" in finding.where


def test_a_survival_curve_has_two_logarithms():
    """The complementary log-log link: log(-log(1 - p))."""
    x, y = slope()
    wanted = torch.sigmoid(y).clamp(0.02, 0.98)
    with watching() as doctor:
        fit(
            mlp(6, 1),
            lambda out, t: F.mse_loss(torch.log(-torch.log(1 - 0.98 * torch.sigmoid(out) - 0.01)), t),
            x,
            torch.log(-torch.log(1 - wanted)),
            make=adam,
        )
    assert grave(doctor, *LOSSES) == []


# -- a softmax along a wrong axis --------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["module", "function", "by hand"])
def test_probabilities_sum_to_one_over_the_batch(style):
    body = nn.Sequential(*mlp(), nn.Softmax(dim=0)) if style == "module" else mlp()

    def loss(out, y):
        if style == "module":
            return F.nll_loss(torch.log(out), y)
        if style == "function":
            return F.nll_loss(F.log_softmax(out, dim=0), y)
        return -torch.log(F.softmax(out, dim=0))[torch.arange(len(y)), y].mean()

    with watching() as doctor:
        fit(body, loss, *groups())
    finding = found(doctor, "wrong_softmax_dim")
    assert finding.severity == "error"
    assert "axis 0, of size 32" in finding.evidence
    if style == "module":
        assert "model.3" in finding.where


class Attention(nn.Module):
    """Self-attention by hand over sequences (batch, places, columns), and the mean of what it gives."""

    def __init__(self, weigh):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(5, 8) for _ in range(3))
        self.out, self.weigh = nn.Linear(8, 3), weigh

    def forward(self, x):
        return self.out(self.weigh(self.q(x), self.k(x), self.v(x)).mean(1))


def heads(tensor):
    return tensor.view(len(tensor), -1, 2, 4).transpose(1, 2)


def joined(tensor):
    return tensor.transpose(1, 2).reshape(len(tensor), -1, 8)


@pytest.mark.parametrize(
    "weigh",
    [
        lambda q, k, v: F.softmax(q @ k.transpose(1, 2) / 3, dim=1) @ v,
        lambda q, k, v: F.dropout(F.softmax(q @ k.mT / 3, dim=0), 0.1) @ v,
        lambda q, k, v: joined(F.softmax(heads(q) @ heads(k).transpose(-2, -1) / 2, dim=-2) @ heads(v)),
        lambda q, k, v: joined(F.softmax(heads(q) @ heads(k).transpose(-2, -1) / 2, dim=1) @ heads(v)),
        lambda q, k, v: torch.einsum("bqk,bkd->bqd", F.softmax(torch.einsum("bqd,bkd->bqk", q, k), dim=1), v),
    ],
    ids=["queries", "batch", "queries of heads", "heads", "einsum"],
)
def test_attention_sums_to_one_over_something_else_than_the_keys(weigh):
    with watching() as doctor:
        fit(Attention(weigh), F.cross_entropy, *series(), make=adam)
    finding = found(doctor, "wrong_softmax_dim")
    assert finding.severity == "error"
    assert "dim=-1" in finding.fix


@pytest.mark.parametrize(
    "weigh",
    [
        lambda q, k, v: F.softmax(q @ k.transpose(1, 2) / 3, dim=-1) @ v,
        lambda q, k, v: joined(F.softmax(heads(q) @ heads(k).transpose(-2, -1) / 2, dim=3) @ heads(v)),
        lambda q, k, v: F.softmax(k @ q.transpose(1, 2) / 3, dim=1).transpose(1, 2) @ v,
        lambda q, k, v: (v.transpose(1, 2) @ F.softmax(k @ q.transpose(1, 2) / 3, dim=1)).transpose(1, 2),
        lambda q, k, v: torch.einsum("bkq,bkd->bqd", F.softmax(torch.einsum("bqd,bkd->bkq", q, k), dim=1), v),
        lambda q, k, v: F.softmax(q, dim=-1) @ (F.softmax(k, dim=1).transpose(1, 2) @ v),
        lambda q, k, v: (F.softmax(q.sum(-1, keepdim=True), dim=1) * v).sum(1, keepdim=True),
        F.scaled_dot_product_attention,
    ],
    ids=["keys", "keys of heads", "transposed", "from the right", "einsum", "linear attention", "pooling", "torch"],
)
def test_attention_sums_to_one_over_the_keys(weigh):
    with watching() as doctor:
        fit(Attention(weigh), F.cross_entropy, *series(), make=adam)
    assert grave(doctor, *LOSSES) == []


@pytest.mark.parametrize("style", ["both ways", "over the batch", "queue"])
def test_contrastive_losses(style):
    x = torch.randn(256, 8)
    body = mlp(8, 8)
    queue = F.normalize(torch.randn(64, 8), dim=1)
    with watching() as doctor:
        optimizer = adam(body.parameters())
        for (inputs,) in batches(x):
            a, b = (F.normalize(body(inputs + 0.1 * torch.randn_like(inputs)), dim=1) for _ in range(2))
            alike, right = a @ b.T / 0.2, torch.arange(len(a))
            if style == "both ways":
                loss = F.cross_entropy(alike, right) + F.cross_entropy(alike.T, right)
            elif style == "over the batch":
                loss = -F.log_softmax(alike, dim=0).diag().mean()
            else:
                pairs = (a * b).sum(1, keepdim=True)
                loss = F.cross_entropy(torch.cat([pairs, a @ queue.T], 1) / 0.2, torch.zeros_like(right))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert grave(doctor, *LOSSES) == []


def test_instances_of_a_bag_are_weighed():
    """One bag in each step: the softmax runs along its instances, which are the rows."""

    class Bag(nn.Module):
        def __init__(self):
            super().__init__()
            self.score, self.out = nn.Linear(5, 1), nn.Linear(5, 3)

        def forward(self, x):
            return (F.softmax(self.score(x), dim=0) * x).sum(0, keepdim=True) @ self.out.weight.T + self.out.bias

    x, y = series(rows=128)
    model = Bag()
    with watching() as doctor:
        optimizer = adam(model.parameters())
        for bag, label in zip(x[:60], y[:60], strict=True):
            optimizer.zero_grad()
            F.cross_entropy(model(bag), label[None]).backward()
            optimizer.step()
    assert grave(doctor, *LOSSES) == []


# -- classes along a wrong axis of the loss ----------------------------------------------------------------------------


class Tagger(nn.Module):
    """A class for each place of a sequence."""

    def __init__(self, classes=4, length=6):
        super().__init__()
        self.rnn, self.out = nn.GRU(5, 12, batch_first=True), nn.Linear(12, classes)

    def forward(self, x):
        return self.out(self.rnn(x)[0])


def tags(classes=4, length=6):
    x = torch.randn(128, length, 5)
    return x, x[..., :classes].argmax(-1)


def test_a_view_where_a_transposition_was_meant():
    with watching() as doctor:
        fit(Tagger(), lambda out, y: F.cross_entropy(out.view(len(out), 4, 6), y), *tags(), make=adam)
    finding = found(doctor, "wrong_loss_axis")
    assert finding.severity == "error"
    assert "(32, 4, 6)" in finding.evidence
    assert "transpose(1, 2)" in finding.fix


def test_places_are_taken_for_classes():
    """It goes unnoticed where there are as many classes as places."""
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 4))
    with watching() as doctor:
        fit(model, nn.CrossEntropyLoss(), *tags(length=4))
    assert found(doctor, "wrong_loss_axis").severity == "error"


@pytest.mark.parametrize(
    "loss",
    [
        lambda out, y: F.cross_entropy(out.transpose(1, 2), y),
        lambda out, y: F.cross_entropy(out.permute(0, 2, 1), y),
        lambda out, y: F.cross_entropy(out.reshape(-1, 4), y.reshape(-1)),
        lambda out, y: F.cross_entropy(out.flatten(0, 1), y.flatten()),
        lambda out, y: sum(F.cross_entropy(out[:, t], y[:, t]) for t in range(6)),
        lambda out, y: -F.log_softmax(out, -1).gather(2, y[..., None]).mean(),
    ],
)
def test_every_sound_way_to_the_loss_of_a_sequence(loss):
    with watching() as doctor:
        fit(Tagger(), loss, *tags(), make=adam)
    assert grave(doctor, *LOSSES) == []


def test_one_layer_for_several_questions():
    """Its outputs are laid out as (classes, questions)."""
    x = torch.randn(256, 6)
    y = torch.stack([x[:, i : i + 4].argmax(1) for i in range(3)], 1)
    with watching() as doctor:
        fit(mlp(6, 12, hidden=32), lambda out, t: F.cross_entropy(out.view(-1, 4, 3), t), x, y, make=adam)
    assert grave(doctor, *LOSSES) == []


def test_classes_of_pixels():
    x = torch.randn(128, 1, 6, 6)
    with watching() as doctor:
        model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 2, 1))
        fit(model, F.cross_entropy, x, (x[:, 0] > 0).long(), make=adam)
    assert grave(doctor) == []


# -- shapes that broadcast ---------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("loss", [F.mse_loss, nn.L1Loss(), nn.SmoothL1Loss(), nn.HuberLoss()])
def test_targets_without_the_column_of_the_outputs(loss):
    x, y = slope()
    with watching() as doctor:
        fit(mlp(6, 1), loss, x, y[:, 0], make=adam)
    finding = found(doctor, "target_broadcast")
    assert finding.severity == "error"
    assert "trainings.py" in finding.where
    assert "(32, 1)" in finding.evidence
    assert "squeeze" in finding.fix
    assert doctor.verdict.findings[0] is finding


@pytest.mark.parametrize(
    "loss",
    [
        lambda out, y: ((out - y) ** 2).mean(),
        lambda out, y: (y - out).abs().sum(),
        lambda out, y: torch.sqrt(torch.square(out - y).mean()),
        lambda out, y: torch.mean((out - y) * (out - y)),
        lambda out, y: -(torch.distributions.Normal(out, 1.0).log_prob(y)).mean(),
        lambda out, y: torch.log(torch.cosh(out - y)).mean(),
    ],
    ids=["squares", "absolute", "root", "product", "density", "log cosh"],
)
@pytest.mark.parametrize("column", ["out", "target"])
def test_by_hand(loss, column):
    x, y = slope()
    model = mlp(6, 1) if column == "out" else nn.Sequential(*mlp(6, 1), nn.Flatten(0))
    with watching() as doctor:
        fit(model, loss, x, y[:, 0] if column == "out" else y)
    finding = found(doctor, "target_broadcast")
    assert finding.severity == "error"
    assert "(32, 32)" in finding.evidence


def test_the_loss_of_two_classes_by_hand():
    x, y = groups(classes=2)
    with watching() as doctor:
        fit(
            nn.Sequential(*mlp(8, 1), nn.Sigmoid()),
            lambda p, t: -(t * torch.log(p) + (1 - t) * torch.log(1 - p)).mean(),
            x,
            y.float(),
        )
    assert found(doctor, "target_broadcast").severity == "error"


@pytest.mark.parametrize(
    "loss",
    [
        F.mse_loss,
        lambda out, y: ((out - y) ** 2).mean(),
        lambda out, y: ((out.squeeze(1) - y.squeeze(1)) ** 2).mean(),
        lambda out, y: ((out - y) ** 2 * torch.linspace(0, 1, len(y))[:, None]).mean(),
        lambda out, y: F.gaussian_nll_loss(out, y, torch.ones_like(out)),
        lambda out, y: -(torch.distributions.Normal(out, 1.0).log_prob(y)).mean(),
    ],
)
def test_shapes_that_agree(loss):
    with watching() as doctor:
        fit(mlp(6, 1), loss, *slope())
    assert grave(doctor) == []


@pytest.mark.filterwarnings("ignore:Using a target size")
def test_a_row_of_targets_for_a_row_of_outputs():
    """(1, N) against (N,) makes no pairs."""
    with watching() as doctor:
        fit(mlp(6, 1), lambda out, y: nn.MSELoss()(out[:, 0], y.T), *slope())
    assert grave(doctor) == []


@pytest.mark.parametrize(
    "loss",
    [
        lambda out, y: torch.cdist(out, y).min(1).values.mean(),
        lambda out, y: (out[:, None] - y[None]).square().sum(-1).min(1).values.mean(),
        lambda out, y: F.relu(1 - (out - out.T) * torch.sign(y - y.T)).mean(),
        lambda out, y: ((out - out.T).abs() - (y - y.T).abs()).square().mean(),
        lambda out, y: torch.exp(-((out - y.T) ** 2)).mean() * -1,
        lambda out, y: (out - y.T).abs().mean() - 0.5 * (out - out.T).abs().mean(),
        lambda out, y: ((out - y.T) ** 2 * torch.softmax(-((y - y.T) ** 2), 1)).sum(1).mean(),
    ],
    ids=["nearest", "nearest by hand", "ranks", "distances", "kernel", "energy", "soft neighbours"],
)
def test_all_pairs_are_compared_on_purpose(loss):
    with watching() as doctor:
        fit(mlp(6, 1), loss, *slope(), make=adam)
    assert grave(doctor, *LOSSES) == []


def test_samples_against_targets():
    """Many draws for every row: of (draws, rows) none is compared with another row's."""
    x, y = bowl()
    model = mlp(4, 2)
    with watching() as doctor:
        optimizer = adam(model.parameters())
        for inputs, targets in batches(x, y[:, 0]):
            mean, spread = model(inputs).T
            draws = mean + F.softplus(spread) * torch.randn(32, 32)
            optimizer.zero_grad()
            ((draws - targets) ** 2).mean().backward()
            optimizer.step()
    assert grave(doctor, *LOSSES) == []
