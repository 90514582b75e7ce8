"""Probes on copies, as `--deep` runs them: faulty trainings, and healthy ones that look like them."""

import random
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.diagnosis.doctor import Doctor
from gradlab.diagnosis.probing import probes

sys.path.insert(0, str(Path(__file__).parent / "rules"))
from trainings import adam, fit, grave, groups, mlp, series, sgd, slope

OURS = ("batch_mixing", "train_eval_gap", "wrong_initial_loss", "wrong_gradient", "better_rate")


@pytest.fixture(autouse=True)
def begin_alike(monkeypatch):
    """Without the one probe that takes hundreds of steps, and has its rules elsewhere."""

    def by_heart(record, replay, deadline):
        return None

    monkeypatch.setattr(probes, "by_heart", by_heart)
    torch.manual_seed(0)


def deep() -> Doctor:
    return Doctor(deep=True, tell=False)


def told(doctor: Doctor, slug: str):
    """The finding of that name, or None."""
    assert doctor.verdict.faults == []
    found = [f for f in doctor.verdict.findings if f.slug == slug]
    assert len(found) <= 1
    return found[0] if found else None


def watched(model: nn.Module, loss, x: Tensor, y: Tensor, **how) -> Doctor:
    with deep() as doctor:
        fit(model, loss, x, y, **how)
    return doctor


ce, mse = nn.CrossEntropyLoss(), nn.MSELoss()


class Tagger(nn.Module):
    """A recurrent net that says one class for each sequence (rows, time, columns), or is meant to."""

    def __init__(self, batch_first: bool):
        super().__init__()
        self.rnn, self.out = nn.LSTM(5, 12, batch_first=batch_first), nn.Linear(12, 3)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


class Attending(nn.Module):
    def __init__(self, batch_first: bool):
        super().__init__()
        self.attention = nn.MultiheadAttention(5, 1, batch_first=batch_first)
        self.out = nn.Linear(5, 3)

    def forward(self, x):
        return self.out(self.attention(x, x, x)[0].mean(1))


class Scrambled(nn.Module):
    """Turns (rows, time, columns) into (time, rows, columns) with a view, which does not move axes."""

    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.GRU(5, 12), nn.Linear(12, 3)

    def forward(self, x):
        return self.out(self.rnn(x.view(x.shape[1], x.shape[0], -1))[0][-1])


class AcrossBatch(nn.Module):
    """Each row attends to all rows of its batch, on purpose."""

    def __init__(self):
        super().__init__()
        self.inside, self.out = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x):
        h = self.inside(x)
        return self.out(h + torch.softmax(h @ h.T / 4, 1) @ h)


def normed(*parts: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(30, 16), *parts, nn.Linear(16, 3))


# -- examples that mix ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda: Tagger(batch_first=False), Scrambled])
def test_examples_that_mix(make):
    finding = told(watched(make(), ce, *series(), make=adam), "batch_mixing")
    assert finding.severity == "error"
    assert "other rows" in finding.evidence


def test_attention_along_the_wrong_axis():
    finding = told(watched(Attending(batch_first=False), ce, *series(), make=adam), "batch_mixing")
    assert finding.severity == "warning"
    assert "attention" in finding.where
    assert finding.fix.startswith("batch_first=True")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Tagger(batch_first=True),
        lambda: Attending(batch_first=True),
        lambda: normed(nn.BatchNorm1d(16), nn.Dropout(0.5)),
        lambda: normed(nn.BatchNorm1d(16, track_running_stats=False)),
    ],
    ids=["lstm", "attention", "batch_norm", "batch_statistics"],
)
def test_examples_that_do_not_mix(make):
    doctor = watched(make(), ce, *series(), make=adam)
    assert told(doctor, "batch_mixing") is None
    assert not grave(doctor, *OURS)


def test_rows_that_attend_to_each_other_on_purpose():
    finding = told(watched(AcrossBatch(), ce, *groups(), make=adam), "batch_mixing")
    assert finding.severity == "note"


