"""What was seen of a training, by nouns: plain data. Nothing in here judges, and nothing changes the training."""

from gradlab.diagnosis.record.capture import Capture
from gradlab.diagnosis.record.graph import COUNTED, Graph, Node
from gradlab.diagnosis.record.loss import Judged, Loss
from gradlab.diagnosis.record.model import COLUMNS, Activation, Inputs, Module, Parameter, Root
from gradlab.diagnosis.record.optimizer import Clipping, Optimizer
from gradlab.diagnosis.record.probed import Probed
from gradlab.diagnosis.record.shared import Shared
from gradlab.diagnosis.record.site import Site
from gradlab.diagnosis.record.training import NotFinite, Record

__all__ = [
    "COLUMNS",
    "COUNTED",
    "Activation",
    "Capture",
    "Clipping",
    "Graph",
    "Inputs",
    "Judged",
    "Loss",
    "Module",
    "Node",
    "NotFinite",
    "Optimizer",
    "Parameter",
    "Probed",
    "Record",
    "Root",
    "Shared",
    "Site",
]
