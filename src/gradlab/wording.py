"""Numbers as people read them, the same in the terminal and in the report."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import Any


def number(value: Any) -> str:
    """A figure as people read it.

    >>> number(0.98328), number(1797), number(45871.2), number(1e-8), number(None)
    ('0.9833', '1,797', '45,871', '1e-08', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if 1e3 <= abs(value) < 1e9:
        return f"{value:,.1f}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e3 or value == 0 else f"{value:.3g}"


def quantity(value: float, digits: int = 6) -> str:
    """A value of the user's data, in as few digits as say it. Four before the point have no comma: it may be a year.

    >>> quantity(6.0), quantity(1987.0), quantity(83135.0), quantity(0.12345678), quantity(123456789.5)
    ('6', '1987', '83,135', '0.123457', '123,456,790')
    """
    comma = "," if abs(value) >= 1e4 else ""
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e15 else f"{value:{comma}.{digits}g}"


def date(days: float) -> str:
    """Days since 1970 as a date, with the time where it is not midnight.

    >>> date(18840.0), date(-0.25), date(1e9)
    ('2021-08-01', '1969-12-31 18:00', '1,000,000,000 days after 1970')
    """
    try:
        moment = datetime(1970, 1, 1) + timedelta(seconds=round(days * 86_400))
    except OverflowError:  # beyond the calendar
        return f"{quantity(days)} days after 1970"
    return f"{moment:%Y-%m-%d}" if moment.time() == time() else f"{moment:%Y-%m-%d %H:%M}"


def percent(share: float) -> str:
    """
    >>> percent(1.0), percent(0.2), percent(0.7247), percent(0.0031)
    ('100%', '20%', '72.5%', '0.31%')
    """
    return f"{100 * share:.3g}%" if share >= 0.1 else f"{100 * share:.2g}%"


def as_typed(value: Any) -> str:
    """A knob's value as it would be typed.

    >>> as_typed([256, 256]), as_typed(True), as_typed(None)
    ('256,256', 'true', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def duration(seconds: float) -> str:
    """
    >>> duration(0.312), duration(75), duration(8000)
    ('0.31 s', '1 min 15 s', '2 h 13 min')
    """
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def count(value: float) -> str:
    """Large counts with a letter.

    >>> count(9610), count(18944), count(2.5e9)
    ('9,610', '18.9 k', '2.5 G')
    """
    if value < 1e4:
        return f"{value:,.0f}"
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    raise AssertionError(value)


def counted(count: int, noun: str) -> str:
    """
    >>> counted(1, "step"), counted(1170, "step")
    ('1 step', '1,170 steps')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int) -> str:
    """Values as a row of at most `width` bars, evenly spread over them; the scale is from the lowest to the highest.

    >>> sparkline(range(8), 8), sparkline([0, 10, 0], 8), sparkline([5, 5], 8), sparkline(range(100), 4)
    ('▁▂▃▄▅▆▇█', '▁█▁', '██', '▁▃▆█')
    """
    bars = min(width, len(values))
    shown = [values[round(i * (len(values) - 1) / max(1, bars - 1))] for i in range(bars)]
    low, high = min(shown, default=0.0), max(shown, default=0.0)
    levels = [(value - low) / (high - low) if high > low else 1.0 for value in shown]
    return "".join(_BARS[round(level * (len(_BARS) - 1))] for level in levels)


_WIDE = 1000.0  # from the smallest to the largest value


def is_wide(values: Sequence[float]) -> bool:
    """Whether values are hardly visible on any but a logarithmic scale.

    >>> is_wide([1.0, 999.0]), is_wide([0.001, 2.0]), is_wide([0.0, 2000.0])
    (False, True, False)
    """
    finite = [v for v in values if math.isfinite(v)]
    return bool(finite) and min(finite) > 0 and max(finite) > _WIDE * min(finite)


_METRICS = {
    "balanced_accuracy": "balanced accuracy",
    "f1": "macro F1",
    "auroc": "AUROC",
    "average_precision": "average precision",
    "ece": "ECE",
    "rmse": "RMSE",
    "mae": "MAE",
    "mase": "MASE",
    "r2": "R²",
    "bits_per_byte": "bits per byte",
    "bits_per_dim": "bits per dimension",
    "elbo": "ELBO",
    "kl": "KL",
    "nll": "NLL",
    "psnr": "PSNR",
    "frechet": "Fréchet distance",
    "sliced_wasserstein": "sliced Wasserstein",
    "return_std": "spread of returns",
    "episode_length": "episode length",
    "value_error": "value error",
}


def name_of(metric: str) -> str:
    """A metric's name in a sentence or a heading."""
    return _METRICS.get(metric, metric)


def baseline_verdict(comparison: Mapping[str, Any]) -> str:
    """Of a model that is not better than its best baseline, that and both figures; nothing of one that is.

    >>> figures = {"split": "test", "metric": "accuracy", "value": 0.714, "baseline": "label propagation"}
    >>> baseline_verdict({**figures, "baseline_value": 0.98, "standard_error": 0.02, "better": False})
    'not better than label propagation: test accuracy 0.7140 against 0.9800, standard error of the difference 0.02'
    """
    if not comparison or comparison["better"]:
        return ""
    error = comparison["standard_error"]
    return (
        f"not better than {comparison['baseline']}: {comparison['split']} {name_of(comparison['metric'])} "
        f"{number(comparison['value'])} against {number(comparison['baseline_value'])}"
        + ("" if error is None else f", standard error of the difference {error:.2g}")
    )
