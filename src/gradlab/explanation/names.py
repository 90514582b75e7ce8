"""Which of the things that can be explained a name stands for."""

import difflib

from gradlab.errors import GradlabError, unknown
from gradlab.explanation import autodiff, cnn
from gradlab.explanation.block import summaries as of_blocks
from gradlab.explanation.docstring import Docstring
from gradlab.explanation.equations import sentence
from gradlab.explanation.law import law_summaries
from gradlab.explanation.part import parts
from gradlab.explanation.picture import figures
from gradlab.explanation.walk import walks

AUTODIFF, CNN = "autodiff", "cnn"
WALKS = {AUTODIFF: autodiff.SUMMARY, CNN: cnn.DOC.summary}
"""Not parts, but ways that are gone step by step."""
_ALSO = {
    **dict.fromkeys(("backprop", "backpropagation", "backward", "chainrule", "automaticdifferentiation"), AUTODIFF),
    **dict.fromkeys(("convnet", "convolution", "convolutionalnetwork", "im2col", "col2im"), CNN),
}


def summaries() -> dict[str, str]:
    """Each block, optimiser, schedule, metric, walk, law and worked example in one sentence."""
    others = {name: Docstring.of(function).summary for name, function in parts().items()}
    examples = {name: title for name, (title, _) in walks().items()}
    pictures = dict.fromkeys(figures(), "A picture: see it with --show FILE.html.")
    everything = of_blocks() | dict(sorted(others.items())) | WALKS | pictures | law_summaries() | examples
    return {name: sentence(text) for name, text in everything.items()}


def family(name: str) -> dict[str, str]:
    """The summaries of those whose names begin with this word; empty if none do."""
    return {key: text for key, text in summaries().items() if key.startswith(f"{_bare(name)}.")}


def find(name: str) -> str:
    """The whole name of what is asked for: by it, by its last part, or by the usual word for it.

    >>> find("norm.rms"), find("lstm"), find("batch-norm"), find("LayerNorm"), find("backprop"), find("adam")
    ('norm.rms', 'recurrent.lstm', 'norm.batch', 'norm.layer', 'autodiff', 'optimizer.adam')
    >>> find("CNN"), find("convnet"), find("Conv2d")
    ('cnn', 'cnn', 'conv.conv2d')
    """
    names = list(summaries())
    bare = _bare(name).replace("_", "")
    if whole := [each for each in names if _bare(each) == _bare(name)]:
        return whole[0]
    if bare in _ALSO:
        return _ALSO[bare]
    short: dict[str, list[str]] = {}
    for each in names:
        kind, _, own = _bare(each).replace("_", "").rpartition(".")
        for word in {own, own + kind, kind + own}:
            short.setdefault(word, []).append(each)
    if len(several := short.get(bare, [])) == 1:
        return several[0]
    close = several or [
        each for word in difflib.get_close_matches(bare, short, n=3, cutoff=0.7) for each in short[word]
    ]
    if close:
        meant = " or ".join(repr(each) for each in dict.fromkeys(close))
        what = "is not one thing" if several else "is not known here"
        raise GradlabError(f"{name!r} {what}. Did you mean {meant}? `gradlab explain` lists all.")
    raise unknown("block", name, names)


def _bare(name: str) -> str:
    """As names are compared: whatever the case, and with - or _ or a blank."""
    return name.lower().replace("-", "_").replace(" ", "_")
