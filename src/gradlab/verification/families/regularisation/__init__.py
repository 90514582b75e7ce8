"""What keeps a network from learning its examples by heart."""

from gradlab.verification.families.regularisation import dropout, weights  # each enters its checks

__all__ = ["dropout", "weights"]
