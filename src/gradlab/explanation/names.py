"""Which of the things that can be explained a name stands for."""

import difflib

from gradlab.errors import GradlabError, unknown
from gradlab.explanation.block import summaries as of_blocks
from gradlab.explanation.docstring import Docstring
from gradlab.explanation.equations import sentence
from gradlab.explanation.law import law_summaries
from gradlab.explanation.mathematics import functions
from gradlab.explanation.part import parts
from gradlab.explanation.picture import figure_title, figures
from gradlab.explanation.walk import walks
from gradlab.explanation.words import ALSO, WALKS
from gradlab.verification.course import LAWS

_TITLES = {
    "blocks": "Building blocks",
    "optimizers": "Optimisers",
    "schedules": "Schedules",
    "metrics": "Metrics",
    "maths": "Mathematics",
    "laws": "Laws",
    "examples": "Worked examples",
    "pictures": "Pictures",
}
"""Of the groups, by the words that list them."""
GROUPS = tuple(_TITLES)
_ALSO = {word.replace("-", ""): name for word, name in ALSO.items()}


def groups() -> dict[str, dict[str, str]]:
    """Everything that can be explained, each in one sentence, under the title of its group; the laws by their parts.

    >>> [*groups()][:5]
    ['Building blocks', 'Optimisers', 'Schedules', 'Metrics', 'Step by step']
    """
    others = {name: Docstring.of(function).summary for name, function in sorted(parts().items())}
    kinds = {_TITLES[f"{kind}s"]: _of_family(kind, others) for kind in ("optimizer", "schedule", "metric")}
    laws = law_summaries()
    everything = {
        _TITLES["blocks"]: of_blocks(),
        **kinds,
        "Step by step": WALKS,
        _TITLES["maths"]: {name: Docstring.of(function).summary for name, function in functions().items()},
        **{
            f"{_TITLES['laws']}: {part}": {law: laws[law] for law in laws if LAWS[law] == part}
            for part in dict.fromkeys(LAWS.values())
        },
        _TITLES["examples"]: {name: title for name, (title, _) in walks().items()},
        _TITLES["pictures"]: {name: figure_title(name) for name in figures()},
    }
    return {
        title: {name: f"{sentence(text).removesuffix('.')}." for name, text in names.items()}
        for title, names in everything.items()
        if names
    }


def family(name: str) -> dict[str, dict[str, str]]:
    """The groups of this word, or of each group the names that begin with it; empty if there are none.

    >>> [*family("optimizers")], [*family("schedule")], family("lstm"), {*family("laws")} >= {"Laws: CNN", "Laws: RNN"}
    (['Optimisers'], ['Schedules'], {}, True)
    """
    if title := _TITLES.get(_bare(name)):
        return {group: names for group, names in groups().items() if group.partition(":")[0] == title}
    own = {group: _of_family(_bare(name), names) for group, names in groups().items()}
    return {group: names for group, names in own.items() if names}


def _of_family(word: str, names: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in names.items() if name.startswith(f"{word}.")}


def summaries() -> dict[str, str]:
    """All of them as one. A law or an example may have a picture of the same name, which it comes before."""
    return flat(groups())


def flat(listed: dict[str, dict[str, str]]) -> dict[str, str]:
    """Without the groups."""
    merged: dict[str, str] = {}
    for names in listed.values():
        merged = {**merged, **{name: text for name, text in names.items() if name not in merged}}
    return merged


def find(name: str) -> str:
    """The whole name of what is asked for: by it, by its last part, or by the usual word for it.

    A function of `maths` is meant where nothing else has that name.

    >>> find("norm.rms"), find("lstm"), find("batch-norm"), find("LayerNorm"), find("backprop"), find("adam")
    ('norm.rms', 'recurrent.lstm', 'norm.batch', 'norm.layer', 'autodiff', 'optimizer.adam')
    >>> find("CNN"), find("convnet"), find("Conv2d")
    ('cnn', 'cnn', 'conv.conv2d')
    >>> find("bfgs"), find("maths.bfgs"), find("isserlis"), find("lumped")
    ('optimizer.bfgs', 'maths.bfgs', 'maths.isserlis', 'maths.markov.lumped')
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
    several = short.get(bare, [])
    several = [each for each in several if each not in functions()] or several
    if len(several) == 1:
        return several[0]
    close = several or [
        each for word in difflib.get_close_matches(bare, short, n=3, cutoff=0.7) for each in short[word]
    ]
    if close:
        meant = " or ".join(repr(each) for each in dict.fromkeys(close))
        what = "is not one thing" if several else "is not known here"
        raise GradlabError(f"{name!r} {what}. Did you mean {meant}? `gradlab explain` lists all.")
    raise unknown("name", name, names)


def _bare(name: str) -> str:
    """As names are compared: whatever the case, and with - or _ or a blank."""
    return name.lower().replace("-", "_").replace(" ", "_")
