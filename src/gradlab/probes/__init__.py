"""Looking inside a model."""

from gradlab.probes.cost import forward_flops, parameter_count

__all__ = ["forward_flops", "parameter_count"]
