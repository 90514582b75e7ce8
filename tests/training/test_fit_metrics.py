"""Metrics of `fit` in both forms, and with each value that they may return."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import gradlab as gl
from gradlab.errors import GradlabError, TrainingError

X = torch.randn(90, 4, generator=torch.Generator().manual_seed(0))
Y = X[:, :3].argmax(1)


def net():
    torch.manual_seed(0)
    return nn.Linear(4, 3)


def figures(metrics, *, data=(X, Y), validation=(X, Y), **options):
    fitted = gl.fit(net(), data, metrics=metrics, validation=validation, epochs=1, doctor=False, keep="last", **options)
    return fitted.validation, (fitted.model(X).argmax(1) == Y).double().mean().item()


def hits(output, target):
    return (output.argmax(1) == target).float()


FORMS = {
    "named as a loss": lambda output, target: hits(output, target).mean(),
    "named as torchmetrics": lambda preds, target: hits(preds, target).mean().item(),
    "named as scikit-learn": lambda y_true, y_pred: hits(y_pred, y_true).mean(),
    "named as an objective": lambda model, batch: hits(model(batch["inputs"]), batch["targets"]).mean(),
    "by its second name": lambda m, batch: hits(m(batch["inputs"]), batch["targets"]).mean(),
    "of outputs, unnamed": lambda a, b: hits(a, b).mean(),
    "of batches, unnamed": lambda a, b: hits(a(b["inputs"]), b["targets"]).mean(),
}


@pytest.mark.parametrize("form", FORMS)
def test_both_forms_are_told_apart(form):
    found, expected = figures({"hits": FORMS[form]})
    assert found["hits"] == pytest.approx(expected) == found["accuracy"]


def by_annotation(a: torch.Tensor, b: torch.Tensor):
    return hits(a, b).mean()


def by_text(a: "nn.Module", b: "dict[str, torch.Tensor]"):
    return hits(a(b["inputs"]), b["targets"]).mean()


@pytest.mark.parametrize("metric", [by_annotation, by_text])
def test_annotations_say_the_form(metric):
    found, expected = figures({"hits": metric})
    assert found["hits"] == pytest.approx(expected)


class Hits(nn.Module):
    def forward(self, input, target):
        return hits(input, target).mean()


def test_a_module_may_be_a_metric():
    found, expected = figures({"hits": Hits()})
    assert found["hits"] == pytest.approx(expected)


VALUES = {
    "its mean": lambda output, target: hits(output, target).mean(),
    "a float": lambda output, target: hits(output, target).mean().item(),
    "a number for each example": hits,
    "true or false for each": lambda output, target: output.argmax(1) == target,
    "sum and count": lambda output, target: (hits(output, target).sum(), len(target)),
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("size", [90, 35])  # batches of unequal size must count by their examples
def test_a_metric_is_the_mean_over_the_split(value, size):
    batches = [(X[i : i + size], Y[i : i + size]) for i in range(0, 90, size)]
    found, expected = figures({"hits": VALUES[value]}, data=batches, validation=batches)
    assert found["hits"] == pytest.approx(expected)


def test_targets_have_the_shape_of_the_outputs_for_squared_error():
    fitted = gl.fit(
        nn.Linear(4, 1),
        (X, X.sum(1)),
        loss="mse",
        metrics={"off": lambda output, target: (output - target).square().mean()},
        validation=0.5,
        epochs=1,
        keep="last",
    )
    assert fitted.validation["off"] == pytest.approx(fitted.validation["loss"])


@pytest.mark.parametrize("loss", [None, cross_entropy])
def test_a_metric_of_outputs_may_choose_the_weights(loss):
    def wrong(output, target):
        return 1 - hits(output, target)

    fitted = gl.fit(
        net(), (X, Y), loss=loss, metrics={"wrong": wrong}, criterion="-wrong", validation=(X, Y), epochs=4, lr=0.05
    )
    lines = [line["wrong"] for line in fitted.history if line["split"] == "validation"]
    assert fitted.validation["wrong"] == min(lines) < max(lines)


REFUSED = {
    "targets first": ({"m": lambda y, t: 1.0}, {}, r"order of the parameters \(y, t\) .* is unclear"),
    "outputs second": ({"m": lambda a, logits: 1.0}, {}, r"order of the parameters \(a, logits\) .* is unclear"),
    "both forms": ({"m": lambda a, b: torch.tensor(1.0)}, {}, "with .output, target. and with .model, batch."),
    "names of both": ({"m": lambda model, target: 1.0}, {}, "parameters of both forms: model, target"),
    "no form": ({"m": lambda a, b: a.nosuch + b}, {}, "failed: with .output, target. AttributeError"),
    "a fault": ({"m": lambda output, target: output["x"]}, {}, "A metric raised (Index|Type)Error on the first batch"),
    "a table": ({"m": lambda output, target: output}, {}, r"must return its mean .* a tensor of shape \(8, 3\)"),
    "text": ({"m": lambda output, target: "a"}, {}, "must return its mean"),
    "a name that is taken": ({"accuracy": hits}, {}, "there is such a figure already"),
    "the name of a loss": ({"loss": hits}, {}, "there is such a figure already"),
    "a place in the log": ({"step": hits}, {}, "cannot be called 'step'"),
    "no name": ({"": hits}, {}, "must be text"),
    "of outputs, without them": (
        {"m": hits},
        {"objective": lambda m, b: (cross_entropy(m(b["inputs"]), b["targets"]), 1)},
        "With objective=, metrics are functions of",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_a_metric_is_refused(kind):
    metrics, options, says = REFUSED[kind]
    with pytest.raises(GradlabError, match=says) as caught:
        figures(metrics, **options)
    assert not isinstance(caught.value, TrainingError)


def test_a_metric_that_gives_nan_for_finite_outputs_is_named():
    with pytest.raises(TrainingError, match="metric 'm' gave NaN"):
        figures({"m": lambda output, target: torch.tensor(torch.nan)})
