import json
from dataclasses import asdict

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler

from gradlab.data import Preprocessing
from gradlab.errors import GradlabError

SCALERS = {"standardise": StandardScaler, "scale": MinMaxScaler}


def table(seed, rows, columns):
    generator = np.random.default_rng(seed)
    return generator.normal(generator.normal(0, 5, columns), generator.uniform(0.1, 9, columns), (rows, columns))


def names(columns):
    return [f"x{i}" for i in range(columns)]


@pytest.mark.parametrize("method", ["standardise", "scale"])
@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 6))
def test_numbers_come_out_as_from_scikit_learn(method, seed, rows, columns):
    train, new = table(seed, rows, columns), table(seed + 1, 10, columns)
    judge = SCALERS[method]().fit(train)
    ours = Preprocessing.fit(train, method, names(columns), [])
    for x in (train, new):
        np.testing.assert_allclose(ours(x).numpy(), judge.transform(x), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("method", ["standardise", "scale"])
@pytest.mark.parametrize("offset", [1.7e9, -3e7])
def test_a_column_far_from_zero_is_as_precise_as_in_scikit_learn(method, offset, rng):
    train = offset + 1000 * rng.normal(size=(100, 1))
    want = SCALERS[method]().fit_transform(train)
    np.testing.assert_allclose(Preprocessing.fit(train, method, ["time"], [])(train).numpy(), want, atol=1e-4)


@pytest.mark.parametrize("method", ["standardise", "scale"])
@pytest.mark.parametrize("value", [0.0, 0.1, 3.7, 1e9])
def test_a_constant_column_has_scale_one_as_in_scikit_learn(method, value):
    train = np.full((7, 1), value)
    fitted = Preprocessing.fit(train, method, ["constant"], [])
    assert fitted.scale == [1.0] == SCALERS[method]().fit(train).scale_.tolist()
    np.testing.assert_allclose(fitted(train).numpy(), 0, atol=1e-6)


LOGARITHMS = {"standardise": StandardScaler, "scale": MinMaxScaler, "none": lambda: FunctionTransformer()}


@pytest.mark.parametrize("method", LOGARITHMS)
def test_logarithms_are_taken_first_and_can_be_undone(method, rng):
    train, new = rng.lognormal(3, 2, (40, 3)), rng.lognormal(3, 2, (10, 3))
    judge = LOGARITHMS[method]().fit(np.log(train[:, [1]]))
    fitted = Preprocessing.fit(train, method, names(3), [], logs=["x1"])
    prepared = fitted(new, torch.float64)
    np.testing.assert_allclose(prepared[:, [1]].numpy(), judge.transform(np.log(new[:, [1]])), rtol=1e-9, atol=1e-9)
    plain = Preprocessing.fit(train, method, names(3), [])(new, torch.float64)
    assert torch.equal(prepared[:, [0, 2]], plain[:, [0, 2]])
    np.testing.assert_allclose(fitted.inverse(prepared), new, rtol=1e-9)


def test_a_missing_number_is_filled_with_the_mean_of_the_logarithms():
    train = np.array([[1.0], [np.e**2], [np.nan]])
    fitted = Preprocessing.fit(train, "none", ["size"], [], missing=True, logs=["size"])
    np.testing.assert_allclose(fitted(train).numpy(), [[0, 0], [2, 0], [1, 1]], atol=1e-6)


@pytest.mark.parametrize("value", [0.0, -2.5])
def test_what_has_no_logarithm_is_named_by_row_and_column(value):
    train = np.ones((5, 2))
    fitted = Preprocessing.fit(train, "standardise", ["size", "price"], [], logs=["price"])
    train[3, 0] = train[3, 1] = train[4, 1] = value
    says = f"The data hold {value:g} in row 3, column 'price' (1 more like it), which has no logarithm"
    for ask in (fitted, lambda x: Preprocessing.fit(x, "scale", ["size", "price"], [], rows=[0], logs=["price"])):
        with pytest.raises(GradlabError) as caught:
            ask(train)
        assert says in str(caught.value)


@pytest.mark.parametrize(
    ("log", "says"),
    [("prize", "There is no column 'prize'. Did you mean 'price'"), ("kind", "has categories"), ("day", "has dates")],
)
def test_columns_without_logarithms_are_refused(log, says):
    with pytest.raises(GradlabError, match=says):
        Preprocessing.fit(np.ones((3, 3)), "none", ["price", "kind", "day"], ["kind"], dates=["day"], logs=[log])


def test_none_leaves_the_numbers_alone(rng):
    x = rng.normal(size=(5, 3)).astype(np.float32)
    assert np.array_equal(Preprocessing.fit(x, "none", names(3), [])(x).numpy(), x)


@given(st.integers(0, 10**6), st.lists(st.sampled_from(["a", "b", "c"]), unique=True))
def test_categories_come_out_as_from_scikit_learn(seed, coded):
    generator = np.random.default_rng(seed)
    train = generator.integers(0, 4, (30, 3)).astype(float)
    ours = Preprocessing.fit(train, "standardise", ["a", "b", "c"], coded)(train).numpy()
    columns = ["abc".index(c) for c in coded]
    numeric = [i for i in range(3) if i not in columns]
    judges = [(StandardScaler(), numeric), (OneHotEncoder(sparse_output=False), columns)]
    want = np.hstack([judge.fit_transform(train[:, chosen]) for judge, chosen in judges if chosen])
    np.testing.assert_allclose(ours, want, atol=1e-5)
    assert Preprocessing.fit(train, "standardise", ["a", "b", "c"], coded).output_shape == want.shape[1:]


def test_an_unknown_category_has_no_code_and_can_be_refused():
    fitted = Preprocessing.fit(np.array([[1.0, 7.0], [2.0, 8.0]]), "none", ["size", "kind"], ["kind"])
    new = np.array([[1.0, 7.0], [2.0, 9.0]])
    assert fitted(new).tolist() == [[1.0, 1.0, 0.0], [2.0, 0.0, 0.0]]
    with pytest.raises(GradlabError, match=r"Row 1, column 'kind': 9 is not among the training values \[7\. 8\.\]"):
        fitted.check_known(new, ["kind"])


def test_an_unknown_column_of_categories_is_answered_with_the_nearest():
    with pytest.raises(GradlabError, match=r"There is no column 'knd'\. Did you mean 'kind'"):
        Preprocessing.fit(np.zeros((2, 2)), "none", ["size", "kind"], ["knd"])


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
@pytest.mark.parametrize("method", ["standardise", "scale"])
def test_an_image_has_one_pair_of_statistics_per_channel(kind, method, rng):
    images = (rng.integers(0, 200, (20, 3, 4, 5)) + np.array([0, 20, 55])[:, None, None]).astype(kind)
    fitted = Preprocessing.fit(images, method, [], [])
    flat = images.transpose(0, 2, 3, 1).reshape(-1, 3).astype(float)
    want = SCALERS[method]().fit_transform(flat).reshape(20, 4, 5, 3).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(fitted(images).numpy(), want, rtol=1e-4, atol=1e-5)
    assert len(fitted.shift) == len(fitted.scale) == 3


def test_the_arrays_given_are_not_changed(rng):
    x = rng.normal(size=(5, 3)).astype(np.float32)
    before = x.copy()
    Preprocessing.fit(x, "standardise", names(3), [])(x)
    assert np.array_equal(x, before)


def test_arrays_that_may_not_be_written_to_are_read_without_complaint(rng):
    x = rng.normal(size=(5, 3)).astype(np.float32)
    x.flags.writeable = False
    assert Preprocessing.fit(x, "standardise", names(3), [])(x).shape == (5, 3)


@pytest.mark.parametrize("kind", [">f8", ">i4", "u2", "?"])
def test_numbers_of_every_type_and_byte_order_are_taken(kind):
    x = np.array([[0, 1], [1, 1], [1, 0]], kind)
    fitted = Preprocessing.fit(x, "scale", names(2), [])
    assert fitted(x).tolist() == [[0, 1], [1, 1], [1, 0]]


def test_an_input_of_another_shape_is_refused_with_both_shapes():
    fitted = Preprocessing.fit(np.zeros((2, 3)), "none", [], [])
    with pytest.raises(GradlabError, match=r"must have shape \(3,\), got \(4,\) \(the whole input has shape \(5, 4\)"):
        fitted(np.zeros((5, 4)))


def test_a_new_input_that_is_not_finite_is_named():
    fitted = Preprocessing.fit(np.zeros((2, 2)), "none", ["a", "b"], [])
    with pytest.raises(GradlabError, match="hold inf in row 0, column 'b'"):
        fitted(np.array([[0.0, np.inf]]))


def test_it_survives_json_exactly(rng):
    x = rng.integers(0, 3, (20, 3)) / 7
    fitted = Preprocessing.fit(x, "standardise", ["a", "b", "c"], ["b"])
    assert Preprocessing(**json.loads(json.dumps(asdict(fitted)))) == fitted
    fitted = Preprocessing.fit(1 + x, "standardise", ["a", "b", "c"], ["b"], logs=["c"])
    assert Preprocessing.read_back(json.loads(json.dumps(fitted.describe())), {}, str) == fitted
