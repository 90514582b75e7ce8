"""The convolution of the course, worked out by hand."""

import numpy as np
from scipy.signal import convolve2d, correlate2d

from gradlab.explanation.examples.convolution import KERNEL, PICTURE
from gradlab.explanation.walk import Walk


def numbers(text: str) -> np.ndarray:
    return np.array([[float(word) for word in line.split()] for line in text.splitlines()])


def test_a_picture_of_three_channels_by_hand():
    picture, kernel, alone, result, largest, mean, flipped = (
        step.values for step in Walk.of("conv-worked-example").steps
    )
    side_by_side = np.concatenate([*PICTURE.numpy()], 1)
    assert picture.split()[:3] == ["X0", "X1", "X2"]
    assert (numbers(picture.partition("\n")[2]) == side_by_side).all()
    assert (numbers(kernel.partition("\n")[2]) == np.concatenate([*KERNEL.numpy()], 1)).all()
    pairs = list(zip(PICTURE.numpy(), KERNEL.numpy(), strict=True))
    by_channel = [correlate2d(x, w, mode="same") for x, w in pairs]
    assert (numbers(alone.partition("\n")[2]) == np.concatenate(by_channel, 1)).all()
    assert by_channel[2][1, 3] == 1, "which is often misprinted as 11"
    assert numbers(result).tolist() == [[0, 5, 8, 0], [6, 10, 1, 5], [4, 0, 2, 11], [0, 1, 11, 3]]
    assert (numbers(result) == np.maximum(sum(by_channel) + 2, 0)).all()
    assert numbers(largest).tolist() == [[10, 8], [4, 11]]
    assert numbers(mean).tolist() == [[5.25, 3.5], [1.25, 6.75]]
    convolved = np.maximum(sum(convolve2d(x, w, mode="same") for x, w in pairs) + 2, 0)
    assert (numbers(flipped) == convolved.reshape(2, 2, 2, 2).max((1, 3))).all()
    assert numbers(flipped).tolist() == [[7, 8], [6, 3]]
