"""The page of a probe: its figures and pictures, section by section."""

from pathlib import Path

from gradlab.files import write_file
from gradlab.markup import Html, join, tag
from gradlab.probes import Inspection
from gradlab.report.inside import alignment, attention, flow, pictures, text, time
from gradlab.report.page import page
from gradlab.wording import counted, number


def write_probe(seen: Inspection, path: Path) -> Path:
    # Layers come last: there may be a hundred of them, and what is below would not be seen.
    sections = (
        _head,
        text.section_of,
        alignment.section_of,
        attention.section_of,
        time.section_of,
        pictures.section_of,
        flow.section_of,
    )
    style = Path(__file__).with_name("style.css").read_text("utf-8")
    write_file(path, page(f"{seen.name}, probed", join(draw(seen) for draw in sections), style=style))
    return path


def _head(seen: Inspection) -> Html:
    parameters = sum(layer.parameters for layer in seen.layers)
    loss = "" if seen.loss is None else f" The loss there is {number(seen.loss)}."
    inside = f" {counted(len(seen.layers), 'layer')}, {counted(parameters, 'parameter')}." if seen.layers else ""
    findings = [tag("li", finding) for finding in seen.findings]
    return tag(
        "header",
        tag("p", "Probe", class_="over"),
        tag("h1", seen.name),
        tag("p", f"Seen from inside, on {seen.on}.{loss}{inside}", class_="lead"),
        *(tag("p", note, class_="note") for note in seen.notes),
        tag("div", tag("h3", "What stands out"), tag("ul", *findings), class_="commands") if findings else "",
    )
