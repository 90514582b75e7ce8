"""Masks that hide what should be seen."""

from collections.abc import Iterator

from gradlab.diagnosis.record import Record
from gradlab.diagnosis.rules.base import LOOKS, Case, Rule, named


@Rule(
    slug="inverted_padding_mask",
    title="the padding mask is upside down",
    meaning="True hides a place: attention sees nothing but padding, and nothing of what the rows say.",
    evidence=(
        "In {looks} looks of {padded}, all places that key_padding_mask left to be seen held one and the same value, "
        "in runs of different lengths at the ends of the rows, and the {hidden:.0%} that it hid held all the others."
    ),
    remedy="key_padding_mask = ids == padding  # True where a place is padding, not where it is a word",
    topic="attention.scaled_dot",
)
def inverted_padding_mask(record: Record) -> Iterator[Case]:
    masked = [m for m in record.modules.values() if m.padded >= LOOKS and m.padding_only >= 0.9 * m.padded]
    if masked:
        first = masked[0]
        yield Case(
            ("error", 0.96),
            named([m.path for m in masked]),
            series=record.main.values if record.main else None,
            looks=first.padding_only,
            padded=first.padded,
            hidden=first.hidden,
        )
