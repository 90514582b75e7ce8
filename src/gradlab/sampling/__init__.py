"""Decoding: texts from any model that gives the logits of the next token."""

from gradlab.sampling.beam import BeamResult, beam_search
from gradlab.sampling.constraints import Allowed, Banned, Prefix
from gradlab.sampling.filters import LogitFilter, MinP, RepetitionPenalty, SamplingContext, Temperature, TopK, TopP
from gradlab.sampling.generation import generate, stream
from gradlab.sampling.hypotheses import Beam
from gradlab.sampling.models import Cache, CachedModel
from gradlab.sampling.speculative import Acceptance, Draft, Lookup, speculate
from gradlab.sampling.tree import Node, draw_tree

__all__ = [
    "Acceptance",
    "Allowed",
    "Banned",
    "Beam",
    "Cache",
    "CachedModel",
    "SamplingContext",
    "Draft",
    "LogitFilter",
    "BeamResult",
    "Lookup",
    "MinP",
    "Node",
    "Prefix",
    "RepetitionPenalty",
    "Temperature",
    "TopK",
    "TopP",
    "beam_search",
    "draw_tree",
    "generate",
    "speculate",
    "stream",
]
