import json

import pytest
import torch
import torch._dynamo
from torch._dynamo.testing import CompileCounterWithBackend

from gradlab.data import Targets
from gradlab.data.text.windows import WindowExamples, Windows
from gradlab.files import FolderSums
from gradlab.models.language import TransformerLanguageModel
from gradlab.nn import float8
from gradlab.recipes import find
from gradlab.run import open_run
from gradlab.tasks import Language
from gradlab.training import capture, driver, experiment
from gradlab.training.compiled import CompiledStep

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def compiler(monkeypatch):
    """The compiler without its last stage, which takes a minute; it counts graphs."""
    torch._dynamo.reset()
    counter, compile = CompileCounterWithBackend("aot_eager"), torch.compile
    monkeypatch.setattr(torch, "compile", lambda function, **options: compile(function, backend=counter, **options))
    # Captured steps are for CUDA; what is in them is the same.
    monkeypatch.setattr(capture, "GraphStep", lambda step, device, at_once, **options: step)
    return counter


def text(windows=23):
    generator = torch.Generator().manual_seed(0)
    return WindowExamples.over(Windows(torch.randint(30, (8 * windows + 1,), generator=generator), length=8))


def gpt(make_training, mode, dropout=0.0, **plan):
    torch.manual_seed(0)
    model = TransformerLanguageModel(vocabulary=30, context=8, dim=16, layers=3, heads=2, dropout=dropout)
    task = Language(Targets(tokens=30))
    training = make_training(model=model, task=task, train=text(), validation=text(3), **{"epochs": 2, **plan})
    training.mode = mode
    return training


PRECISIONS = {"bf16": 1e-2, "fp8": 3e-2}


@pytest.fixture
def any_precision(monkeypatch):
    """On the CPU too, and for products of any size."""
    monkeypatch.setattr(driver, "check_precision", lambda plan, device: None)
    monkeypatch.setattr(float8, "_WEIGHTS", 1)
    monkeypatch.setattr(float8, "_ROWS", 1)


@pytest.mark.parametrize("plan", [{}, {"accumulate": 3}, {"precision": "bf16"}, {"precision": "fp8"}], ids=str)
def test_compiled_layers_train_as_plain_ones_do(make_training, run, compiler, any_precision, plan):
    plain, compiled = (gpt(make_training, mode, **plan) for mode in ("eager", "compiled-graph"))
    run(plain)
    run(compiled)
    assert compiler.frame_count
    far = PRECISIONS.get(plan.get("precision"), 1e-5)
    assert compiled.record.losses() == pytest.approx(plain.record.losses(), rel=far)


def test_8_bits_train_as_16_do_and_a_resumed_training_has_the_same_bits(make_training, run, save_at, any_precision):
    plan = {"steps": 40, "lr": 0.01, "keep": "last"}
    save = save_at(13)
    eight = run(gpt(make_training, "eager", precision="fp8", observers=[save], **plan))
    sixteen = run(gpt(make_training, "eager", precision="bf16", **plan))
    resumed = run(gpt(make_training, "eager", precision="fp8", **plan), save.checkpoint)
    ours, theirs = eight.record.losses(), sixteen.record.losses()
    assert ours != theirs
    assert ours[-1] < 0.9 * ours[0]
    assert ours == pytest.approx(theirs, rel=3e-2)
    for name, value in eight.model.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], value), name


def test_one_graph_serves_all_layers_and_the_last_batch_of_an_epoch_has_none(make_training, run, compiler):
    training = gpt(make_training, "compiled-graph", epochs=3)  # batches of 8, 8 and 7, and evaluations between them
    run(training)
    assert compiler.frame_count == 1
    assert all(layer._compiled_call_impl is None for layer in training.model.layers)


