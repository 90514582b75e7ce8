"""Recurrent networks: one cell, applied at every step of a sequence to what is new and to what it remembers."""

from gradlab.nn.recurrent.cells import GRUCell, LSTMCell, RNNCell
from gradlab.nn.recurrent.sequences import GRU, LSTM, RNN, Recurrent
from gradlab.nn.recurrent.truncation import detached, truncated

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell", "Recurrent", "by_cell", "detached", "truncated"]

by_cell: dict[str, type[RNN] | type[LSTM] | type[GRU]] = {"rnn": RNN, "lstm": LSTM, "gru": GRU}
"""The layer that runs each kind of cell over a sequence."""
