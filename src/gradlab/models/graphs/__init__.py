"""Networks over graphs."""

from gradlab.models.graphs.network import GraphNetwork

__all__ = ["GraphNetwork"]
