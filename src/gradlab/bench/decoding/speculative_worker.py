"""Texts of a trained model with drafts and without, on one device: a JSON line in, a JSON line out."""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.bench.device import device_name, versions, wait
from gradlab.run.folder import open_run
from gradlab.sampling import Draft, Lookup, generate, speculate, stream
from gradlab.sampling.choice import generators
from gradlab.sampling.page import Page

_AHEAD = 3
"""Guesses at a time: with the token before them as many rows as the kernels for few rows take."""
_PROMPT, _COMPARED = 32, 64


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    answers.write(json.dumps(measured(**request)) + "\n")


def measured(folder: str, device: str, new: int, texts: int) -> dict[str, Any]:
    place = torch.device(device)
    runs = {name: open_run(Path(folder) / name) for name in ("model", "draft")}
    model, small = (run.model.to(place).eval() for run in runs.values())
    windows: Any = runs["model"].dataset.test.inputs
    prompts = windows[torch.arange(texts) * len(windows) // texts][:, :_PROMPT].to(place)
    drafts: dict[str, Callable[[], Draft | Lookup]] = {
        "a small model": lambda: Draft(small, ahead=_AHEAD),
        "looking up": lambda: Lookup(ahead=_AHEAD),
    }
    few = min(new, _COMPARED)
    plain = generate(model, prompts[:2], few)
    same = all(torch.equal(generate(model, prompts[:2], few, draft=draft()), plain) for draft in drafts.values())
    if place.type == "cuda":
        model, small = model.bfloat16(), small.bfloat16()
    rows = []
    for way, temperature in (("greedy", None), ("drawn", 1.0)):
        alone = _alone(model, prompts, new, temperature)
        rows.append(_row(f"{way}, without a draft", alone, new, texts))
        for name, proposer in drafts.items():
            draft = proposer()
            seconds = _with(model, draft, prompts, new, temperature is not None)
            taken = draft.acceptance
            row = _row(f"{way}, guesses by {name}", seconds, new, texts)
            rows.append(row | {"acceptance": taken.rate, "tokens_per_reading": new * texts / taken.readings})
    return {
        "rows": rows,
        "same": same,
        "model": _name(model),
        "draft": _name(small),
        "device": device_name(place),
        "versions": versions(),
    }


def _row(title: str, seconds: float, new: int, texts: int) -> dict[str, Any]:
    speed = texts * (new - 1) / seconds
    return {"title": title, "tokens_per_second": speed, "acceptance": None, "tokens_per_reading": 1.0}


def _name(model: nn.Module) -> str:
    layers: Any = model.layers
    return f"{len(layers)} layers, {sum(p.numel() for p in model.parameters()) / 1e6:.1f} million weights"


def _alone(model: nn.Module, prompts: Tensor, new: int, temperature: float | None) -> float:
    """Seconds after the first tokens, of all texts, one after the other."""
    seconds = 0.0
    for row in range(len(prompts)):
        columns = stream(model, prompts[row : row + 1], new, temperature=temperature, seed=row)
        seconds += _after_the_first(columns, prompts.device)
    return seconds


def _with(model: nn.Module, draft: Draft | Lookup, prompts: Tensor, new: int, drawn: bool) -> float:
    seconds = 0.0
    with torch.inference_mode():
        for row in range(len(prompts)):
            generator = generators(row, 1)[0] if drawn else None
            runs = speculate(model, draft, Page(prompts[row : row + 1], new), generator=generator)
            seconds += _after_the_first(runs, prompts.device)
    return seconds


def _after_the_first(columns: Any, device: torch.device) -> float:
    next(columns)
    wait(device)
    began = time.perf_counter()
    for _ in columns:
        pass
    wait(device)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
