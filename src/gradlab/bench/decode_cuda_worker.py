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
    from torch import Tensor

    from gradlab.models.language import TransformerLanguageModel

SIZES = {"vocabulary": 50257, "context": 1024, "dim": 768, "layers": 12, "heads": 12}
_COMPARED = 32
"""Tokens that are compared, in float32."""


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    asked = json.loads(sys.stdin.readline())
    import torch

    device = torch.device(asked["device"])
    sizes = SIZES | asked["sizes"]
    torch.manual_seed(0)
    model = _made(sizes, device)
    drawn = torch.Generator().manual_seed(1)
    prompts = torch.randint(sizes["vocabulary"], (asked["texts"], asked["prompt"]), generator=drawn).to(device)
    write = _gradlab if asked["contestant"] == "gradlab" else _hugging_face
    wait(device)
    first, rest, _ = write(model.bfloat16(), prompts, asked["new"], asked["beams"])
    *_, tokens = write(model.float(), prompts, min(asked["new"], _COMPARED), asked["beams"])
    answer = {
        "first": first,
        "rest": rest,
        "text": hashlib.sha256(tokens.cpu().numpy().tobytes()).hexdigest(),
        "model": f"GPT-2, {sizes['layers']} layers, {sizes['dim']} wide, {sizes['vocabulary']} tokens, bf16",
        "device": device_name(device),
        "versions": versions(),
        "floor": copied_bytes_per_second(device) / sum(2 * p.numel() for p in model.parameters()),
    }
    answers.write(json.dumps(answer) + "\n")


def _made(sizes: dict[str, int], device: "torch.device") -> "TransformerLanguageModel":
    """A model with the first weights of a training."""
    import torch

    from gradlab.models.language import TransformerLanguageModel

    settings = dict(sizes)
    with torch.device(device):
        return TransformerLanguageModel(
            settings.pop("vocabulary"), settings.pop("context"), **settings, approximate="tanh"
        ).eval()


def _gradlab(
    model: "TransformerLanguageModel", prompts: "Tensor", new: int, beams: int
) -> "tuple[float, float, Tensor]":
    import torch

    from gradlab.sampling import beam_search, stream

    clock = _Clock(prompts.device)
    if beams > 1:
        found = beam_search(model, prompts, new, beams, filters=[clock.unchanged])
        return *clock.read(), found.tokens.flatten(0, 1)
    columns = []
    for column in stream(model, prompts, new):
        clock.tick()
        columns.append(column.clone())
    return *clock.read(), torch.cat([prompts, torch.stack(columns, 1)], 1)


def _hugging_face(
    model: "TransformerLanguageModel", prompts: "Tensor", new: int, beams: int
) -> "tuple[float, float, Tensor]":
    import tempfile
    from pathlib import Path

    import torch
    from transformers import AutoModelForCausalLM

    from gradlab.models.pretrained import save_pretrained

    with tempfile.TemporaryDirectory() as folder:
        save_pretrained(model, Path(folder))
        dtype = next(model.parameters()).dtype
        peer: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    peer.to(prompts.device).eval()
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
    return *clock.read(), tokens


class _Clock:
    """When the first token was there, and when the last was. Between them nobody waits for the device."""

    def __init__(self, device: "torch.device") -> None:
        wait(device)
        self.device, self.began = device, time.perf_counter()
        self.first: float | None = None

    def tick(self) -> None:
        if self.first is None:
            wait(self.device)
            self.first = time.perf_counter()

    def unchanged(self, logits: "Tensor", context: Any) -> "Tensor":
        """As a filter, which sees the logits of each token."""
        self.tick()
        return logits

    def read(self) -> tuple[float, float]:
        """Seconds to the first token, and from there to the end."""
        wait(self.device)
        assert self.first is not None
        return self.first - self.began, time.perf_counter() - self.first


if __name__ == "__main__":
    main()
