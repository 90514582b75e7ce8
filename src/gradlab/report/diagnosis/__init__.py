"""What the doctor says of a training, as a page: the verdict, its findings, and the course of the training in plots."""

from gradlab.report.diagnosis.notebook import ShownDoctor
from gradlab.report.diagnosis.page import page_of

__all__ = ["ShownDoctor", "page_of"]
