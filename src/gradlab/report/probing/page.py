"""The page of a probe: its figures and pictures, section by section."""

from pathlib import Path

from gradlab.files import write_file
from gradlab.report.markup import Html, join, tag
from gradlab.report.page import page
from gradlab.report.probing import attention, flow, pictures, text, time
from gradlab.report.probing.probe import Probe
from gradlab.wording import counted, number


def write_page(probe: Probe, path: Path) -> Path:
    """Whole or not at all."""
    sections = (_head, text.section_of, flow.section_of, attention.section_of, time.section_of, pictures.section_of)
    body = join(made(probe) for made in sections)
    style = Path(__file__).with_name("style.css").read_text("utf-8")
    write_file(path, page(f"{probe.name}, probed", body, style=style))
    return path


def _head(probe: Probe) -> Html:
    parameters = sum(layer.parameters for layer in probe.layers)
    loss = "" if probe.loss is None else f" The loss there is {number(probe.loss)}."
    inside = f" {counted(len(probe.layers), 'layer')}, {counted(parameters, 'parameter')}." if probe.layers else ""
    found = [tag("li", finding) for finding in probe.findings]
    return tag(
        "header",
        tag("p", "Probe", class_="over"),
        tag("h1", probe.name),
        tag("p", f"Seen from inside, on {probe.on}.{loss}{inside}", class_="lead"),
        *(tag("p", note, class_="note") for note in probe.notes),
        tag("div", tag("h3", "What stands out"), tag("ul", *found), class_="commands") if found else "",
    )