def test_nodes_of_a_graph():
    class Graph(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(8, 16), nn.Linear(16, 4)

        def forward(self, x, near):
            return near @ self.two(torch.relu(near @ self.one(x)))

    x, y = groups(64)
    near = (y[:, None] == y).float()
    near = near / near.sum(1)
    with deep() as doctor:
        model = Graph()
        optimizer = adam(model.parameters())
        for _ in range(30):
            optimizer.zero_grad()
            ce(model(x, near), y).backward()
            optimizer.step()
    assert told(doctor, "batch_mixing") is None
    assert not grave(doctor, *OURS)


@pytest.mark.parametrize("both_ways", [False, True])
def test_time_before_examples(both_ways):
    class Labels(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.out = nn.LSTM(5, 8, bidirectional=both_ways), nn.Linear(16 if both_ways else 8, 3)

        def forward(self, x):
            return self.out(self.rnn(x)[0])

    x, y = series(96, length=10)
    with deep() as doctor:
        model = Labels()
        optimizer = adam(model.parameters())
        for _ in range(40):
            at = torch.randperm(len(x))[:16]
            optimizer.zero_grad()
            ce(model(x[at].transpose(0, 1)).reshape(-1, 3), y[at].repeat(10)).backward()
            optimizer.step()
    assert told(doctor, "batch_mixing") is None
    assert not grave(doctor, *OURS)


def test_one_sequence_after_the_other():
    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.out = nn.GRU(5, 8, bidirectional=True), nn.Linear(16, 3)

        def forward(self, x):
            return self.out(self.rnn(x)[0])

    x, y = series(12, length=10)
    with deep() as doctor:
        model = Reader()
        optimizer = adam(model.parameters())
        for step in range(48):
            optimizer.zero_grad()
            ce(model(x[step % 12]), y[step % 12].repeat(10)).backward()
            optimizer.step()
    assert not grave(doctor, *OURS)


def test_contrast_within_the_batch():
    encoder = mlp(8, 16)
    x, _ = groups()
    with deep() as doctor:
        optimizer = adam(encoder.parameters())
        for _ in range(30):
            at = torch.randperm(len(x))[:32]
            one, other = (F.normalize(encoder(x[at] + 0.1 * torch.randn(32, 8)), dim=1) for _ in range(2))
            optimizer.zero_grad()
            ce(one @ other.T / 0.1, torch.arange(32)).backward()
            optimizer.step()
    assert told(doctor, "batch_mixing") is None
    assert not grave(doctor, *OURS)


def test_similarities_as_output():
    class Pairs(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.other = nn.Linear(8, 6), nn.Linear(8, 6)

        def forward(self, x, y):
            return self.one(x) @ self.other(y).T

    model, (x, _) = Pairs(), groups()
    with deep() as doctor:
        optimizer = adam(model.parameters())
        for _ in range(30):
            at = torch.randperm(len(x))[:32]
            optimizer.zero_grad()
            ce(model(x[at], x[at]), torch.arange(32)).backward()
            optimizer.step()
    assert told(doctor, "batch_mixing") is None


def test_noise_is_no_mixing():
    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = mlp()

        def forward(self, x):
            return self.inner(x + torch.randn_like(x))

    assert told(watched(Noisy(), ce, *groups(), make=adam), "batch_mixing") is None


@dataclass
class Answer:
    logits: Tensor
    hidden: Tensor


@pytest.mark.parametrize("wrap", [lambda h, o: {"hidden": h, "logits": o}, lambda h, o: Answer(o, h)])
def test_answers_in_dicts_and_dataclasses(wrap):
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.out = nn.Linear(8, 16), nn.Linear(16, 4)

        def forward(self, *, x):
            h = self.inner(x)
            return wrap(h, self.out(h.cumsum(0)))

    model, (x, y) = Mixed(), groups()
    with deep() as doctor:
        optimizer = sgd(model.parameters(), lr=1e-3)
        for _ in range(30):
            at = torch.randperm(len(x))[:32]
            out = model(x=x[at])
            optimizer.zero_grad()
            ce(out["logits"] if isinstance(out, dict) else out.logits, y[at]).backward()
            optimizer.step()
    assert doctor.record.probed.mixing[0].order > 1e-3


# -- modes -------------------------------------------------------------------------------------------------------------


class Dropped(nn.Module):
    """Dropout by hand."""

    def __init__(self, scaled: bool):
        super().__init__()
        self.scaled = scaled

    def forward(self, x):
        if not self.training:
            return x
        kept = x * (torch.rand_like(x) < 0.2)
        return kept / 0.2 if self.scaled else kept


@pytest.mark.parametrize("scaled", [False, True])
def test_dropout_by_hand(scaled):
    x, y = slope(columns=64)
    model = nn.Sequential(nn.Linear(64, 64), Dropped(scaled), nn.Linear(64, 1))
    doctor = watched(model, mse, x, y / 8, make=adam, steps=80)
    finding = told(doctor, "train_eval_gap")
    if scaled:
        assert finding is None
    else:
        assert finding.severity == "warning"
        assert finding.where == "model.1"


@pytest.mark.parametrize("momentum", [0.1, 0.001])
def test_batch_norm_that_lags(momentum):
    x, y = slope()
    model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32, momentum=momentum), nn.ReLU(), nn.Linear(32, 1))
    doctor = watched(model, mse, 5 + 20 * x, y, make=adam)
    finding = told(doctor, "train_eval_gap")
    if momentum == 0.1:
        assert finding is None
    else:
        assert finding.severity == "note"
        assert "batch norm" in finding.evidence
    assert not grave(doctor, *OURS)


@pytest.mark.parametrize("p", [0.1, 0.7])
def test_dropout(p):
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(p), nn.Linear(64, 4))
    doctor = watched(model, ce, *groups(), make=adam)
    assert told(doctor, "train_eval_gap") is None


