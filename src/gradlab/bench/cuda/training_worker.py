"""One training on a GPU in a fresh process: a JSON line in, a JSON line out."""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.bench.device import device_name, product_flops_per_second, versions, wait
from gradlab.bench.laps import Clock, Laps, by_hand
from gradlab.data import Targets
from gradlab.data.text.windows import WindowExamples, Windows
from gradlab.models.language import RecurrentLanguageModel, TransformerLanguageModel
from gradlab.nn.recurrent import LSTM
from gradlab.tasks import Language
from gradlab.training import driver
from gradlab.training.plan import Plan, plan_schema

_GPT = {"vocabulary": 50257, "context": 1024, "batch": 32, "dim": 768, "layers": 12, "heads": 12}
_RECURRENT = {"vocabulary": 256, "context": 256, "batch": 64, "dim": 512, "layers": 2}
_MLP = {"rows": 60_000, "inputs": 784, "hidden": 512, "classes": 10, "batch": 64, "first": 5, "epochs": 10}
_RATE, _DECAY, _CLIP = 6e-4, 0.1, 1.0
_LONG = 10_000  # steps of the training that the default settings are chosen for


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    works: dict[str, Callable[..., Any]] = {
        "gpt": gpt,
        "lstm": partial(recurrent, "lstm"),
        "gru": partial(recurrent, "gru"),
        "mlp": mlp,
    }
    work = works[request.pop("work")]
    answers.write(json.dumps(work(**request)) + "\n")


def gpt(contestant: str, device: str, steps: int, sizes: dict[str, int]) -> dict[str, Any]:
    """A GPT-2."""
    size, place = _GPT | sizes, torch.device(device)
    shape = {key: size[key] for key in ("dim", "layers", "heads")}
    torch.manual_seed(0)
    with place:
        model = TransformerLanguageModel(size["vocabulary"], size["context"], **shape, approximate="tanh")
    peer = (lambda: _hugging_face(model, place)) if contestant == "hugging-face" else None
    return _language("GPT-2", model, peer, size, place, steps, fp8=contestant == "gradlab-fp8")


def recurrent(cell: str, contestant: str, device: str, steps: int, sizes: dict[str, int]) -> dict[str, Any]:
    """A recurrent language model."""
    size, place = _RECURRENT | sizes, torch.device(device)
    torch.manual_seed(0)
    with place:
        model = RecurrentLanguageModel(size["vocabulary"], cell=cell, dim=size["dim"], layers=size["layers"])
    peer = (lambda: CellLoop(model)) if contestant == "cell-loop" else None
    return _language(cell.upper(), model, peer, size, place, steps)


