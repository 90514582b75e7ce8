"""Looking inside a model."""

from gradlab.probes.attention import AttentionMap, Head, attention_maps
from gradlab.probes.cost import forward_flops, parameter_count, pass_flops
from gradlab.probes.findings import findings
from gradlab.probes.layers import Layer, Spread, layer_figures
from gradlab.probes.maps import FeatureMaps, feature_maps
from gradlab.probes.recording import Call, Recording, record
from gradlab.probes.recurrence import Recurrence, recurrences
from gradlab.probes.surprise import Token, surprises

__all__ = [
    "AttentionMap",
    "Call",
    "FeatureMaps",
    "Head",
    "Layer",
    "Recording",
    "Recurrence",
    "Spread",
    "Token",
    "attention_maps",
    "feature_maps",
    "findings",
    "forward_flops",
    "layer_figures",
    "parameter_count",
    "pass_flops",
    "record",
    "recurrences",
    "surprises",
]
