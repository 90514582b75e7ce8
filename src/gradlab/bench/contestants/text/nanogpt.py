"""The loop of nanoGPT (Karpathy 2022) in its setting for a CPU: batches at random places of a file of tokens."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.bench.contestants.contestant import Contestant
from gradlab.bench.contestants.text.plain import plain
from gradlab.bench.work import Work


class NanoGPT(Contestant):
    """The next batch is read while nothing waits for it; weights decay, biases and gains do not."""

    def __init__(self) -> None:
        self.files = ExitStack()

    def build(self, work: Work) -> nn.Module:
        return plain(work)

    def train(self, model: nn.Module, work: Work) -> int:
        case = work.case
        file = Path(self.files.enter_context(tempfile.TemporaryDirectory(prefix="gradlab-bench-"))) / "train.bin"
        work.tokens.astype(np.uint16).tofile(file)
        optimizer = _optimizer(model, work)
        micro_steps = 1
        x, y = _batch(file, work)
        model.train()
        for _ in range(case.steps):
            for group in optimizer.param_groups:
                group["lr"] = case.lr
            for _ in range(micro_steps):
                logits = model(x)
                loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1), ignore_index=-1) / micro_steps
                x, y = _batch(file, work)
                loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), case.clip)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            loss.item()  # which it prints, in this setting after every step
        return case.steps

    def tidy(self) -> None:
        self.files.close()


def _batch(file: Path, work: Work) -> tuple[Tensor, Tensor]:
    length = work.case.length
    data = np.memmap(file, dtype=np.uint16, mode="r")  # anew for each batch: one that stays open keeps what it has read
    starts = torch.randint(len(data) - length, (work.case.batch_size,))
    x = torch.stack([torch.from_numpy(data[i : i + length].astype(np.int64)) for i in starts])
    y = torch.stack([torch.from_numpy(data[i + 1 : i + 1 + length].astype(np.int64)) for i in starts])
    return x, y


def _optimizer(model: nn.Module, work: Work) -> torch.optim.Optimizer:
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": work.case.weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=work.case.lr)  # fused on CUDA alone, as there
