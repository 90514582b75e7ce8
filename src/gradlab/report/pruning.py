"""What is left of a run that was pruned."""

from typing import TYPE_CHECKING

from gradlab.markup import Html, breakable, long, quiet, section, table
from gradlab.report.charts import meter
from gradlab.wording import number, percent

if TYPE_CHECKING:
    from gradlab.run import Run

BEGINNINGS = {
    "trained": "the trained weights",
    "rewind": "the weights before the first step",
    "reinit": "weights that are drawn anew",
}


def pruning_section(run: "Run") -> Html:
    """How many weights of each layer are kept; nothing where none were pruned."""
    pruning = run.finished.get("pruning")
    if pruning is None:
        return Html()
    share = percent(pruning["kept"] / pruning["weights"])
    words = (
        f"{pruning['kept']:,} of {pruning['weights']:,} weights of {pruning['of']} are kept ({share}), those of the "
        f"largest magnitude{' in each layer' if pruning['by'] == 'layer' else ''}; the others are 0. Training began "
        f"with {BEGINNINGS[pruning['start']]}. The saved weights take {run.weights_file.stat().st_size:,} bytes."
    )
    layers = pruning["layers"]
    rows = [
        [breakable(name), number(kept), number(of), meter(kept / of, percent(kept / of))]
        for name, (kept, of) in layers.items()
    ]
    shown = table(["weights", "kept", "of", "share"], rows, class_="numbers")
    return section("Pruning", quiet(words), long(len(rows), "Layers", shown))
