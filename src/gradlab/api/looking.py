"""What is looked at: data, the inside of a model, a training that goes wrong, and whether a block is right."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import nn

from gradlab.api.runs import load_run
from gradlab.data import Raw, sources
from gradlab.data.dataset import prepare as prepare_data
from gradlab.data.graphs.overview import GraphOverview
from gradlab.data.graphs.raw import RawGraphs
from gradlab.data.overview import Overview
from gradlab.data.pairs.raw import Pairs
from gradlab.data.series.overview import SeriesOverview
from gradlab.data.series.panel import Panel
from gradlab.data.text.corpus import Corpus
from gradlab.data.text.overview import TextOverview
from gradlab.data.text.texts import Texts
from gradlab.errors import GradlabError
from gradlab.registry import Part
from gradlab.run import Run

if TYPE_CHECKING:
    from gradlab.report.diagnosis import ShownDoctor
    from gradlab.report.inside import Probe
    from gradlab.verification import Verification


def look_at_data(
    source: str, values: Mapping[str, Any], page: Path | None = None, title: str = ""
) -> Overview | SeriesOverview | TextOverview | GraphOverview:
    """Figures of a source of data, and a page to look at it if one is named."""
    resolved = sources.resolve(Part(source, dict(values)), "data")
    raw = sources.build(resolved, resolved.values.get("seed", 0))
    if isinstance(raw, Corpus | Texts | Pairs):
        read = raw.corpus() if isinstance(raw, Pairs) else raw
        text = TextOverview.of(read, resolved.values["tokenizer"], resolved.values["vocabulary"])
        if isinstance(raw, Pairs):
            text = replace(text, notes=[*raw.notes, *raw.shown])
        if page is not None:
            from gradlab.report.text_page import write_text_page

            write_text_page(title or source, text, page)
        return text
    if isinstance(raw, Panel):
        series = SeriesOverview.of(raw)
        if page is not None:
            from gradlab.report.series_page import write_series_page

            write_series_page(title or source, raw, series, page)
        return series
    if isinstance(raw, RawGraphs):
        graphs = GraphOverview.of(raw)
        if page is not None:
            from gradlab.report.graph_page import write_graph_page

            write_graph_page(title or source, raw, graphs, page)
        return graphs
    if not isinstance(raw, Raw):
        raise GradlabError(f"data={source} is {type(raw).__name__}, which `gradlab data show` cannot look at.")
    view = None
    if resolved.values.get("augment") is not None:
        view = prepare_data(raw, **sources.shared(resolved)).train
    overview = Overview.of(raw)
    if page is not None:
        from gradlab.report.data_page import write_data_page

        write_data_page(title or source, raw, overview, page, view)
    return overview


def probe(
    what: str | Path | Run | nn.Module,
    inputs: Any = None,
    targets: Any = None,
    *,
    loss: Any = None,
    split: str | None = None,
    examples: int | None = None,
    data: Any = None,
) -> "Probe":
    """Look inside a run, or inside any module on a batch: layers, attention, states over time, surprise by tokens, and
    what of pictures speaks for their classes.

    print(gl.probe("runs/pydoc-gpt-3f2a", "The import statement"))
    gl.probe("runs/mnist-lenet-3f2a", "seven.png").attributions.items[0].maps["Grad-CAM"]
    gl.probe(my_module, x, y, loss=torch.nn.functional.mse_loss).to_html("probe.html")

    A run takes raw inputs as `predict` does, a text if it is a language model, or, without any, examples of a split. A
    module takes a batch: a tensor, a tuple of arguments or a dictionary of them. There are gradients where there is a
    loss: `loss` is a function of (output, target), or of the output alone where there are no targets; with targets
    alone it is the cross-entropy of classes, or the squared error of numbers. `data` is where the data of a run are
    now, if they have moved.
    """
    from gradlab.probes import inspect_model, inspect_run
    from gradlab.report.inside import Probe

    if isinstance(what, nn.Module):
        if data is not None:
            raise GradlabError("`data` is where those of a run are now: a module has none.")
        return Probe(**vars(inspect_model(what, inputs, targets, loss)))
    if targets is not None or loss is not None:
        raise GradlabError("A run has its own targets and loss: they are given with a module alone.")
    return Probe(**vars(inspect_run(load_run(what, data=data), inputs, split, examples)))


def doctor(*, steps: int | None = None, deep: bool = False, tell: bool = True, live: bool = False) -> "ShownDoctor":
    """Watch whatever PyTorch code trains inside of a `with` block, and say what is wrong with the training.

        with gl.doctor() as d:
            my_own_training_loop()
        d.verdict.findings

    After the block the verdict is printed on stderr, in a notebook the findings are shown below the cell, unless `tell`
    is off; `d.to_html("doctor.html")` writes the page. `steps` ends the block after so many optimiser steps; `deep`
    takes the time for all probes; `live` tells the first certain finding in a line on stderr while the training still
    runs.
    """
    from gradlab.report.diagnosis import ShownDoctor

    return ShownDoctor(steps=steps, deep=deep, tell=tell, live=live)


def verify(
    what: Any, like: str | None = None, *, cases: int = 50, device: str = "cpu", dtype: str = "float64", **values: Any
) -> "Verification":
    """Check a block of gradlab by its name, or your own module, class or function as if it were one.

    print(gl.verify("attention.multihead"))
    gl.verify(MyAttention, like="attention.multihead", embed_dim=8, num_heads=2).passed
    gl.verify(my_kernel, like="kernel.add_norm", device="cuda", dtype="bfloat16").passed

    On another device or in another dtype (float32, bfloat16, float16) outputs and gradients are compared with those of
    the readable twin in float64.
    """
    from gradlab.training.environment import find_device
    from gradlab.verification import Place, Subject, verify_block, verify_like

    place = Place.of(find_device(device).type, dtype)

    if like is None:
        if not isinstance(what, str):
            raise GradlabError(
                "To check your own module, say which block it should be like: like='attention.multihead'."
            )
        return verify_block(Subject.block(what, place), what, cases)
    name = type(what).__name__ if isinstance(what, nn.Module) else getattr(what, "__name__", repr(what))
    return verify_like(what, like, values, name, cases, place=place)
