"""What was seen of a training, by nouns: plain data. Nothing in here judges, and nothing changes the training."""

from gradlab.diagnosis.record.answers import MISSED, Classes, Leak, Recognised
from gradlab.diagnosis.record.capture import Capture
from gradlab.diagnosis.record.graph import COUNTED, Graph, Node
from gradlab.diagnosis.record.loss import Loss, LossCall
from gradlab.diagnosis.record.model import COLUMNS, Activation, Inputs, Module, Parameter, Root
from gradlab.diagnosis.record.optimizer import Clipping, OptimizerRecord
from gradlab.diagnosis.record.probed import Probed
from gradlab.diagnosis.record.reinforced import Bootstrap, Policy, Transitions
from gradlab.diagnosis.record.shared import Shared
from gradlab.diagnosis.record.site import Site
from gradlab.diagnosis.record.training import NotFinite, Record

__all__ = [
    "COLUMNS",
    "COUNTED",
    "MISSED",
    "Activation",
    "Bootstrap",
    "Capture",
    "Classes",
    "Clipping",
    "Graph",
    "Inputs",
    "Leak",
    "LossCall",
    "Loss",
    "Module",
    "Node",
    "NotFinite",
    "OptimizerRecord",
    "Parameter",
    "Policy",
    "Probed",
    "Recognised",
    "Record",
    "Root",
    "Shared",
    "Site",
    "Transitions",
]
