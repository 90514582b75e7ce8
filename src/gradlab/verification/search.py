"""Random cases from Hypothesis, which looks for the smallest that fails.

It is loaded with the first case: `gradlab explain` reads checks where it is not installed.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, TypeVar

from gradlab.errors import GradlabError

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject

T = TypeVar("T")

_HOME = Path(gettempdir()) / "gradlab-hypothesis"


def is_installed() -> bool:
    """Whether cases can be generated here."""
    return find_spec("hypothesis") is not None


def check_installed() -> None:
    """Refuse to verify where no case can be generated."""
    if not is_installed():
        raise GradlabError('Verification needs Hypothesis, which is not installed: pip install "gradlab[verify]"')


class Choices:
    """The random choices of one case; the first of several options, and the least number, are the simplest."""

    def __init__(self, data: "DataObject"):
        self._data = data

    def integer(self, low: int, high: int) -> int:
        from hypothesis.strategies import integers

        return self._data.draw(integers(low, high))

    def option(self, options: Sequence[T]) -> T:
        from hypothesis.strategies import sampled_from

        return self._data.draw(sampled_from(options))


@contextmanager
def search(function: Callable[[Any], None], cases: int, number: int, shrink: bool) -> Iterator[Callable[[], None]]:
    """A call that runs the function on this many cases, of one seed the same each time.

    `number` is the seed; `shrink` looks for the smallest failure.
    """
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesis.configuration import set_hypothesis_home_dir
    from hypothesis.strategies import data

    configure = settings(
        max_examples=cases,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    set_hypothesis_home_dir(_HOME)  # by default it leaves a folder in the working directory
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield configure(seed(number)(given(data())(function)))  # the seed: also after the function was edited
    finally:
        set_hypothesis_home_dir(None)
