"""How close texts are to their references: exact match, and BLEU and chrF by sacrebleu."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any


def text_scores(texts: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Exact match, and where sacrebleu is installed BLEU and chrF, which are of the whole corpus.

    >>> text_scores(["a cat", "a dog"], ["a cat", "the dog"])["exact_match"]
    0.5
    """
    same = sum(text == reference for text, reference in zip(texts, references, strict=True))
    figures = {"exact_match": same / len(texts)}
    for name, metric in corpus_metrics().items():
        figures[name] = metric.corpus_score(list(texts), [list(references)]).score
    return figures


def signatures() -> dict[str, str]:
    """How exactly sacrebleu computes each figure; empty before the first, since they state the number of references."""
    return {
        name: str(metric.get_signature()) for name, metric in corpus_metrics().items() if hasattr(metric, "num_refs")
    }


@cache
def corpus_metrics() -> Mapping[str, Any]:
    """BLEU (Papineni et al. 2002) and chrF (Popović 2015), cased, as sacrebleu has them by default."""
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
    except ImportError:
        return {}
    return {"bleu": BLEU(), "chrf": CHRF()}
