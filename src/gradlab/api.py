"""The public functions; the command line calls these."""

from collections.abc import Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from gradlab import owners, parallel
from gradlab.data import Dataset, Examples, Raw, Stream, Tokenizer, sources
from gradlab.data.dataset import prepare as prepare_data
from gradlab.data.overview import Overview
from gradlab.data.text.corpus import Corpus
from gradlab.data.text.overview import TextOverview
from gradlab.data.text.texts import Texts
from gradlab.errors import GradlabError
from gradlab.models import pretrained
from gradlab.models.pretrained import from_pretrained
from gradlab.recipe import Recipe
from gradlab.recipes import find
from gradlab.registry import Part
from gradlab.run import Run, open_run
from gradlab.run.folder import new_path
from gradlab.tasks import Criterion, Objective, Task
from gradlab.training import experiment
from gradlab.training.checkup import tell
from gradlab.training.environment import find_device
from gradlab.training.experiment import Experiment
from gradlab.training.fit import Fit
from gradlab.training.fit import fit as fit_module
from gradlab.training.observers import Observer

if TYPE_CHECKING:
    from gradlab.diagnosis.doctor import Doctor
    from gradlab.estimators import Classifier, KernelClassifier, KernelRegressor, Regressor, load_estimator
    from gradlab.report.inside import Probe
    from gradlab.studies.pruning import Pruned
    from gradlab.studies.tickets import Tickets
    from gradlab.verification import Verification

__all__ = [
    "Task",
    "Stream",
    "Recipe",
    "Raw",
    "Objective",
    "Examples",
    "Dataset",
    "Criterion",
    "Classifier",
    "Fit",
    "KernelClassifier",
    "KernelRegressor",
    "Observer",
    "Regressor",
    "Run",
    "doctor",
    "find_tickets",
    "fit",
    "from_pretrained",
    "generate",
    "load_estimator",
    "load_run",
    "prepare",
    "probe",
    "prune",
    "resume",
    "save_pretrained",
    "train",
    "verify",
]


Files = str | Path | Sequence[str | Path] | None
"""Python files of one's own, which are run: what they register can then be named."""


def __getattr__(name: str) -> Any:
    """The estimators, whose base classes take scikit-learn a second to load: not before they are asked for."""
    if name in ("Classifier", "KernelClassifier", "KernelRegressor", "Regressor", "load_estimator"):
        from gradlab import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'gradlab.api' has no attribute {name!r}")


def train(
    recipe: str | Path | Recipe,
    overrides: Mapping[str, Any] | None = None,
    *,
    data: str | Path | None = None,
    code: Files = None,
    out: str | Path | None = None,
    device: str = "auto",
    from_run: str | Path | Run | None = None,
    freeze: str | Sequence[str] | None = None,
    observers: Sequence[Observer] = (),
) -> Run:
    """Train a recipe (by name, TOML or Python file, or value) with some values changed, and return the finished run.

    run = gl.train("digits-mlp", {"model.hidden": [256, 256], "train.epochs": 10})
    run.test["accuracy"]

    With `from_run`, the model starts from the weights of a finished classifier, with a new last layer if its classes
    are others. `freeze` are parts of the model that stay as they are; "trunk" is all but the last layer.

    If something seems wrong with the training, the doctor tells it on stderr, and `run.findings` has it; the override
    `{"doctor": "off"}` leaves that out.
    """
    _load_code(code)
    with parallel.joined():
        prepared = prepare(recipe, overrides, data=data, device=device, from_run=from_run, freeze=freeze)
        run = start(prepared, out, observers)
        if parallel.rank() == 0:
            tell(run.findings or [])
    return run


def prepare(
    recipe: str | Path | Recipe,
    overrides: Mapping[str, Any] | None = None,
    *,
    data: str | Path | None = None,
    device: str = "auto",
    from_run: str | Path | Run | None = None,
    freeze: str | Sequence[str] | None = None,
) -> Experiment:
    """Everything of a training but the training: data read, model built, all of it checked."""
    found = recipe if isinstance(recipe, Recipe) else find(str(recipe))
    named = {
        "data.path": None if data is None else str(data),
        "train.from_run": str(from_run.path if isinstance(from_run, Run) else from_run) if from_run else None,
        "train.freeze": freeze if freeze is None or isinstance(freeze, str) else list(freeze),
    }
    changes = {**{key: value for key, value in named.items() if value is not None}, **(overrides or {})}
    return Experiment.of(found.override(changes), find_device(device))


