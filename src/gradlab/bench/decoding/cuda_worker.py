"""One call of a contestant that writes on a GPU, in a fresh process: a JSON line in, a JSON line out."""

import hashlib
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from gradlab.bench.device import copied_bytes_per_second, device_name, versions, wait

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

SIZES = {"vocabulary": 50257, "context": 1024, "dim": 768, "layers": 12, "heads": 12}
_COMPARED = 32
"""Tokens that are compared, in float32."""


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    import torch

    device = torch.device(request["device"])
    sizes = SIZES | request["sizes"]
    torch.manual_seed(0)
    model, name = _model(request["kind"], sizes, device)
    drawn = torch.Generator().manual_seed(1)
    prompts = torch.randint(sizes["vocabulary"], (request["texts"], request["prompt"]), generator=drawn).to(device)
    write = _gradlab if request["contestant"] == "gradlab" else _hugging_face
    wait(device)
    clock, _ = write(model.bfloat16(), prompts, request["new"], request["beams"])
    first, rest = clock.read()
    _, tokens = write(model.float(), prompts, min(request["new"], _COMPARED), request["beams"])
    answer = {
        "first": first,
        "rest": rest,
        "counted": request["new"] - 1 - clock.skipped,
        "text": hashlib.sha256(tokens.cpu().numpy().tobytes()).hexdigest(),
        "model": f"{name}, {sizes['vocabulary']} tokens, bf16",
        "device": device_name(device),
        "versions": versions(),
        "floor": copied_bytes_per_second(device) / sum(2 * p.numel() for p in model.parameters()),
    }
    answers.write(json.dumps(answer) + "\n")


def _model(kind: str, sizes: dict[str, int], device: "torch.device") -> "tuple[nn.Module, str]":
    """A model with the first weights of a training, and its name."""
    import torch

    from gradlab.models.language import RecurrentLanguageModel, TransformerLanguageModel

    settings: dict[str, Any] = dict(sizes)
    vocabulary, context, dim, layers = (settings.pop(key) for key in ("vocabulary", "context", "dim", "layers"))
    with torch.device(device):
        if kind == "lstm":
            return RecurrentLanguageModel(vocabulary, dim=dim, layers=2).eval(), f"LSTM, 2 layers, {dim} wide"
        attention = "linear" if kind == "linear" else "scaled_dot"
        settings |= {"dim": dim, "layers": layers, "approximate": "tanh", "attention": attention}
        model = TransformerLanguageModel(vocabulary, context, **settings).eval()
    how = " with linear attention" if kind == "linear" else ""
    return model, f"GPT-2{how}, {layers} layers, {dim} wide"


def _gradlab(model: "nn.Module", prompts: "Tensor", new: int, beams: int) -> "tuple[_Clock, Tensor]":
    import torch

    from gradlab.sampling import beam_search, stream

    # A filter sees the logits of a token before it is chosen, and of the first before the step is recorded.
    clock = _Clock(prompts.device, skipped=1 if beams > 1 else 0)
    if beams > 1:
        written = beam_search(model, prompts, new, beams, filters=[clock.unchanged])
        return clock.stop(), written.tokens.flatten(0, 1)
    columns = []
    for column in stream(model, prompts, new):
        clock.tick()
        columns.append(column.clone())
    return clock.stop(), torch.cat([prompts, torch.stack(columns, 1)], 1)


def _hugging_face(model: "nn.Module", prompts: "Tensor", new: int, beams: int) -> "tuple[_Clock, Tensor]":
    import tempfile
    from pathlib import Path

    import torch
    from transformers import AutoModelForCausalLM

    from gradlab.models.pretrained import save_pretrained

    with tempfile.TemporaryDirectory() as folder:
        save_pretrained(model, Path(folder))
        peer: Any = AutoModelForCausalLM.from_pretrained(folder)
    peer.to(prompts.device, next(model.parameters()).dtype).eval()
    clock = _Clock(prompts.device)

    def seen(tokens: "Tensor", scores: Any, **more: Any) -> "Tensor":
        clock.tick()
        return torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)

    options = {"do_sample": False, "use_cache": True, "num_beams": beams, "pad_token_id": 0, "eos_token_id": None}
    with torch.inference_mode():
        tokens: Tensor = peer.generate(
            prompts,
            attention_mask=torch.ones_like(prompts),
            max_new_tokens=new,
            stopping_criteria=[seen],
            **options,
        )
    return clock.stop(), tokens


class _Clock:
    """When the first token was there, and when the last was. Between them nobody waits for the device."""

    def __init__(self, device: "torch.device", skipped: int = 0) -> None:
        wait(device)
        self.device, self.skipped, self.began = device, skipped, time.perf_counter()
        self.first: float | None = None
        self.end: float | None = None
        self._ticks = 0

    def tick(self) -> None:
        self._ticks += 1
        if self.first is None and self._ticks > self.skipped:
            wait(self.device)
            self.first = time.perf_counter()

    def unchanged(self, logits: "Tensor", context: Any) -> "Tensor":
        """As a filter, which sees the logits of each token."""
        self.tick()
        return logits

    def stop(self) -> "_Clock":
        wait(self.device)
        self.end = time.perf_counter()
        return self

    def read(self) -> tuple[float, float]:
        """Seconds to the first token, and from there to the end."""
        assert self.first is not None
        assert self.end is not None
        return self.first - self.began, self.end - self.first


if __name__ == "__main__":
    main()
