"""What stands out in the figures of layers: the usual reasons why a network does not learn."""

from collections.abc import Sequence

from gradlab.probes.layers import LayerValues
from gradlab.wording import counted

_MANY = 0.5  # of a layer's units or inputs: a few dead or saturated ones are no harm
_VANISHING = 1e-4  # of the largest gradient of any layer's outputs


def findings(layers: Sequence[LayerValues]) -> list[str]:
    """A sentence for each layer that is dead, saturated or broken, and one for those that no gradient reaches."""
    result = []
    largest = max((layer.gradient or 0.0 for layer in layers), default=0.0)
    for layer in layers:
        where = _where(layer)
        if layer.broken:
            result.append(f"{where} gave {counted(layer.broken, 'number')} that are NaN or infinite.")
        if layer.units and layer.dead / layer.units >= _MANY:
            result.append(f"{where} has {layer.dead} of {layer.units} units dead: they are 0 for every example.")
        elif (layer.saturated or 0.0) >= _MANY and layer.zeros < _MANY:
            result.append(f"{where} is saturated at {layer.saturated:.0%} of its inputs: little gradient passes there.")
    # Only where something should learn: the scores of a fresh attention hardly matter yet, and nothing waits for them.
    reached = [layer for layer in layers if layer.parameters and layer.gradient is not None]
    weak = [layer for layer in reached if (layer.gradient or 0.0) < _VANISHING * largest]
    if weak:
        least = min(weak, key=lambda layer: layer.gradient or 0.0)
        share = (least.gradient or 0.0) / largest
        some = counted(len(weak), "layer")
        result.append(f"The gradient vanishes on its way to {some}: {_where(least)} gets {share:.0e} of the largest.")
    return result


def _where(layer: LayerValues) -> str:
    return f"{layer.name or 'output'} ({layer.kind})"
