"""Rows that were both trained on and evaluated on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(kw_only=True)
class Shared:
    """Rows that a root was judged on, beside those that it or another root was trained on."""

    trained: int
    """Different rows."""
    values: int
    """How many numbers make a row."""
    continuous: bool
    """Whether they are real numbers, which do not meet by chance."""
    batches: int = 0
    """Those in which some rows, but not nearly all, were training rows; with their rows, and the training rows."""
    rows: int = 0
    shared: int = 0
    kinds: int = 0
    """How many different ones they are."""
    clear: int = 0
    """Batches without any training row."""
    known: int = 0
    """Batches of nothing but training rows."""
    all_there: bool = False
    """Whether nearly all training rows were among them."""
    evaluated: int = 0
    """Different rows that it was judged on."""
    asked: int = 0
    """Rows of all evaluations, each as often as it came."""
    neighbours: int = 0
    """Of rows that were not trained on: those that overlap with one that was in all but a moment; of so many."""
    compared: int = 0
    first_known: float = 0.0
    last_known: float = 0.0
    """The share of rows that had been trained on at the first and at the last evaluation,"""
    returned: float = 0.0
    """and of those that were new, the share that was trained on later."""
    by_chance: float = 0.0
    """The share of training rows that there would be if all were drawn alike, by how often rows meet in a batch."""
    stream: bool = False
    """Whether new rows came all the time in training."""
    again: float = 0.0
    """Of the rows that came more than once where new ones came all the time, the share among those judged on."""
