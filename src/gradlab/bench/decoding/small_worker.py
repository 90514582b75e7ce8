"""One way to write, in a process of its own: JSON lines in, JSON lines out, as in `bench/worker.py`."""

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradlab.process import prepare

if TYPE_CHECKING:
    from torch import Tensor

VOCABULARY, LAYERS, HEADS, WIDTH = 1024, 4, 4, 128

Written = tuple["Tensor", dict[str, float]]
"""Prompts with what follows them, and further figures."""


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    if request["contestant"] == "gradlab":
        prepare()
    import torch

    if request["threads"] is not None:
        torch.set_num_threads(request["threads"])
    folder, new = Path(request["folder"]), request["new"]
    if not (folder / "config.json").exists():
        _make(folder, request["prompt"] + new)
    write = _gradlab(folder, new) if request["contestant"] == "gradlab" else _hugging_face(folder, new)
    answers.write(json.dumps({"model": f"GPT-2, {LAYERS} layers, {WIDTH} wide, {VOCABULARY} tokens"}) + "\n")
    for line in sys.stdin:
        request |= json.loads(line)
        drawn = torch.Generator().manual_seed(request["seed"])
        prompts = torch.randint(VOCABULARY, (request["batch"], request["prompt"]), generator=drawn)
        began = time.perf_counter()
        tokens, more = write(prompts)
        seconds = time.perf_counter() - began
        text = hashlib.sha256(tokens.numpy().tobytes()).hexdigest()
        answers.write(json.dumps({"seconds": seconds, "text": text, **more}) + "\n")


def _make(folder: Path, length: int) -> None:
    """A model with the first weights of a training."""
    import torch

    from gradlab.models.language import TransformerLanguageModel
    from gradlab.models.pretrained import save_pretrained

    torch.manual_seed(0)
    model = TransformerLanguageModel(VOCABULARY, length, dim=WIDTH, layers=LAYERS, heads=HEADS, approximate="tanh")
    save_pretrained(model, folder)


def _gradlab(folder: Path, new: int) -> "Callable[[Tensor], Written]":
    import torch

    from gradlab.models.pretrained import from_pretrained
    from gradlab.sampling import stream

    model = from_pretrained(folder).eval()
    quarter = max(1, new // 4)

    def write(prompts: "Tensor") -> Written:
        columns, times = [], [time.perf_counter()]
        for column in stream(model, prompts, new):
            columns.append(column.clone())
            times.append(time.perf_counter())
        early, late = (times[quarter] - times[0]) / quarter, (times[-1] - times[-1 - quarter]) / quarter
        return torch.cat([prompts, torch.stack(columns, 1)], 1), {"early": early, "late": late}

    return write


def _hugging_face(folder: Path, new: int) -> "Callable[[Tensor], Written]":
    import torch
    from transformers import AutoModelForCausalLM

    model: Any = AutoModelForCausalLM.from_pretrained(folder)
    model.eval()

    def write(prompts: "Tensor") -> Written:
        options = {
            "max_new_tokens": new,
            "do_sample": False,
            "use_cache": True,
            "pad_token_id": 0,
            "eos_token_id": None,
        }
        with torch.inference_mode():
            return model.generate(prompts, attention_mask=torch.ones_like(prompts), **options), {}

    return write


if __name__ == "__main__":
    main()
