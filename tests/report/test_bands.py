"""Mean and band of several curves, against NumPy."""

import numpy as np
import pytest

from gradlab.report.bands import Band, Curve, band_chart, band_traces


def curve(values, steps=None, name="a"):
    return Curve(name=name, steps=list(steps or range(len(values))), values=list(values))


def test_curves_with_the_same_steps_have_the_mean_and_sample_deviation_of_numpy(rng):
    values = rng.normal(size=(5, 30))
    band = Band.of([curve(row) for row in values])
    assert band.steps.tolist() == list(range(30))
    assert band.mean == pytest.approx(values.mean(0))
    assert band.std == pytest.approx(values.std(0, ddof=1))
    assert band.count.tolist() == [5] * 30


def test_a_shorter_curve_is_counted_up_to_its_end_and_not_after():
    band = Band.of([curve([1, 1, 1, 1]), curve([3, 3, 3, 3]), curve([8, 8])])
    assert band.count.tolist() == [3, 3, 2, 2]
    assert band.mean.tolist() == [4, 4, 2, 2]


def test_steps_that_one_curve_alone_has_reached_have_no_band():
    band = Band.of([curve([1, 1, 1, 9]), curve([3, 3])])
    assert band.steps.tolist() == [0, 1]
    assert len(Band.of([curve([1, 2, 3])]).steps) == 0
    assert len(Band.of([]).steps) == 0


def test_between_its_steps_a_curve_is_read_on_a_straight_line():
    band = Band.of([curve([0, 10], steps=[0, 10]), curve([2, 4, 6], steps=[0, 4, 10])])
    assert band.steps.tolist() == [0, 4, 10]
    assert band.mean.tolist() == [1, 4, 8]
    assert band.std.tolist() == pytest.approx(np.sqrt(2) * np.array([1, 0, 2]))


def test_the_outline_goes_along_the_upper_edge_and_back_along_the_lower():
    band, single, mean = band_traces([curve([1, 2], name="x"), curve([3, 6], name="y")], "red", "seed")
    assert band["x"] == [0, 1, 1, 0]
    assert band["y"] == pytest.approx([2 + 2**0.5, 4 + 8**0.5, 4 - 8**0.5, 2 - 2**0.5])
    assert single["y"] == [1, 2, None, 3, 6, None]
    assert single["text"] == ["x", "x", "x", "y", "y", "y"]
    assert mean["y"] == [2, 4]
    assert mean["text"] == ["± 1.4, 2 seeds", "± 2.8, 2 seeds"]


def test_on_a_log_axis_the_band_is_cut_where_there_is_no_place_for_it():
    falling = [curve([10, 0.01]), curve([10, 1.0])]
    band, *_ = band_traces(falling, "red", "seed", lowest=0.01)
    assert min(band["y"]) == 0.01
    page = band_chart("Loss", "loss", falling, "red", "seed", loss=True)
    assert '"type": "log"' in page
    assert '"type": "log"' not in band_chart("Return", "return", falling, "red", "seed")


def test_long_curves_are_thinned_and_keep_their_ends(rng):
    curves = [curve(rng.normal(size=50_000)) for _ in range(3)]
    _, single, mean = band_traces(curves, "red", "seed")
    assert len(mean["x"]) <= 2000
    assert len(single["x"]) <= 20_003
    assert mean["x"][-1] == single["x"][-2] == 49_999


def test_a_name_is_no_markup_for_the_chart():
    assert band_traces([curve([1, 2], name="<b>")], "red", "run")[0]["text"][0] == "&lt;b&gt;"
