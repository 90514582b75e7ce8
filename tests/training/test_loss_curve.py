"""The losses of a training are those of the usual loop over Hugging Face's GPT-2, on the same batches."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from gradlab.data import Targets
from gradlab.data.text.windows import WindowExamples, Windows
from gradlab.models import TransformerLanguageModel
from gradlab.models.pretrained import save_pretrained
from gradlab.tasks import Language
from gradlab.training import driver

STEPS, RATE, DECAY, CLIP = 30, 3e-3, 0.1, 0.5


def usual_loop(peer, batches):
    decayed = [p for p in peer.parameters() if p.ndim >= 2]
    others = [p for p in peer.parameters() if p.ndim < 2]
    groups = [{"params": decayed, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.95))
    for _, batch in zip(range(STEPS), batches, strict=False):
        logits = peer(input_ids=batch["inputs"].long()).logits
        loss = F.cross_entropy(logits.flatten(0, 1), batch["targets"].long().flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(peer.parameters(), CLIP)
        optimizer.step()
        yield loss.item(), norm.item()


def test_the_loss_curve_is_that_of_hugging_face(make_plan, tmp_path):
    transformers = pytest.importorskip("transformers", reason="the peer is not installed")
    tokens = np.random.default_rng(0).integers(4, size=1921).cumsum() % 29  # each is one of four after the one before
    train = WindowExamples.over(Windows(tokens.astype(np.uint8), 16))
    torch.manual_seed(0)
    model = TransformerLanguageModel(29, 16, dim=32, layers=2, heads=4, approximate="tanh")
    save_pretrained(model, tmp_path / "peer")
    peer = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "peer", dtype=torch.float32)
    for part in peer.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    peer.train()
    optimizer = {"name": "adamw", "beta2": 0.95}
    values = {"steps": STEPS, "batch_size": 8, "optimizer": optimizer, "lr": RATE, "weight_decay": DECAY}
    plan = make_plan(**values, clip=CLIP, log_every=1, keep="last")
    ours = []

    class Watch(driver.Observer):
        def log(self, training, line):
            ours.append(line["loss"])

    with driver.training(model, Language(Targets(tokens=29)), train, None, plan, observers=[Watch()]) as training:
        theirs = list(usual_loop(peer, iter(training.stream.batches(0))))
        training.run()
    assert len(ours) == STEPS
    assert ours == pytest.approx([loss for loss, _ in theirs], abs=1e-4)
    assert ours[-1] < ours[0] - 0.5  # it has learned
    assert any(norm > CLIP for _, norm in theirs)  # and been clipped
