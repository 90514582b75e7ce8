"""The filters of the course: the numbers that are shown, beside SciPy's and OpenCV's."""

import numpy as np
import pytest
from scipy import ndimage
from scipy.stats import norm

from gradlab.explanation.examples.filters import checkered
from gradlab.explanation.walk import Walk

EDGE = np.tile([0.0, 0, 0, 100, 100, 100, 100], (5, 1))
WHOLE = np.array([[1, 4, 7, 4, 1], [4, 16, 26, 16, 4], [7, 26, 41, 26, 7], [4, 16, 26, 16, 4], [1, 4, 7, 4, 1]])


def values(name: str) -> list[str]:
    return [step.values for step in Walk.of(name).steps]


def numbers(text: str) -> np.ndarray:
    return np.array([[float(word) for word in line.split()] for line in text.splitlines()])


def test_an_edge_becomes_a_slope_of_equal_steps():
    _, edge, slope, constant = values("mean-blur")
    assert numbers(edge)[0].tolist() == EDGE[0].tolist()
    assert numbers(slope)[0].tolist() == [0, 20, 40, 60, 80, 100, 100]
    assert numbers(slope)[0] == pytest.approx(ndimage.uniform_filter(EDGE, 5, mode="mirror")[2])
    assert constant == "kernel sum 1: all 70 → 70 to 70"


def test_the_gaussian_is_made_of_whole_numbers_that_sum_to_273():
    total, dot, edges, constant = values("gaussian-blur")
    assert total.endswith(" 273")
    assert numbers(dot).tolist() == WHOLE.tolist()
    mean, gaussian = numbers(edges)
    assert mean == pytest.approx(ndimage.uniform_filter(EDGE, 5, mode="mirror")[2])
    assert gaussian == pytest.approx(ndimage.correlate(EDGE, WHOLE / 273, mode="mirror")[2], rel=1e-3)
    assert constant == "kernel sum 1: all 70 → 70 to 70"
    cells = np.diff(norm.cdf(np.arange(-2.5, 3)))
    assert np.abs(np.outer(cells, cells) - WHOLE / 273).max() < 0.005, "a normal density, summed over each pixel"


def test_a_soft_edge_is_sharpened_by_its_second_differences():
    _, edges, _, constant = values("sharpen-kernel")
    before, after = numbers(edges)
    assert after == pytest.approx(before - ndimage.laplace(np.tile(before, (3, 1)), mode="mirror")[1])
    assert (after.min(), after.max()) == (40, 100)
    assert constant == "kernel sum 1: all 70 → 70 to 70"


def test_each_of_sobels_kernels_answers_to_edges_across_its_direction():
    _, edge, answers, constant = values("edge-kernels")
    upright = numbers(edge)
    shown = [numbers(part.partition(":\n")[2]) for part in answers.split("\n\n")]
    wanted = [
        ndimage.sobel(upright, 1, mode="mirror"),
        ndimage.sobel(upright, 0, mode="mirror"),
        ndimage.sobel(upright.T, 1, mode="mirror"),
    ]
    assert [part.tolist() for part in shown] == [part.tolist() for part in wanted]
    assert shown[0].max() == 4
    assert not shown[1].any()
    assert not shown[2].any()
    assert constant.splitlines() == ["kernel sum 0: all 70 → 0 to 0"] * 2


def test_a_filtered_file_is_what_opencv_computes():
    cv2 = pytest.importorskip("cv2")
    picture, blurred, edges = map(numbers, values("opencv-filter"))
    assert (picture == checkered()).all()
    assert np.abs(blurred - cv2.filter2D(picture, -1, np.ones((5, 5)) / 25)).max() <= 0.5001
    assert np.abs(edges - np.abs(cv2.Sobel(picture, cv2.CV_64F, 1, 0)).clip(0, 255)).max() <= 0.5001


def test_a_filtered_file_is_what_scipy_computes():
    picture, blurred, edges = map(numbers, values("opencv-filter"))
    assert np.abs(blurred - ndimage.uniform_filter(picture, 5, mode="mirror")).max() <= 0.5001
    assert (edges == np.abs(ndimage.sobel(picture, 1, mode="mirror")).clip(0, 255)).all()