def test_probabilities_only_in_evaluation():
    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = mlp()

        def forward(self, x):
            return self.inner(x) if self.training else self.inner(x).softmax(1)

    assert not grave(watched(Classifier(), ce, *groups(), make=adam), *OURS)


# -- the first loss ----------------------------------------------------------------------------------------------------


def test_first_loss_of_a_sound_start():
    doctor = watched(mlp(), ce, *groups())
    seen, expected, kind = doctor.record.probed.first_loss
    assert kind == "cross_entropy"
    assert expected == pytest.approx(np.log(4))
    assert seen < 2 * expected
    assert told(doctor, "wrong_initial_loss") is None


@pytest.mark.parametrize(
    ("loss", "data", "outputs"),
    [(ce, groups, 4), (mse, slope, 1), (nn.BCEWithLogitsLoss(), lambda: (slope()[0], (slope()[1] > 0).float()), 1)],
    ids=["classes", "numbers", "yes_or_no"],
)
def test_first_loss_of_a_start_that_is_far_too_sure(loss, data, outputs):
    x, y = data()
    model = mlp(x.shape[1], outputs)
    with torch.no_grad():
        model[2].weight.mul_(60)
    finding = told(watched(model, loss, x, y, make=adam), "wrong_initial_loss")
    assert finding is not None
    assert finding.severity != "error"


def test_pretrained_weights_know_something():
    x, y = groups()
    model = mlp()
    fit(model, ce, x, y, make=adam, steps=100)
    with deep() as doctor:
        again = mlp()
        again.load_state_dict(model.state_dict())
        fit(again, ce, x, y)
    assert told(doctor, "wrong_initial_loss") is None


# -- functions of one's own --------------------------------------------------------------------------------------------


def function(forward, backward):
    """An autograd function, of two lambdas; what `forward` is given is saved."""

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, g):
            return backward(ctx.saved_tensors[0], g)

    return Own


class Using(nn.Module):
    def __init__(self, own):
        super().__init__()
        self.one, self.two, self.own = nn.Linear(8, 16), nn.Linear(16, 4), own.apply

    def forward(self, x):
        return self.two(self.own(self.one(x)))


def slopes_of(own):
    doctor = watched(Using(own), ce, *groups(), make=adam, steps=24)
    return doctor, told(doctor, "wrong_gradient")


def s(x):
    return torch.sigmoid(x)


