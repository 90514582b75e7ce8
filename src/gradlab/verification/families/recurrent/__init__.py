"""What is known of the recurrent blocks."""

from gradlab.verification.families.recurrent import cells, sequences  # each enters its checks: first twins and peers

# isort: split
from gradlab.verification.families.recurrent import gates, gradients, structure  # then laws

__all__ = ["cells", "gates", "gradients", "sequences", "structure"]
