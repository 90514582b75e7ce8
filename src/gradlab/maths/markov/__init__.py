"""Markov chains: on finite state spaces, on general ones by a kernel, seen through a function, and with a memory."""

from gradlab.maths.markov.chain import MarkovChain, law_after, sample_paths, stationary_laws
from gradlab.maths.markov.history import history, order_chain
from gradlab.maths.markov.kernel import Kernel, NormalKernel, simulate
from gradlab.maths.markov.memory import lumped, memory

__all__ = [
    "Kernel",
    "MarkovChain",
    "NormalKernel",
    "history",
    "law_after",
    "lumped",
    "memory",
    "order_chain",
    "sample_paths",
    "simulate",
    "stationary_laws",
]
