"""In one go, epoch by epoch, or from where the last fit ended: the same training."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits, load_iris
from torch import nn
from torch.testing import assert_close

import gradlab as gl
from gradlab.errors import GradlabError, TrainingError

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def classifier(**parameters):
    return gl.Classifier(**{"hidden": 16, "epochs": 6, "batch_size": 32, "random_state": 0, **parameters})


def regressor(**parameters):
    return gl.Regressor(**{"hidden": 16, "epochs": 6, "batch_size": 32, "random_state": 0, **parameters})


def same(first, second):
    return all(map(torch.equal, first.model_.state_dict().values(), second.model_.state_dict().values()))


OPTIONS = [
    {},
    {"dropout": 0.3, "batch_norm": True},
    {"optimizer": "momentum", "plan": {"schedule": "cosine"}},
    {"plan": {"ema": 0.9}},
    {"optimizer": "lbfgs", "batch_size": "auto", "lr": 0.5},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_as_many_calls_of_partial_fit_as_epochs_are_a_fit(options):
    whole = classifier(**options).fit(X, NAMES)
    parts = classifier(**options)
    for _ in range(6):
        parts.partial_fit(X, NAMES, classes=np.unique(NAMES))
    assert same(whole, parts)
    assert parts.n_iter_ == whole.n_iter_ == 6
    assert parts.loss_curve_ == whole.loss_curve_


@pytest.mark.parametrize("options", [o for o in OPTIONS if "schedule" not in o.get("plan", {})])
def test_a_warm_start_goes_on_where_the_last_fit_ended(options):
    y = X[:, 0]
    whole = regressor(**options).fit(X[:, 1:], y)
    parts = regressor(warm_start=True, **{**options, "epochs": 2}).fit(X[:, 1:], y)
    parts.set_params(epochs=4).fit(X[:, 1:], y)
    assert same(whole, parts)
    assert len(parts.loss_curve_) == 6


def test_without_a_warm_start_a_fit_begins_anew():
    once, twice = classifier().fit(X, Y), classifier().fit(X, Y).fit(X, Y)
    assert same(once, twice)
    assert twice.n_iter_ == 6


def test_partial_fit_learns_from_what_comes_and_keeps_the_first_preprocessing():
    online = classifier(lr=0.02)
    rows = np.random.default_rng(0).permutation(150)
    for part in np.array_split(np.tile(rows, 10), 60):
        online.partial_fit(X[part], NAMES[part], classes=np.unique(NAMES))
    assert online.score(X, NAMES) > 0.9
    assert online._learner.preprocessing.shift == X[rows[:25]].mean(0).tolist()


def test_partial_fit_goes_on_after_a_fit():
    fitted = classifier().fit(X, Y)
    before = fitted.model_[0].weight.clone()
    fitted.partial_fit(X, Y)
    assert fitted.n_iter_ == 7
    assert 0 < (fitted.model_[0].weight - before).abs().max() < 0.1


def test_a_batch_of_one_class_is_learned_from():
    assert classifier().partial_fit(X[:10], Y[:10], classes=[0, 1, 2]).predict_proba(X).shape == (150, 3)


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        ([(X, Y, None)], "classes must be passed on the first call"),
        ([(X, Y, [0, 1])], "y has the class 2"),
        ([(X, Y, [0, 1, 2]), (X, Y, [0, 1, 2, 3])], "not the same as on the last call"),
        ([(X, Y, [0, 1, 2]), (X, Y + 1, None)], "y has the class 3"),
        ([(X, Y, [0, 1, 2]), (X[:, :3], Y, None)], "expecting 4 features"),
    ],
)
def test_partial_fit_tells_what_is_wrong(calls, says):
    estimator = classifier()
    for call in calls[:-1]:
        estimator.partial_fit(*call)
    with pytest.raises(ValueError, match=says):
        estimator.partial_fit(*calls[-1])


# Randomness.


def test_the_same_integer_gives_the_same_network_and_another_gives_another():
    first, second, third = (classifier(dropout=0.2, random_state=s).fit(X, Y) for s in (3, 3, 4))
    assert same(first, second)
    assert not same(first, third)


def test_a_generator_is_drawn_from():
    generator = np.random.RandomState(0)
    first, second = (classifier(random_state=generator).fit(X, Y) for _ in range(2))
    again = classifier(random_state=np.random.RandomState(0)).fit(X, Y)
    assert not same(first, second)
    assert same(first, again)


def test_without_a_seed_numpys_global_generator_decides():
    np.random.seed(1)
    first, second = classifier(random_state=None).fit(X, Y), classifier(random_state=None).fit(X, Y)
    np.random.seed(1)
    assert same(first, classifier(random_state=None).fit(X, Y))
    assert not same(first, second)


def test_global_generators_and_threads_are_left_alone():
    state, numbers, threads = torch.get_rng_state(), np.random.get_state()[1].copy(), torch.get_num_threads()
    estimator = classifier(dropout=0.5, validation=0.2).fit(X, Y)
    estimator.partial_fit(X, Y)
    estimator.predict(X)
    assert torch.equal(torch.get_rng_state(), state)
    assert np.array_equal(np.random.get_state()[1], numbers)
    assert torch.get_num_threads() == threads


# What is learned.


@pytest.mark.parametrize(
    ("kind", "expected"), [(np.float64, torch.float64), (np.float32, torch.float32), (int, torch.float64)]
)
def test_the_network_has_the_precision_of_its_inputs(kind, expected):
    fitted = classifier().fit((10 * X).astype(kind), Y)
    assert {p.dtype for p in fitted.model_.parameters()} == {expected}
    assert fitted.predict_proba(X).dtype == np.dtype(str(expected).removeprefix("torch."))


@pytest.mark.parametrize("labels", [NAMES, NAMES.astype(object), Y, Y == 1, Y * 1.0, NAMES.tolist()])
def test_classes_come_back_as_they_were(labels):
    fitted = classifier(epochs=60, lr=0.02).fit(X, labels)
    assert fitted.classes_.tolist() == sorted(set(np.asarray(labels).tolist()))
    predicted = fitted.predict(X)
    assert predicted.dtype == np.unique(labels).dtype
    assert np.mean(predicted == np.asarray(labels)) > 0.7


def test_probabilities_logarithms_and_decisions_agree():
    fitted = classifier().fit(X, Y)
    probabilities = fitted.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    np.testing.assert_allclose(fitted.predict_log_proba(X), np.log(probabilities))
    logits = fitted.decision_function(X)
    np.testing.assert_allclose(np.exp(logits) / np.exp(logits).sum(1, keepdims=True), probabilities)
    two = classifier().fit(X[:100], Y[:100])
    odds = two.predict_proba(X)
    np.testing.assert_allclose(two.decision_function(X), np.log(odds[:, 1] / odds[:, 0]), rtol=1e-6)
    far = two.predict_log_proba(1e6 * X)
    assert np.isfinite(far).all()


def test_targets_of_any_scale_and_shape_are_predicted_in_their_own():
    y = 1e6 + 1e3 * X[:, 0]
    one = regressor(epochs=100).fit(X[:, 1:], y)
    assert one.predict(X[:, 1:]).shape == (150,)
    assert one.score(X[:, 1:], y) > 0.8
    column = regressor(epochs=100).fit(X[:, 1:], y[:, None])
    np.testing.assert_array_equal(column.predict(X[:, 1:])[:, 0], one.predict(X[:, 1:]))
    two = regressor(epochs=100).fit(X[:, 1:], np.stack([y, X[:, 3], np.full(150, 4.0)], axis=1))
    assert two.predict(X[:, 1:]).shape == (150, 3)
    assert two.score(X[:, 1:], np.stack([y, X[:, 3], np.full(150, 4.0)], axis=1)[:, :3]) > 0.5


def test_the_loss_curve_is_the_mean_loss_of_each_epoch():
    fitted = classifier(epochs=1, batch_size="full", random_state=5)
    untrained = classifier(epochs=1, batch_size="full", random_state=5, lr=1e-12).fit(X, Y)
    expected = -untrained.predict_log_proba(X)[np.arange(150), Y].mean()
    assert fitted.fit(X, Y).loss_curve_ == pytest.approx([expected], rel=1e-6)


def test_validation_ends_with_the_best_weights_and_patience_stops():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(100, 20))
    labels = rng.integers(0, 2, 100)
    stopped = classifier(validation=0.3, patience=3, epochs=200).fit(noise, labels)
    assert stopped.n_iter_ < 50
    assert len(stopped.loss_curve_) == stopped.n_iter_
    last = classifier(validation=0.3, epochs=100, plan={"keep": "last"}).fit(noise, labels)
    assert np.abs(last.decision_function(noise)).mean() > 3 * np.abs(stopped.decision_function(noise)).mean()


def test_held_out_examples_have_no_part_in_the_preprocessing():
    fitted = regressor(validation=0.5, epochs=1).fit(X[:, 1:], X[:, 0])
    assert fitted._learner.preprocessing.shift != X[:, 1:].mean(0).tolist()
    assert fitted._mean[0] != X[:, 0].mean()


def test_each_class_is_held_out_in_its_share():
    labels = np.repeat(["rare", "common"], [10, 90])
    for seed in range(5):
        kept, held = classifier()._split(labels, 0.2, seed)
        assert ((labels[kept] == "rare").sum(), (labels[held] == "rare").sum()) == (8, 2)


def test_the_network_is_left_ready_for_use():
    fitted = classifier(dropout=0.5).fit(X, Y)
    assert not any(m.training for m in fitted.model_.modules())


# The network.


class Own(nn.Module):
    def __init__(self, shape, outputs):
        super().__init__()
        self.map = nn.Linear(shape[0], outputs)

    def forward(self, x):
        return self.map(x)


def test_a_network_is_a_class_a_function_a_name_or_a_name_with_knobs():
    own = classifier(model=Own, lr=0.05, epochs=50).fit(X, Y)
    assert isinstance(own.model_, Own)
    assert own.score(X, Y) > 0.9
    function = classifier(model=lambda shape, outputs: nn.Sequential(nn.Linear(*shape, outputs))).fit(X, Y)
    named = classifier(model="linear").fit(X, Y)
    assert same(function, named)
    powers = classifier(model={"name": "linear", "degree": 3}).fit(X, Y)
    assert powers.model_[1].in_features == 12


def test_images_are_taken_with_their_channels():
    digits = load_digits()
    pictures, labels = np.pad(digits.images[:300, None], ((0, 0), (0, 0), (2, 2), (2, 2))), digits.target[:300]
    fitted = classifier(model="lenet", epochs=20).fit(pictures.astype(np.float32), labels)
    assert fitted.score(pictures.astype(np.float32), labels) > 0.9


def test_other_keys_of_a_plan_are_heard():
    still = classifier(plan={"max_norm": 1e-6}).fit(X, Y)
    assert still.model_[0].weight.norm() < 1e-4


def test_progress_is_printed_when_asked_for(capsys):
    classifier().fit(X, Y)
    assert capsys.readouterr().out == ""
    classifier(verbose=1, validation=0.2).fit(X, Y)
    assert "validation loss" in capsys.readouterr().out


def test_divergence_is_told_and_leaves_the_earlier_fit_alone():
    fitted = regressor().fit(X[:, 1:], X[:, 0])
    before = fitted.predict(X[:, 1:])
    with pytest.raises(TrainingError, match="diverged"):
        fitted.set_params(lr=1e20, optimizer="sgd").fit(X[:, 1:], X[:, 0])
    assert np.array_equal(fitted.predict(X[:, 1:]), before)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"hidden": 0}, "Classifier.hidden=0 is not valid"),
        ({"hidden": None}, "Classifier.hidden=None is not valid"),
        ({"activation": "rel"}, "no activation 'rel'. Did you mean 'relu'"),
        ({"dropout": 1.0}, "Classifier.dropout=1.0 is not valid"),
        ({"optimizer": "adm"}, "no optimizer 'adm'. Did you mean 'adam'"),
        ({"lr": -1}, "Classifier.lr=-1 is not valid"),
        ({"epochs": 0}, "Classifier.epochs=0 is not valid"),
        ({"batch_size": 0}, "Classifier.batch_size=0 is not valid"),
        ({"validation": 1.0}, "validation=1.0 must be a share"),
        ({"validation": "some"}, "validation=some must be a share"),
        ({"validation": 1e-4}, "leaves 150 to learn from and 0 to judge by"),
        ({"patience": 3}, "set validation too"),
        ({"preprocess": "wash"}, "no Classifier.preprocess 'wash'"),
        ({"plan": {"epochs": 3}}, "Use Classifier's own 'epochs'"),
        ({"plan": {"clp": 1.0}}, "Did you mean 'clip'"),
        ({"device": "tpu"}, "no device 'tpu'"),
        ({"random_state": "x"}, "cannot be used to seed"),
        ({"model": "mpl"}, "Did you mean 'mlp'"),
        ({"model": "lenet"}, "model=lenet takes pictures, but the inputs are tables of 4 columns"),
        ({"model": nn.Linear(4, 3)}, "a network was given"),
        ({"model": lambda shape, outputs: 3}, "it returned 3"),
        ({"model": lambda shape, outputs: nn.Linear(9, outputs)}, r"does not take inputs of shape \(4,\)"),
        ({"model": lambda shape, outputs: nn.Linear(4, 9)}, r"must be \(2, 3\)"),
        ({"model": lambda shape, outputs: nn.Flatten()}, "no parameter to train"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused_by_fit(parameters, says):
    estimator = classifier(**parameters)
    with pytest.raises(ValueError, match=says):
        estimator.fit(X, Y)


def test_one_class_is_refused():
    with pytest.raises(GradlabError, match="two classes or more, but y has 1 class: 'setosa'"):
        classifier().fit(X[:50], NAMES[:50].astype(object))


def test_matrices_of_labels_are_refused():
    with pytest.raises(ValueError, match="should be a 1d array"):
        classifier().fit(X, np.eye(3)[Y])


def test_precise_inputs_stay_precise():
    # A column far from zero, whose digits float32 does not have.
    far = X + 1e9
    assert_close(
        classifier().fit(far, Y).predict_proba(far), classifier().fit(X, Y).predict_proba(X), rtol=1e-3, atol=1e-4
    )
