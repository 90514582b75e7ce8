"""Mean and spread of some figures."""

import numpy as np
import pytest

from gradlab.studies.spread import Spread


def test_the_spread_is_that_of_numpy(rng):
    values = rng.normal(size=7)
    spread = Spread.of(values.tolist())
    assert spread.mean == pytest.approx(values.mean())
    assert spread.std == pytest.approx(values.std(ddof=1))
    assert spread.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(7))


def test_one_figure_has_no_spread():
    assert Spread.of([2.0]) == Spread(mean=2.0, std=None, standard_error=None)