def _language(
    title: str,
    model: nn.Module,
    peer: Callable[[], Any] | None,
    size: dict[str, int],
    place: torch.device,
    steps: int,
    fp8: bool = False,
) -> dict[str, Any]:
    """A language model on windows of random tokens, of which some are frequent: by gradlab, or a peer by hand."""
    count = max(4, steps) * size["batch"] * size["context"] // 8 + 1
    text = torch.multinomial(1 / torch.arange(1.0, size["vocabulary"] + 1), count, replacement=True).int()
    train = WindowExamples.over(Windows(text, size["context"])).to(place)
    values: dict[str, Any] = {"batch_size": size["batch"], "optimizer": "adamw", "lr": _RATE, "weight_decay": _DECAY}
    half = place.type == "cuda"
    precision = "fp8" if fp8 else "bf16" if half else "float32"
    more = {"clip": _CLIP, "precision": precision, "schedule": "constant", "keep": "last"}
    values |= {**more, "log_every": max(1, steps // 2)}
    plan, long = (Plan(**plan_schema.resolve(values | {"steps": count}, "bench")) for count in (steps, _LONG))
    task = Language(Targets(tokens=size["vocabulary"]))
    cost = driver.example_cost(model, task, train)
    clock = Clock(steps, place)
    if peer is None:
        mode = driver.mode_of(model, train, long, cost)
        with driver.training(model, task, train, None, plan, mode=mode, observers=[Laps(clock)]) as training:
            training.run()
    else:
        with driver.training(model, task, train, None, plan, mode="eager") as training:
            _by_hand(peer(), iter(training.stream.batches(0)), clock, place, half)
    what = f"{size['layers']} layers, {size['dim']} wide, context {size['context']:,}, batch {size['batch']}"
    return {
        **_about(place, 3 * cost.flops * size["batch"]),
        "title": f"{title}: {what}, {precision}",
        "unit": "tokens",
        "row": clock.row(size["batch"] * size["context"]),
    }


class CellLoop(nn.Module):
    """The same recurrent model, one cell after the other: what equations say and a beginner writes."""

    def __init__(self, model: RecurrentLanguageModel):
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.model.embedding(tokens)
        for layer in self.model.layers:
            x = torch.stack(list(_states(layer, x)), 1)
        assert self.model.head is not None
        logits: Tensor = self.model.head(x)
        return logits


def _states(layer: Any, x: Tensor) -> Iterator[Tensor]:
    weights = [getattr(layer, f"{name}_l0") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    h = c = x.new_zeros(len(x), layer.hidden_size)
    for one in x.unbind(1):
        if isinstance(layer, LSTM):
            h, c = torch.lstm_cell(one, (h, c), *weights)
        else:
            h = torch.gru_cell(one, h, *weights)
        yield h


def _hugging_face(model: TransformerLanguageModel, place: torch.device) -> Callable[[Tensor], Tensor]:
    """The same weights in Hugging Face's module, compiled."""
    from transformers import AutoModelForCausalLM

    from gradlab.models.pretrained import save_pretrained

    with tempfile.TemporaryDirectory() as folder:
        save_pretrained(model, Path(folder))
        peer: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    peer.to(place).train()
    for module in peer.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    compiled = torch.compile(peer) if place.type == "cuda" else peer
    forward = lambda tokens: compiled(input_ids=tokens, use_cache=False).logits  # noqa: E731
    forward.parameters = peer.parameters  # type: ignore[attr-defined]
    return forward


def _by_hand(forward: Any, batches: Iterator[Any], clock: Clock, place: torch.device, half: bool) -> None:
    """The usual loop in mixed precision, with the fused update."""
    parameters = list(forward.parameters())
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": _DECAY},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=_RATE, fused=True)

    def step() -> Tensor:
        batch = next(batches)
        with torch.autocast(place.type, torch.bfloat16, enabled=half):
            loss = F.cross_entropy(forward(batch["inputs"].long()).flatten(0, 1), batch["targets"].long().flatten())
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(parameters, _CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    by_hand(clock, step)


def mlp(contestant: str, device: str, steps: int, sizes: dict[str, int]) -> dict[str, Any]:
    """Epochs over a table that is on the device."""
    size, place = _MLP | sizes, torch.device(device)
    torch.manual_seed(0)
    x = torch.randn(size["rows"], size["inputs"])
    y = (x @ torch.randn(size["inputs"], size["classes"])).argmax(1)
    per_epoch = -(-size["rows"] // size["batch"])

    def net() -> nn.Module:
        torch.manual_seed(1)
        hidden, first = size["hidden"], nn.Linear(size["inputs"], size["hidden"])
        rest = nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, size["classes"])
        return nn.Sequential(first, nn.ReLU(), *rest).to(place)

    # As many epochs first as ours needs to take the way of a long training, so that both lengths take the same.
    train, first = {"gradlab": (_fit, size["first"]), "usual-loop": (_data_loader, 1)}[contestant]
    train(net(), x, y, size["batch"], first, place)  # libraries load, kernels are built
    few, many = (train(net(), x, y, size["batch"], epochs, place) for epochs in (first, first + size["epochs"]))
    seconds = (many[0] - few[0]) / (size["epochs"] * per_epoch)
    row = {
        "milliseconds": 1e3 * seconds,
        "examples_per_second": size["batch"] / seconds,
        "before": max(0.0, few[0] - first * per_epoch * seconds),
        "gibibytes": torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0,
        "losses": [],
    }
    what = f"{size['inputs']}-{size['hidden']}-{size['hidden']}-{size['classes']}"
    title = f"MLP {what}, batch {size['batch']}, an epoch of {size['rows']:,} rows takes {per_epoch:,} steps"
    return {**_about(place, None), "title": title, "unit": "rows", "row": row}


def _fit(net: nn.Module, x: Tensor, y: Tensor, batch: int, epochs: int, place: torch.device) -> tuple[float, nn.Module]:
    from gradlab.training.fit import fit

    x, y = x.to(place), y.to(place)
    wait(place)
    began = time.perf_counter()
    fit(net, (x, y), epochs=epochs, batch_size=batch, lr=1e-3, doctor=False, progress=False)
    wait(place)
    return time.perf_counter() - began, net


def _data_loader(
    net: nn.Module, x: Tensor, y: Tensor, batch: int, epochs: int, place: torch.device
) -> tuple[float, nn.Module]:
    from torch.utils.data import DataLoader, TensorDataset

    loader = DataLoader(TensorDataset(x, y), batch_size=batch, shuffle=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    wait(place)
    began = time.perf_counter()
    for _ in range(epochs):
        for inputs, targets in loader:
            loss = F.cross_entropy(net(inputs.to(place)), targets.to(place))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    wait(place)
    return time.perf_counter() - began, net


def _about(place: torch.device, flops: float | None) -> dict[str, Any]:
    kind = torch.bfloat16 if place.type == "cuda" else torch.float32
    floor = None if flops is None else 1e3 * flops / product_flops_per_second(place, kind)
    return {"device": device_name(place), "versions": versions(), "floor": floor}


if __name__ == "__main__":
    main()