def start(prepared: Experiment, out: str | Path | None = None, observers: Sequence[Observer] = ()) -> Run:
    """Train what was prepared into a new run folder, and write its report."""
    run = experiment.start(prepared, out, observers)
    _report(run)
    return run


def resume(
    run: str | Path | Run,
    *,
    data: str | Path | None = None,
    device: str | None = None,
    observers: Sequence[Observer] = (),
    code: Files = None,
    changed_code: bool = False,
) -> Run:
    """Go on with a run that was stopped or killed, to the bit as if it had not been; a finished one is returned.

    `data` is where its data are now, if they have moved: their content must be the same.
    """
    opened = load_run(run, code=code, data=data)
    with parallel.joined():
        if opened.to_be_continued():
            place = find_device(device or opened.environment["device"])
            experiment.resume(opened, place, observers, changed_code)
        if not (opened.path / "report.html").exists():
            _report(opened)
    return opened


def prune(
    run: str | Path | Run,
    keep: float,
    *,
    rewind: bool = False,
    reinit: bool = False,
    data: str | Path | None = None,
    code: Files = None,
    out: str | Path | None = None,
    device: str | None = None,
    **options: Any,
) -> "Pruned":
    """Prune a finished run to a share of its weights by magnitude, and train it again by its own recipe.

    pruned = gl.prune("runs/digits-mlp-3f2a", 0.2, rounds=3)
    pruned.run.test["accuracy"], pruned.bytes

    Training goes on from the trained weights; `rewind` sets those that are kept back to what they were before the first
    step, and `reinit` draws others. Pruned weights are 0 from then on. Matrices and kernels are pruned, all together or
    `per_layer=True`; biases, normalisations and tables of embeddings are not. Each of several `rounds` prunes the same
    share of what is left. The same call with the same `out` goes on where it was. Further options: observers, tell.
    """
    from gradlab.studies.pruning import prune as prune_run

    if rewind and reinit:
        raise GradlabError("--rewind and --reinit are two ways to begin: ask for one of them.")
    opened = load_run(run, code=code, data=data)
    folder, place = _study_of(opened, "pruned", out, device)
    beginning: Any = "rewind" if rewind else "reinit" if reinit else "trained"
    return prune_run(opened, keep, folder, place, beginning=beginning, **options)


def find_tickets(
    run: str | Path | Run,
    keep: float,
    *,
    data: str | Path | None = None,
    code: Files = None,
    out: str | Path | None = None,
    device: str | None = None,
    **options: Any,
) -> "Tickets":
    """The lottery-ticket hypothesis on the recipe of a run: dense networks, tickets and controls, over several seeds.

    tickets = gl.find_tickets("runs/digits-mlp-3f2a", 0.1, rounds=5, seeds=5)
    [(row.way, row.kept, row.spread.mean, row.spread.std) for row in tickets.rows]

    A ticket is a network that was pruned and rewound, round after round; its control has the same masks and first
    weights that are drawn anew. Further options: per_layer, observers, tell. Frankle & Carbin 2019, arXiv:1803.03635.
    """
    from gradlab.studies.tickets import find_tickets as find_in

    opened = load_run(run, code=code, data=data)
    return find_in(opened, keep, *_study_of(opened, "tickets", out, device), **options)


def _study_of(run: Run, kind: str, out: str | Path | None, device: str | None) -> tuple[Path, torch.device]:
    """Where a study of a run is written, and where it is computed: by default where the run was."""
    folder = Path(out) if out else new_path(f"{run.recipe.name}-{kind}")
    return folder, find_device(device or run.environment["device"])


@wraps(fit_module)
def fit(model: nn.Module, data: Any, **options: Any) -> Fit:
    found = fit_module(model, data, **options)
    if found.run is not None and not (found.run.path / "report.html").exists():
        _report(found.run)
    return found


