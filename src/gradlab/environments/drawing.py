"""Pictures of classic control: links that hang from each other, a cart and its rail, as lines on white."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from gradlab.environments.environment import Array

Point = tuple[float, float]

_SIZE, _SMOOTH = (320, 240), 3  # drawn this many times larger, and then made small
_INK, _RAIL, _JOINT = "#2b5fa8", "#9aa0a6", "#c97b2d"


class Sketch:
    """A sheet on which lines are drawn between points, with x to the right, y upwards and 0 in the middle."""

    def __init__(self, reach: float):
        """`reach` is how far up and down it goes."""
        from PIL import Image, ImageDraw

        self.sheet = Image.new("RGB", (_SIZE[0] * _SMOOTH, _SIZE[1] * _SMOOTH), "white")
        self.draw, self.unit = ImageDraw.Draw(self.sheet), self.sheet.height / 2 / reach

    def _place(self, point: Point) -> Point:
        return self.sheet.width / 2 + self.unit * point[0], self.sheet.height / 2 - self.unit * point[1]

    def line(self, start: Point, end: Point, width: float = 0.08, color: str = _INK) -> None:
        thick = max(1, round(width * self.unit))
        self.draw.line([self._place(start), self._place(end)], color, thick)

    def dot(self, centre: Point, radius: float, color: str = _JOINT) -> None:
        (x, y), r = self._place(centre), radius * self.unit
        self.draw.ellipse((x - r, y - r, x + r, y + r), color)

    def links(self, points: Sequence[Point], width: float) -> None:
        """One after the other, with a joint where each begins."""
        for start, end in pairwise(points):
            self.line(start, end, width)
            self.dot(end, width / 2, _INK)
        for joint in points[:-1]:
            self.dot(joint, 0.6 * width)

    def pixels(self) -> Array:
        return np.asarray(self.sheet.resize(_SIZE))


def cart_and_pole(position: float, angle: float) -> Array:
    """The pole is 1 long, and its angle is from upright, to the right."""
    sketch = Sketch(reach=1.8)
    foot = (position, -0.7)
    sketch.line((-2.4, -0.95), (2.4, -0.95), 0.03, _RAIL)
    sketch.line((position - 0.3, -0.8), (position + 0.3, -0.8), 0.26, "#3c4043")
    sketch.links([foot, (position + np.sin(angle), -0.7 + np.cos(angle))], 0.1)
    return sketch.pixels()


def two_links(first: float, second: float) -> Array:
    """Both are 1 long; the first angle is from hanging down, the second from the first. The line is the goal."""
    sketch = Sketch(reach=2.3)
    elbow = (np.sin(first), -np.cos(first))
    end = (elbow[0] + np.sin(first + second), elbow[1] - np.cos(first + second))
    sketch.line((-3, 1), (3, 1), 0.03, _RAIL)
    sketch.links([(0.0, 0.0), elbow, end], 0.16)
    return sketch.pixels()


def pendulum(angle: float) -> Array:
    """Of length 1, by the angle from upright, to the left."""
    sketch = Sketch(reach=1.4)
    sketch.links([(0.0, 0.0), (-np.sin(angle), np.cos(angle))], 0.16)
    return sketch.pixels()