def test_a_compiled_training_that_is_resumed_has_the_same_bits(make_training, run, save_at, compiler):
    plan = {"dropout": 0.3, "steps": 7, "keep": "last"}
    save = save_at(2)
    whole = run(gpt(make_training, "compiled-graph", **plan, observers=[save]))
    torch._dynamo.reset()
    resumed = run(gpt(make_training, "compiled-graph", **plan), save.checkpoint)
    for name, value in whole.model.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], value), name


@pytest.mark.parametrize("at_once", [True, False])
def test_what_the_compiler_cannot_do_runs_as_it_is(make_training, run, monkeypatch, capsys, at_once):
    def call(*args, **kwargs):
        raise RuntimeError("no compiler here")

    def fails(function, **options):
        return call() if at_once else call

    monkeypatch.setattr(torch, "compile", fails)
    monkeypatch.setattr(capture, "GraphStep", lambda step, device, at_once, **options: step)
    plain, compiled = (gpt(make_training, mode, dropout=0.3) for mode in ("eager", "compiled-graph"))
    run(plain)
    run(compiled)
    assert capsys.readouterr().err.count("no compiler here") == 1
    assert compiled.record.losses() == plain.record.losses()


def test_layers_that_somebody_listens_to_are_not_compiled(make_training, run, compiler):
    training, seen = gpt(make_training, "compiled-graph"), []
    training.model.layers[1].mlp.register_forward_hook(lambda module, inputs, output: seen.append(output.shape))
    run(training)
    assert not compiler.frame_count
    assert seen


CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def mode(make_plan, flops, steps=1000, **plan):
    return capture.choose_mode(make_plan(**plan), CUDA, steps, flops)


def test_layers_are_compiled_where_the_work_of_the_run_pays_for_it(make_plan):
    assert mode(make_plan, 1e17) == "compiled-graph"
    assert mode(make_plan, 1e13) == "graph"
    assert mode(make_plan, 1e13, compile="on") == "compiled-graph"
    assert mode(make_plan, 0.0, compile="on") == "graph"
    assert mode(make_plan, 1e17, compile="off") == "eager"
    assert mode(make_plan, 1e17, deterministic=True) == "graph"
    assert capture.choose_mode(make_plan(), torch.device("cpu"), 10**6, 1e17) == "eager"


def test_the_work_is_that_of_models_with_layers_on_batches_of_one_shape(make_plan):
    model, examples, plan = TransformerLanguageModel(30, 8, dim=16, layers=3, heads=2), text(), make_plan(steps=10**9)
    cost = driver.example_cost(model, Language(Targets(tokens=30)), examples)
    assert driver.mode_of(model, examples, plan, cost, device=CUDA) == "compiled-graph"
    assert driver.mode_of(torch.nn.Linear(3, 4), examples, plan, cost, device=CUDA) == "graph"
    assert driver.mode_of(model, examples, plan, cost, device=CUDA, steps=200) == "graph"


def test_a_step_without_layers_has_its_loss_compiled(make_training, run, compiler):
    plain, compiled = make_training(), make_training()
    compiled.mode = "compiled"
    run(plain)
    run(compiled)
    assert isinstance(compiled.step, CompiledStep)
    assert compiler.frame_count
    assert compiled.record.losses() == pytest.approx(plain.record.losses(), rel=1e-5)


def test_a_resumed_run_repeats_the_kind_of_step_that_it_began_with(tmp_path, monkeypatch):
    recipe = find("digits-softmax").override({"train.steps": 1, "train.doctor": False})
    out = tmp_path / "run"
    experiment.start(experiment.Experiment.of(recipe, CPU), out)
    about = json.loads((out / "environment.json").read_text())
    assert about["step"] == "eager"
    monkeypatch.setattr(experiment, "_train", lambda experiment, run, observers: experiment)
    for written, repeated in [("graph", "graph"), ("something of a later version", "eager")]:
        (out / "environment.json").write_text(json.dumps({**about, "step": written}))
        FolderSums(out).add(["environment.json"])
        assert experiment.resume(open_run(out), CPU, []).mode == repeated
