"""Compiled layers: no graph breaks, and after the first step nothing is compiled again."""

from contextlib import ExitStack

import pytest
import torch
import torch._dynamo
from torch._dynamo.utils import counters

from gradlab.data import Targets
from gradlab.data.text.windows import WindowExamples, Windows
from gradlab.models.language import TransformerLanguageModel
from gradlab.tasks import Language
from gradlab.training import capture
from gradlab.training.loop import Training
from gradlab.training.observers import Observer
from gradlab.training.plan import Plan, plan_schema

pytestmark = pytest.mark.filterwarnings("ignore")

MODELS = {
    "gpt": {},
    "llama": {"position": "rotary", "norm": "rms", "gated": True, "bias": False, "tied": False},
    "dropout": {"dropout": 0.1},
    "alibi": {"position": "alibi"},
    "linear": {"attention": "linear"},
    "performer": {"attention": "performer", "position": "none"},
}


@pytest.fixture
def compiled(monkeypatch):
    """The compiler without its last stages; a step that would be captured is made as it is. Gives the graphs."""
    torch._dynamo.reset()
    counters.clear()
    graphs, compile = [], torch.compile

    def kept(graph, inputs):
        graphs.append(graph)
        return graph

    monkeypatch.setattr(torch, "compile", lambda function, **options: compile(function, backend=kept, **options))
    monkeypatch.setattr(capture, "GraphStep", lambda step, device, at_once, **options: step)
    yield graphs
    torch._dynamo.reset()


class Strict(Observer):
    """From the second step on, to compile anything is an error."""

    every = 1

    def start(self, training):
        self.stack = ExitStack()

    def step(self, training):
        if training.progress.step == 1:
            self.stack.enter_context(torch._dynamo.config.patch(error_on_recompile=True))

    def end(self, training):
        self.stack.close()


def train(observers, **settings):
    torch.manual_seed(0)
    model = TransformerLanguageModel(30, 8, dim=16, layers=2, heads=2, **settings)
    text = [WindowExamples.over(Windows(torch.randint(30, (8 * windows + 1,)), length=8)) for windows in (23, 3)]
    # Batches of 8, 8 and 7, and evaluations between them.
    plan = Plan(**plan_schema.resolve({"batch_size": 8, "epochs": 2}, "train"))
    Training(model, Language(Targets(tokens=30)), *text, plan, mode="compiled-graph", observers=observers).run()


@pytest.mark.parametrize("name", MODELS)
def test_one_graph_is_compiled_in_the_first_step_and_none_after_it(name, compiled, capsys):
    train([Strict()], **MODELS[name])
    assert len(compiled) == 1
    assert not counters["graph_break"]
    assert not capsys.readouterr().err  # no step that ran as it is


@pytest.mark.parametrize("name", ["gpt", "llama", "linear"])
def test_a_whole_model_is_one_graph_in_either_mode(name, compiled):
    model = TransformerLanguageModel(30, 8, dim=16, layers=1, heads=2, **MODELS[name])
    tokens, call = torch.randint(30, (2, 8)), torch.compile(model, fullgraph=True, dynamic=False)
    for training in (True, False, True):
        model.train(training)
        call(tokens).sum().backward()
    assert not counters["graph_break"]
    assert len(compiled) == 2
