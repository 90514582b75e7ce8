"""Networks that read steps in time and answer once, with as many numbers as asked for."""

from gradlab.models.series.recurrent import SeriesRNN
from gradlab.models.series.transformer import SeriesTransformer

__all__ = ["SeriesRNN", "SeriesTransformer"]
