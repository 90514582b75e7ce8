"""Messages name knobs as the one who reads them has written them."""

import re

import numpy as np
import pytest
import torch
from torch import nn

import gradlab as gl
from gradlab.errors import GradlabError
from gradlab.training.vocabulary import in_a_call, in_an_estimator


@pytest.mark.parametrize(
    ("text", "call", "estimator"),
    [
        ("Lower train.lr (now 0.1).", "Lower lr (now 0.1).", "Lower lr (now 0.1)."),
        ("set train.clip=1.", "set clip=1.", "set plan={'clip': 1}."),
        ("train.clip=0.5", "clip=0.5", "plan={'clip': 0.5}"),
        ("lower train.accumulate", "lower accumulate", "lower plan['accumulate']"),
        ("train.batch_size=full, and", "batch_size='full', and", "batch_size='full', and"),
        ("train.carry=true", "carry=True", "plan={'carry': True}"),
        ("train.seed=3", "seed=3", "random_state=3"),
        (
            "train.schedule.warmup=10 leaves",
            "schedule['warmup']=10 leaves",
            "plan={'schedule': {'warmup': 10}} leaves",
        ),
        ("data.validation=0.1", "validation=0.1", "validation=0.1"),
        ("train.weight_decay=1e-2, or", "weight_decay=1e-2, or", "weight_decay=1e-2, or"),
        ("train.csv, data/train.lr, train.unheard=3",) * 3,
    ],
)
def test_words_of_a_recipe_become_those_of_the_caller(text, call, estimator):
    assert in_a_call(text) == call
    names = {key: key for key in ("lr", "batch_size", "weight_decay")} | {"seed": "random_state"}
    assert in_an_estimator(names)(text) == estimator


X, Y = torch.randn(60, 4, generator=torch.Generator().manual_seed(0)), torch.arange(60) % 2
LOGGED = ("validation", "train-sample")
WRONG = {
    "a rate that is far too high": ({"lr": 1e30, "optimizer": "sgd", "epochs": 20}, r"Lower lr \(now 1e\+30\)"),
    "a batch that the optimiser does not take": (
        {"optimizer": "lbfgs", "batch_size": 32},
        r"^batch_size=32 does not go with lbfgs.*Set batch_size='full'",
    ),
}


@pytest.mark.parametrize(("plan", "says"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("how", ["fit", "fit into a folder", "an estimator"])
def test_errors_are_told_in_the_words_of_the_call(tmp_path, capsys, plan, says, how):
    def train():
        if how == "an estimator":
            return gl.Classifier(**plan).fit(X.numpy(), Y.numpy())
        out = {"out": tmp_path / "run"} if how != "fit" else {}
        return gl.fit(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), (X, Y), **plan, **out)

    with pytest.raises(GradlabError, match=says) as caught:
        train()
    assert "train." not in str(caught.value)


def test_what_an_estimator_has_in_its_plan_is_told_there():
    with pytest.raises(GradlabError, match=r"Lower lr .* or set plan=\{'clip': 1\}"):
        gl.Regressor(lr=1e30, optimizer="sgd", epochs=50).fit(np.asarray(X), np.asarray(X[:, 0]))
    with pytest.raises(GradlabError, match=r"^plan=\{'schedule': 'plateau'\} follows the validation loss"):
        gl.Classifier(plan={"schedule": "plateau"}).fit(X.numpy(), Y.numpy())


@pytest.mark.parametrize("folder", [False, True])
def test_the_doctor_advises_in_the_words_of_the_call(tmp_path, capsys, folder):
    torch.manual_seed(0)
    noise = torch.randint(0, 2, (80,))
    x = torch.randn(80, 30)
    net = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 2))
    out = {"out": tmp_path / "run"} if folder else {}
    fitted = gl.fit(net, (x, noise), epochs=25, validation=0.4, lr=0.003, **out)
    (found,) = (finding for finding in fitted.findings if finding.slug == "overfitting")
    assert found.fix.startswith("patience=5  # end soon"), "the best weights are kept already"
    assert "train." not in found.fix
    assert "model.dropout" not in found.fix, "of which fit knows nothing"
    logged = {split: [line for line in fitted.history if line["split"] == split][-1]["loss"] for split in LOGGED}
    figures = f"{logged['validation']:.4f} at the end; that of the training went down to {logged['train-sample']:.4f}"
    assert figures in found.evidence, "those of the log, to the last digit"
    told = capsys.readouterr().err
    assert f"Change: {found.fix}" in told
    assert not re.search(r"\btrain\.\w", told)