WRONG = {
    "forgotten term": (lambda x: x * s(x), lambda x, g: g * s(x)),
    "forgotten factor": (lambda x: x.square(), lambda x, g: g * x),
    "sign": (lambda x: torch.exp(-x), lambda x, g: g * torch.exp(-x)),
    "one side": (lambda x: torch.where(x > 0, x, 0.5 * x), lambda x, g: torch.where(x > 0, g, 0.1 * g)),
    "no chain": (lambda x: torch.tanh(x), lambda x, g: 1 - torch.tanh(x) ** 2),
}
RIGHT = {
    "swish": (lambda x: x * s(x), lambda x, g: g * (s(x) + x * s(x) * (1 - s(x)))),
    "relu": (lambda x: x.clamp(min=0), lambda x, g: g * (x > 0)),
    "float32 inside": (lambda x: torch.tanh(x.float()).to(x.dtype), lambda x, g: g * (1 - torch.tanh(x) ** 2)),
}
MEANT = {
    "rounding": (lambda x: torch.round(x), lambda x, g: g),
    "fine rounding": (lambda x: torch.round(x * 127) / 127, lambda x, g: g),
    "sign": (lambda x: torch.sign(x), lambda x, g: g * (x.abs() < 1)),
    "scaled sign": (lambda x: torch.sign(x) * x.abs().mean(), lambda x, g: g * (x.abs() < 1)),
    "spike": (lambda x: (x > 0).to(x.dtype), lambda x, g: g / (1 + 10 * x.abs()) ** 2),
    "reversal": (lambda x: x.view_as(x), lambda x, g: -0.3 * g),
    "clipping": (lambda x: x.clone(), lambda x, g: g.clamp(-1e-3, 1e-3)),
    "noise": (lambda x: x + torch.randn_like(x), lambda x, g: g),
}


@pytest.mark.parametrize("pair", WRONG.values(), ids=WRONG)
def test_wrong_backward(pair):
    _, finding = slopes_of(function(*pair))
    assert finding.severity == "error"
    assert finding.where.startswith("Own.backward at tests/diagnosis/test_probing.py:")


@pytest.mark.parametrize("pair", [*RIGHT.values(), *MEANT.values()], ids=[*RIGHT, *MEANT])
def test_backward_that_is_right_or_meant(pair):
    doctor, finding = slopes_of(function(*pair))
    assert "Own" in doctor.record.custom_functions
    assert doctor._watch.notes == []
    assert finding is None


@pytest.mark.parametrize(
    "pair",
    [
        (lambda x: x.clamp(-0.5, 0.5), lambda x, g: g),
        (lambda x: 2 * x, lambda x, g: g),
        (lambda x: x.clamp(min=0), lambda x, g: g * (x > 0) * (g > 0)),
    ],
    ids=["passes", "scales", "guides"],
)
def test_backward_that_may_be_meant(pair):
    _, finding = slopes_of(function(*pair))
    assert finding.severity == "note"


def test_refuses_float64():
    def forward(x):
        if x.dtype != torch.float32:
            raise TypeError("float32 only")
        return torch.tanh(x)

    doctor, finding = slopes_of(function(forward, lambda x, g: g))
    assert finding is None
    assert any("Own" in note and "float64" in note for note in doctor._watch.notes)


@pytest.mark.parametrize("right", [True, False])
def test_function_of_several_arguments_with_a_context_of_its_own(right):
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(x, scale, power):
            return scale * x**power

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, scale, ctx.power = inputs
            ctx.save_for_backward(x, scale)

        @staticmethod
        def backward(ctx, g):
            x, scale = ctx.saved_tensors
            by_scale = (g * x**ctx.power).sum(0)
            return g * scale * ctx.power * x ** (ctx.power - 1), by_scale if right else 2 * by_scale, None

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.one, self.two = nn.Parameter(torch.ones(16)), nn.Linear(8, 16), nn.Linear(16, 4)

        def forward(self, x):
            return self.two(Scaled.apply(self.one(x), self.scale, 2))

    before = vars(Scaled)["forward"]
    finding = told(watched(Net(), ce, *groups(), make=adam, steps=24), "wrong_gradient")
    assert vars(Scaled)["forward"] is before
    if right:
        assert finding is None
    else:
        assert finding.severity == "error"
        assert "argument 1" in finding.evidence
        assert "2 times" in finding.evidence


