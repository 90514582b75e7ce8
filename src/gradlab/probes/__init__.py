"""Looking inside a model: what its layers, its attention and its states do on one batch, as plain values."""

from gradlab.probes.attention import AttentionMap, Head, attention_maps
from gradlab.probes.attribution import METHODS, Attribution, Attributions, attributions, questions
from gradlab.probes.findings import findings
from gradlab.probes.inspection import Inspection
from gradlab.probes.layers import Distribution, LayerValues, layer_values
from gradlab.probes.maps import FeatureMaps, feature_maps
from gradlab.probes.recording import ModuleCall, Recording, record
from gradlab.probes.recurrence import Recurrence, recurrences
from gradlab.probes.subjects import inspect_model, inspect_run
from gradlab.probes.surprise import Token, surprises

__all__ = [
    "Attribution",
    "Attributions",
    "AttentionMap",
    "ModuleCall",
    "FeatureMaps",
    "Head",
    "Inspection",
    "LayerValues",
    "Recording",
    "Recurrence",
    "Distribution",
    "Token",
    "METHODS",
    "attention_maps",
    "attributions",
    "feature_maps",
    "findings",
    "inspect_model",
    "inspect_run",
    "layer_values",
    "questions",
    "record",
    "recurrences",
    "surprises",
]
