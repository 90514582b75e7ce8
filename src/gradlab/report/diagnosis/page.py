"""The page of a diagnosis, section by section."""

import math
import re
from pathlib import Path

from gradlab.diagnosis.finding import Verdict
from gradlab.diagnosis.progress import constant_loss
from gradlab.diagnosis.record import Record
from gradlab.diagnosis.telling import sentence
from gradlab.markup import Html, card, join, quiet, section, tag
from gradlab.report.diagnosis import plots, tables
from gradlab.report.findings import findings_section
from gradlab.report.page import page
from gradlab.wording import count, duration, number


def page_of(verdict: Verdict, record: Record, name: str = "") -> Html:
    """The whole document; the name is that of the script, if there is one."""
    body = [
        _head(verdict, record, name),
        findings_section("Findings", verdict.findings),
        plots.sections_of(record, verdict),
        tables.section_of(record),
        _faults(verdict),
    ]
    style = Path(__file__).with_name("style.css").read_text("utf-8")
    return page(f"{name or 'training'}, diagnosed", join(body), style=style)


def _head(verdict: Verdict, record: Record, name: str) -> Html:
    title = sentence(re.sub(r" \([\d,]+ steps? watched[^)]*\)", "", verdict.sentence))
    return tag(
        "header",
        tag("p", " · ".join(part for part in ("gradlab doctor", name) if part), class_="over"),
        tag("h1", title),
        tag("div", *_cards(record), class_="figures"),
        class_="healthy" if verdict.worst in (None, "note") else str(verdict.worst),
    )


def _cards(record: Record) -> list[Html]:
    own = f"{record.own_seconds / record.seconds:.0%}" if record.seconds else "–"
    closely = number(min(record.steps, len(record.looks)))
    cards = [
        card("steps watched", number(record.steps), {"of them closely": closely}),
        card("time", duration(record.seconds), {"watching": duration(record.own_seconds), "share": own}),
    ]
    if record.parameters:
        every = list(record.parameters.values())
        trained = sum(p.size for p in every if p.optimizer is not None or p.changed)
        others = sum(p.size for p in every) - trained
        kinds = ", ".join(dict.fromkeys(optimizer.kind for optimizer in record.optimizers))
        beside = {"by": kinds or "hand"} | ({"not trained": count(others)} if others else {})
        cards.append(card("trained parameters", count(trained), beside))
    if (loss := record.main) is not None and loss.values:
        constant = constant_loss(record)
        beside = {"at the start": number(loss.start), "lowest": number(loss.values.smallest)}
        beside |= {"of a constant": number(constant)} if math.isfinite(constant) else {}
        cards.insert(0, card("loss at the end", number(loss.end), beside))
    return cards


def _faults(verdict: Verdict) -> Html:
    if not verdict.faults:
        return Html()
    words = "They did not touch the training, but something may have been missed."
    faults = tag("ul", *(tag("li", fault) for fault in verdict.faults))
    return section("Faults of the doctor itself", quiet(words), tag("div", faults, class_="commands"))