def test_loss_among_the_answers():
    """As models of Hugging Face give it: called with keywords, with the labels, and with a dict as answer."""

    class Labelled(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.1), nn.Linear(16, 4))

        def forward(self, inputs, labels):
            logits = self.inner(inputs["x"])
            return {"loss": ce(2 * logits, labels), "logits": logits}

    model, (x, y) = Labelled(), groups()
    with deep() as doctor:
        optimizer = sgd(model.parameters(), lr=1e-3)
        for _ in range(30):
            at = torch.randperm(len(x))[:32]
            optimizer.zero_grad()
            model(inputs={"x": x[at]}, labels=y[at])["loss"].backward()
            optimizer.step()
    assert doctor._watch.notes == []
    assert len(doctor.record.probed.modes) == 1
    assert len(doctor.record.probed.rates) == 11
    assert not grave(doctor, *OURS)


def test_loss_that_does_not_look_at_what_comes_back():
    class Squares(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return (x - y).square().mean()

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return 2 * (x - y) / x.numel(), None

    class LossCall(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = mlp(6, 1)

        def forward(self, x, y):
            return Squares.apply(self.inner(x), y)

    model, (x, y) = LossCall(), slope()
    with deep() as doctor:
        optimizer = adam(model.parameters())
        for _ in range(30):
            optimizer.zero_grad()
            model(x, y).backward()
            optimizer.step()
    assert "Squares" in doctor.record.custom_functions
    assert doctor.record.probed.modes  # a model that gives its own loss can be run again too
    assert told(doctor, "wrong_gradient") is None


# -- rates -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [1e-3, 300.0])
def test_another_rate_gets_further(rate):
    doctor = watched(mlp(), ce, *groups(), make=lambda p: torch.optim.SGD(p, lr=rate))
    finding = told(doctor, "better_rate")
    assert finding.severity == "note"
    assert f"now {rate:g}" in finding.fix
    assert len(doctor.record.probed.rates) == 11


@pytest.mark.parametrize("make", [sgd, adam, lambda p: torch.optim.LBFGS(p)])
def test_a_rate_that_works(make):
    model, (x, y) = mlp(), groups()
    with deep() as doctor:
        optimizer = make(model.parameters())
        for _ in range(30):

            def closure():
                optimizer.zero_grad()
                loss = ce(model(x), y)
                loss.backward()
                return loss

            optimizer.step(closure)
    assert told(doctor, "better_rate") is None


# -- nothing is disturbed ----------------------------------------------------------------------------------------------


def test_random_numbers_weights_and_output_are_as_they_were(capsys):
    class Chatty(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.calls = mlp(), 0

        def forward(self, x):
            self.calls += 1
            random.random()
            np.random.rand()
            print("called")
            return F.dropout(self.inner(x), 0.5, self.training)

    def run(watch: bool):
        torch.manual_seed(0)
        random.seed(0)
        np.random.seed(0)
        model = Chatty()
        if watch:
            assert watched(model, ce, *groups(), make=adam).verdict.faults == []
        else:
            fit(model, ce, *groups(), make=adam)
        drawn = (random.random(), np.random.rand(), float(torch.rand(())))
        return [p.detach().clone() for p in model.parameters()], drawn, model.calls, capsys.readouterr().out

    plain, probed = run(False), run(True)
    assert all(torch.equal(a, b) for a, b in zip(plain[0], probed[0], strict=True))
    assert plain[1:] == probed[1:]


def test_a_model_that_refuses_to_run_again():
    class Once(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = mlp()

        def forward(self, x):
            if self.inner[0].weight.grad is None and training_is_over:
                raise RuntimeError("closed")
            return self.inner(x)

    training_is_over = False
    with deep() as doctor:
        fit(Once(), ce, *groups())
        training_is_over = True
    assert doctor.verdict.faults == []
    assert any("closed" in note for note in doctor._watch.notes)
    assert not grave(doctor, *OURS)
