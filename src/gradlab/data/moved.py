"""Data of a run that are no longer where they were."""

from pathlib import Path

from gradlab.data.cache import expecting
from gradlab.data.dataset import FILES, load, sources
from gradlab.data.raw import Raw, Wants
from gradlab.errors import GradlabError
from gradlab.registry import Part


def moved(part: Part, path: str | Path) -> Part:
    """The same data read from another place; further files that have gone from theirs are those beside the first."""
    if "path" not in sources.schema(part.name).knobs:
        raise GradlabError(f"data={part.name} is read from no file of yours: there is nothing to name by --data.")
    others = {}
    for knob in FILES[1:]:
        old = part.values.get(knob)
        if isinstance(old, str) and not Path(old).exists():
            others[knob] = str(Path(path).absolute().with_name(Path(old).name))
    return Part(part.name, {**part.values, **others, "path": str(Path(path).absolute())})


def is_same(part: Part, path: str | Path, fingerprint: str, wants: Wants | None) -> bool:
    """Whether what is at another place has the content by which a run knows its data; other content is not kept."""
    try:
        there = moved(part, path)
        with expecting(fingerprint):
            raw = sources.build(there, sources.shared(there).get("seed", 0))
            raw = raw.wanted(wants) if isinstance(raw, Raw) else load(there, wants).raw
            return bool(raw.fingerprint() == fingerprint)
    except GradlabError:  # nothing that the run could have been trained on
        return False