def look_at_data(
    source: str, values: Mapping[str, Any], page: Path | None = None, title: str = ""
) -> Overview | TextOverview:
    """Figures of a source of data, and a page to look at it if one is named."""
    resolved = sources.resolve(Part(source, dict(values)), "data")
    raw = sources.build(resolved, resolved.values.get("seed", 0))
    if isinstance(raw, Corpus | Texts):
        text = TextOverview.of(raw, resolved.values["tokenizer"], resolved.values["vocabulary"])
        if page is not None:
            from gradlab.report.text_page import write_text_page

            write_text_page(title or source, text, page)
        return text
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


def generate(model: Any, tokens: Any, max_new_tokens: int, **options: Any) -> Tensor:
    """Prompts (batch, length) and what a model writes after them: greedy, drawn, or searched for by `beam=k`.

    The model is any function of token numbers that gives logits (batch, length, vocabulary). The options are those of
    `gradlab.sampling.generate`: temperature, top_k, top_p, min_p, repetition_penalty, beam, eos, seed, draft and more.
    """
    from gradlab.sampling import generate as generated

    return generated(model, tokens, max_new_tokens, **options)


def save_pretrained(model: nn.Module | Run, folder: str | Path, *, tokenizer: Tokenizer | None = None) -> Path:
    """Write a model, or a run's model and its tokenizer, as Hugging Face's `from_pretrained` reads them.

    gl.save_pretrained(gl.load_run("runs/text-gpt-3f2a"), "my-gpt")
    AutoModelForCausalLM.from_pretrained("my-gpt")
    """
    if isinstance(model, Run):
        if tokenizer is None and (model.path / "tokenizer.json").exists():
            tokenizer = model.tokenizer
        model = model.model
    if tokenizer is not None:
        vocabulary = getattr(getattr(model, "encoder", model), "vocabulary", None)
        check_fits(tokenizer, vocabulary, "The tokenizer")
    return pretrained.save_pretrained(model, folder, tokenizer=None if tokenizer is None else tokenizer.to_json())


def check_fits(tokenizer: Tokenizer, vocabulary: int | None, where: str) -> None:
    """Refuse a tokenizer with tokens of which a model has no embeddings; it may have some for more."""
    tokens = 1 + max(tokenizer.inner.get_vocab().values())
    if vocabulary is not None and tokens > vocabulary:
        raise GradlabError(
            f"{where} does not fit the weights: it has {tokens:,} tokens, and the model has embeddings of "
            f"{vocabulary:,}. Take the tokenizer with which the model was trained."
        )


def probe(
    what: str | Path | Run | nn.Module,
    inputs: Any = None,
    targets: Any = None,
    *,
    loss: Any = None,
    split: str | None = None,
    examples: int | None = None,
    data: str | Path | None = None,
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


def doctor(*, steps: int | None = None, deep: bool = False, tell: bool = True) -> "Doctor":
    """Watch whatever PyTorch code trains inside of a `with` block, and say what is wrong with the training.

        with gl.doctor() as d:
            my_own_training_loop()
        d.verdict.findings

    After the block the verdict is told on stderr, unless `tell` is off. `steps` ends the block after so many optimiser
    steps; `deep` takes the time for all probes.
    """
    from gradlab.diagnosis.doctor import Doctor

    return Doctor(steps=steps, deep=deep, tell=tell)


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


def _report(run: Run) -> None:
    if parallel.rank() == 0:
        from gradlab.report import write_report  # after the training, which should not wait for it to load

        with parallel.alone():
            write_report(run)


def load_run(path: str | Path | Run, *, code: Files = None, data: str | Path | None = None) -> Run:
    """The run in a folder: `load_run("runs/digits-mlp-3f2a").predict(x)`.

    `data` is where its data are now, if they have moved. `code` is the file of one's own from which its parts came, or
    several; no file of a run folder is run by itself.
    """
    if isinstance(path, Run) and data is None:
        run = path
    else:
        run = open_run(path.path if isinstance(path, Run) else path, data)
    _load_code(code)
    return run


def _load_code(code: Files) -> None:
    for file in [code] if isinstance(code, (str, Path)) else code or ():
        owners.load(file)
