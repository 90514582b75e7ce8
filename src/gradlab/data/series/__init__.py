"""Time series: numbers at evenly spaced times, of which the next ones are to be predicted."""
