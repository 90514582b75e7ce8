"""What only a CUDA device can show: captured steps, the device-side guard, mixed precision, exact resume."""

import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gradlab.data import Examples, Targets, permutation
from gradlab.data.text.windows import WindowExamples, Windows
from gradlab.errors import TrainingError
from gradlab.models.language import RecurrentLanguageModel, TransformerLanguageModel
from gradlab.nn.linear_cross_entropy import linear_cross_entropy
from gradlab.tasks import Classify, Language
from gradlab.training import capture, small_update
from gradlab.training.environment import settings
from gradlab.training.loop import Training
from gradlab.training.observers import Observer
from gradlab.training.optimizers import SEARCHING, optimizers
from gradlab.training.plan import Plan, plan_schema

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

CUDA = torch.device("cuda")


def make(mode="graph", model=None, bad_row=None, observers=(), **plan):
    torch.manual_seed(0)
    x, y = torch.randn(500, 20), torch.randint(0, 4, (500,))
    if bad_row is not None:
        x[bad_row] = float("nan")
    examples = Examples.of(x, y, np.arange(500)).to(CUDA)
    model = model or nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 4))
    settled = Plan(**plan_schema.resolve({"batch_size": 64, "epochs": 5, "deterministic": True, **plan}, "train"))
    task = Classify(Targets(classes=list("abcd")))
    held = Examples.of(x[:100], y[:100], np.arange(100)).to(CUDA) if bad_row is None else None
    return Training(model.to(CUDA), task, examples, held, settled, mode=mode, observers=observers)


class Lines(Observer):
    def __init__(self):
        self.lines = []

    def log(self, training, line):
        self.lines.append({k: line[k] for k in ("step", "split", "loss")})


def run(training):
    with settings(CUDA, 1, training.plan):
        training.run()
    return training


def weights(training):
    return {k: v.cpu() for k, v in training.model.state_dict().items()}


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "momentum", "nesterov", "sgd"])
def test_a_captured_step_trains_like_an_eager_one(optimizer):
    one, other = (
        run(make(mode, optimizer=optimizer, lr=0.01, weight_decay=0.01, schedule="cosine", keep="last"))
        for mode in ("eager", "graph")
    )
    for name, value in weights(one).items():
        torch.testing.assert_close(weights(other)[name], value, rtol=1e-5, atol=1e-6)


RULES = [name for name in optimizers if name not in SEARCHING]
# What a step may do besides: each alone, and all at once.
KNOBS = {
    "ema": {"ema": 0.9},
    "max_norm": {"max_norm": 0.5},
    "l1": {"l1": 0.01},
    "accumulate": {"accumulate": 3},
    "plateau": {"schedule": {"name": "plateau", "patience": 0, "factor": 0.5}},
    "thaw": {"freeze": ["trunk"], "thaw": 0.25},
    "all": {"ema": 0.9, "max_norm": 0.5, "l1": 0.01, "accumulate": 3, "clip": 1.0, "weight_decay": 0.01},
}


