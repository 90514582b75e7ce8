"""Padding that is seen in place of what the rows say."""

from collections.abc import Iterator

from gradlab.diagnosis.progress import NEARLY_ALL, poor
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


@Rule(
    slug="answer_after_padding",
    title="the answer is read after the padding",
    meaning="A recurrent layer goes on through the padding: at the last place little is left of what the row said.",
    evidence=(
        "Rows have different lengths, and {padding:.0%} of all places are the padding that ends them. Of the gradient "
        "by the inputs (its squares), {share:.2%} lies there, and what is left reaches the rows' own places."
    ),
    remedy=(
        "out[torch.arange(len(out)), lengths - 1]  # each row's own last place; or pack_padded_sequence(…, lengths, "
        "enforce_sorted=False) before the layer, and its h_n"
    ),
)
def answer_after_padding(record: Record) -> Iterator[Case]:
    for root, (places, share) in record.probed.padded.items():
        if poor(record, NEARLY_ALL) and share > 0.95 and share > places:
            yield Case(
                ("error", 0.93),
                root,
                series=record.main.values if record.main else None,
                padding=places,
                share=share,
            )
            return
