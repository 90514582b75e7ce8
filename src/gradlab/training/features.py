"""At the end of a generative training: the features by which its samples are judged."""

import math
from pathlib import Path
from typing import Any

import torch

from gradlab import parallel
from gradlab.data import Examples
from gradlab.run.judge import write_judge
from gradlab.specs import Array, Picture
from gradlab.tasks import Classify, Task, predict
from gradlab.tasks.generative import Generative, Judge
from gradlab.tasks.generative.features import SEED, classifier, feature_network, kind_of, without_head
from gradlab.tasks.generative.generative import has_inputs
from gradlab.training import driver
from gradlab.training.plan import Plan, plan_schema

_EPOCHS, _MOST_STEPS, _BATCH = 12, 600, 64
_KEPT = 5000  # training examples whose features are kept


def prepare_judge(task: Task, train: Any, folder: Path) -> None:
    """Give a generative task its judge, made of the training examples alone, and keep it in a folder of the run."""
    if not isinstance(task, Generative) or not has_inputs(train):
        return
    with parallel.alone():  # each process makes the same
        task.judge = judge = judge_of(task, Examples(train.parts, train.rows))  # plain, where pictures are augmented
    parallel.first(lambda: write_judge(judge, folder))


def judge_of(task: Generative, train: Examples) -> Judge:
    """Pictures with classes are seen by a classifier of theirs; two runs on the same data have the same one."""
    spec = Array.of(tuple(train.inputs.shape[1:]))
    kind = kind_of(spec, task.targets)
    network = feature_network(kind, spec).to(train.device)
    some = train.sample(_KEPT).inputs[:]
    if kind == "classifier":
        network = without_head(_trained(task, train))
    elif kind == "random":
        network.get_submodule("0").train()(some)  # so that it standardises them
    return Judge(kind, network.eval(), predict(network, some).cpu(), task.compared)


def _trained(task: Generative, train: Examples) -> torch.nn.Module:
    """A few epochs of a small network: enough to learn what digits look like, in seconds."""
    classify = Classify(task.targets)
    model = classifier(Picture(*train.inputs.shape[1:]), classify.outputs).to(train.device)
    with driver.training(model, classify, classify.encoded(train), None, _plan(len(train))) as training:
        training.run()
    return model


def _plan(examples: int) -> Plan:
    steps = min(_MOST_STEPS, _EPOCHS * math.ceil(examples / _BATCH))
    fixed = {"lr": 2e-3, "schedule": "cosine", "keep": "last", "compile": "off", "seed": SEED}
    return Plan(**plan_schema.resolve({"steps": steps, "batch_size": _BATCH, **fixed}, "train"))