def smooth():
    """Without a bias before the normalisation: its gradient is rounding noise, of which some rules take the sign."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(20, 64, bias=False), nn.BatchNorm1d(64), nn.Tanh(), nn.Linear(64, 4))


PLANS = {**{name: {"optimizer": name} for name in RULES}, **KNOBS}


@pytest.mark.parametrize("name", PLANS)
def test_every_rule_and_knob_is_captured_as_it_is(name):
    # A rate that is the same number in single precision, in which a captured step has it.
    values = {"lr": 2.0**-8, "weight_decay": 0.01, "keep": "last", **PLANS[name]}
    one, other = (run(make(mode, model=smooth(), **values)) for mode in ("eager", "graph"))
    for key, value in weights(one).items():
        torch.testing.assert_close(weights(other)[key], value, rtol=1e-4, atol=1e-5)


class Snapshot(Observer):
    """The checkpoint of one step."""

    def __init__(self, step):
        self.every = step

    def step(self, training):
        if training.progress.step == self.every:
            self.taken = training.checkpoint()


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("name", [name for name in PLANS if name not in ("plateau", "thaw")])
def test_a_bad_gradient_leaves_weights_state_and_average_as_they_were_before_its_step(name, mode):
    row = int(permutation(500, 0, 0)[300])  # in the fifth batch of 64
    values = {"bad_row": row, "log_every": 8, "weight_decay": 0.01, **PLANS[name]}
    stopped, snapshot = make(mode, model=smooth(), **values), Snapshot(4)
    with pytest.raises(TrainingError, match="Training diverged in step 5"):
        run(stopped)
    run(make(mode, model=smooth(), observers=[snapshot], steps=4, **values))
    found, want = stopped.checkpoint(), snapshot.taken
    torch.testing.assert_close(found.optimizer, want.optimizer, rtol=0, atol=0)
    for key in stopped.parameters.names:  # not the buffers of batch normalisation, which the forward pass fills
        assert torch.equal(found.model[key], want.model[key]), key


def test_a_batch_in_parts_is_the_batch_and_takes_less_memory():
    torch.manual_seed(0)
    rows = 2**15  # activations of 134 MB in each layer, beside which the workspaces of libraries are small
    examples = Examples.of(torch.randn(rows, 64), torch.randint(0, 4, (rows,)), np.arange(rows)).to(CUDA)
    ends, peaks = {}, {}
    for parts in (1, 8):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 4))
        values = {"batch_size": "full", "epochs": 8, "deterministic": True, "accumulate": parts, "optimizer": "sgd"}
        plan = Plan(**plan_schema.resolve({"lr": 0.1, **values}, "train"))
        training = Training(model.to(CUDA), Classify(Targets(classes=list("abcd"))), examples, None, plan, mode="graph")
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run(training)
        ends[parts], peaks[parts] = weights(training), torch.cuda.max_memory_allocated() - before
        del training, model
    for key, value in ends[1].items():
        torch.testing.assert_close(ends[8][key], value, rtol=1e-3, atol=1e-4)
    assert peaks[8] < 0.5 * peaks[1]


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("name", PLANS)
def test_every_rule_and_knob_resumes_in_mid_epoch_with_the_same_bits(name, mode):
    snapshot, lines, again = Snapshot(13), Lines(), Lines()
    whole = run(make(mode, observers=[snapshot, lines], log_every=5, **PLANS[name]))
    resumed = make(mode, observers=[again], log_every=5, **PLANS[name])
    with settings(CUDA, 1, resumed.plan):
        resumed.restore(snapshot.taken)
        resumed.run()
    assert [line for line in lines.lines if line["step"] > 13] == again.lines
    for key, value in weights(whole).items():
        assert torch.equal(weights(resumed)[key], value), key


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_training_resumed_in_mid_epoch_ends_with_the_same_bits(mode, precision):
    snapshot, lines, again = Snapshot(13), Lines(), Lines()
    whole = run(make(mode, observers=[snapshot, lines], precision=precision, log_every=5))
    resumed = make(mode, observers=[again], precision=precision, log_every=5)
    with settings(CUDA, 1, resumed.plan):
        resumed.restore(snapshot.taken)
        resumed.run()
    assert [line for line in lines.lines if line["step"] > 13] == again.lines
    for name, value in weights(whole).items():
        assert torch.equal(weights(resumed)[name], value), name


def test_the_same_plan_twice_gives_the_same_losses():
    seen = []
    for _ in range(2):
        lines = Lines()
        run(make(observers=[lines]))
        seen.append(json.dumps(lines.lines))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_a_bad_gradient_freezes_the_weights_before_its_step_and_names_the_row(mode):
    model = nn.Sequential(nn.Linear(20, 4))
    training = make(mode, model=model, bad_row=123, log_every=8, keep="last")
    with pytest.raises(TrainingError, match=r"Training diverged in step (\d+).*'inputs' of the batch has nan"):
        run(training)
    assert all(w.isfinite().all() for w in weights(training).values())
    x = list(training.stream.epoch(0))[training.progress.step]["inputs"]
    assert x.isnan().any()


def test_mixed_precision_reaches_the_loss_of_full_precision():
    results = {}
    for precision in ("float32", "bf16"):
        lines = Lines()
        run(make("graph", observers=[lines], precision=precision, epochs=20, lr=0.01))
        results[precision] = [line["loss"] for line in lines.lines if line["split"] == "train"][-1]
    assert results["bf16"] == pytest.approx(results["float32"], rel=0.2)
    assert results["bf16"] != results["float32"]


@pytest.fixture(params=[10**9, 0], ids=["the update by torch", "by own kernels"])
def update(request, monkeypatch):
    monkeypatch.setattr(small_update, "_STEPS", request.param)


@pytest.mark.parametrize("values", [{}, {"optimizer": "adamw", "weight_decay": 0.1, "clip": 0.5}], ids=str)
def test_the_own_kernels_of_a_small_update_train_as_torch_does(values, monkeypatch):
    plan = {"lr": 2.0**-8, "keep": "last", "epochs": 12, **values}
    usual = run(make("graph", observers=[lines := Lines()], **plan))
    monkeypatch.setattr(small_update, "_STEPS", 0)
    own = run(make("graph", observers=[others := Lines()], **plan))
    assert own.step.step.small is not None
    losses, others = ([line["loss"] for line in seen.lines] for seen in (lines, others))
    assert others == pytest.approx(losses, rel=1e-3)
    # The normalisation behind this bias takes it away, into its mean: its gradient is rounding, which Adam scales up.
    no_gradient = ("0.bias", "1.running_mean")
    for name, value in weights(usual).items():
        if name not in no_gradient:
            torch.testing.assert_close(weights(own)[name], value, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("values", [{}, {"schedule": "cosine"}, {"accumulate": 2, "clip": 1.0}], ids=str)
def test_steps_that_are_replayed_together_have_the_bits_of_steps_one_by_one(values, update, monkeypatch):
    plan = {"lr": 2.0**-8, "keep": "last", "epochs": 4, "batch_size": 8, "log_every": 40, **values}
    alone = run(make("graph", observers=[lines := Lines()], **plan))
    monkeypatch.setattr(capture, "_AT_ONCE_STEPS", 0)
    together = make("graph", observers=[others := Lines()], **plan)
    run(together)
    assert together.at_once > 1
    assert any(count == together.at_once for _, count in together.step.captured)
    assert others.lines == lines.lines
    for name, value in weights(alone).items():
        assert torch.equal(weights(together)[name], value), name


def test_a_bad_gradient_among_steps_that_are_replayed_together_is_found(update, monkeypatch):
    monkeypatch.setattr(capture, "_AT_ONCE_STEPS", 0)
    row = int(permutation(500, 0, 0)[8 * 40 + 3])  # in the 41st batch of 8, which is in the third graph of 16 steps
    with pytest.raises(TrainingError, match="Training diverged in step 41 "):
        run(make("graph", model=smooth(), bad_row=row, batch_size=8, epochs=12, log_every=90))


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_nothing_waits_for_the_device_between_log_lines(mode, update):
    training = make(mode, lr=0.01, steps=30, log_every=30)
    with settings(CUDA, 1, training.plan):
        training.run()
        batches = iter(training.stream.batches(1))
        torch.cuda.set_sync_debug_mode("error")
        try:
            for _, batch in zip(range(6), batches, strict=False):
                training.step(batch, 0.01)
        finally:
            torch.cuda.set_sync_debug_mode("default")


LANGUAGE_MODELS = {
    "gpt": lambda: TransformerLanguageModel(5000, 64, dim=64, layers=2, heads=2),
    "linear": lambda: TransformerLanguageModel(5000, 64, dim=64, layers=2, heads=2, attention="linear"),
    "performer": lambda: TransformerLanguageModel(5000, 64, dim=64, layers=2, heads=2, attention="performer"),
    "lstm": lambda: RecurrentLanguageModel(5000, dim=64, layers=2),
}


@pytest.mark.parametrize("resident", [True, False])
@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_no_step_of_the_loop_waits_for_the_device_between_log_lines(name, mode, resident):
    tokens = np.random.default_rng(0).integers(5000, size=64 * 50 + 1)
    windows = Windows(torch.from_numpy(tokens) if resident else tokens, length=64)
    # Epochs of seven steps, of which the last has two rows.
    values = {"batch_size": 8, "steps": 60, "log_every": 20, "evaluate_every": 20, "precision": "bf16"}
    plan, text = Plan(**plan_schema.resolve(values, "train")), WindowExamples.over(windows).to(CUDA)
    training = Training(LANGUAGE_MODELS[name]().to(CUDA), Language(Targets(tokens=5000)), text, None, plan, mode=mode)
    batches = training.stream.batches

    def watched(step):
        read = batches(step)
        while True:
            step += 1
            # Captures and libraries that are loaded are behind them by step 40: the smaller shape comes once in seven.
            torch.cuda.set_sync_debug_mode("error" if step > 40 and step % 20 else "default")
            yield next(read)

    training.stream.batches = watched
    try:
        run(training)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    if mode == "graph":
        assert len(training.step.captured) == 2


def test_captured_shapes_share_one_memory_pool():
    training = run(make("graph", epochs=12))
    assert len(training.step.captured) == 2
    assert {captured.graph.pool() for captured in training.step.captured.values()} == {training.step.pool}


def test_the_last_product_and_the_loss_together_are_as_exact_as_apart():
    torch.manual_seed(0)
    x, weight = (torch.randn(n, 64, device=CUDA).requires_grad_() for n in (1000, 5001))
    targets = torch.randint(5001, (1000,), device=CUDA)

    def plain(x, weight, targets):
        return F.cross_entropy(x @ weight.T, targets, reduction="sum")

    exact = torch.autograd.grad(plain(x.double(), weight.double(), targets), (x, weight))
    errors = {}
    for loss in (plain, linear_cross_entropy):
        with torch.autocast("cuda", torch.bfloat16):
            total = loss(x, weight, targets)
        found = torch.autograd.grad(total, (x, weight))
        errors[loss] = [float((a - b).norm() / b.norm()) for a, b in zip(found, exact, strict=True)]
    assert all(a <= 1.1 * b for a, b in zip(errors[linear_cross_entropy], errors[plain], strict=True)), errors


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_compiled_and_captured_layers_train_as_plain_ones_do():
    ends = {}
    for mode in ("eager", "compiled-graph"):
        torch.manual_seed(0)
        model = TransformerLanguageModel(vocabulary=300, context=64, dim=64, layers=3, heads=2).to(CUDA)
        text = WindowExamples.over(Windows(torch.randint(300, (64 * 100 + 1,)), length=64)).to(CUDA)
        plan = Plan(**plan_schema.resolve({"batch_size": 16, "steps": 20, "log_every": 10}, "train"))
        lines = Lines()
        run(Training(model, Language(Targets(tokens=300)), text, None, plan, mode=mode, observers=[lines]))
        ends[mode] = [line["loss"] for line in lines.lines]
    assert ends["compiled-graph"] == pytest.approx(ends["eager"], rel=1e-4)
