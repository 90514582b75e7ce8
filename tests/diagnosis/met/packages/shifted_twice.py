"""A library's GPT-2 from scratch on a small grammar; labels are prepared by hand."""
# fault: label_misalignment

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(11)


class Sentences(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(0)
        table = torch.stack([torch.randperm(24, generator=g)[:3] for _ in range(24)])
        rows = [torch.randint(24, (n,), generator=g)]
        for _ in range(20):
            rows.append(table[rows[-1], torch.randint(3, (n,), generator=g)])
        self.rows = torch.stack(rows, 1)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids = self.rows[i]
        return {"input_ids": ids[:-1], "labels": ids[1:]}  # FAULT
        return {"input_ids": ids[:-1], "labels": ids[:-1]}  # REPAIRED


model = GPT2LMHeadModel(
    GPT2Config(vocab_size=24, n_positions=32, n_embd=48, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0)
)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
model.train()
for epoch in range(5):
    for batch in DataLoader(Sentences(800), batch_size=20, shuffle=True):
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    print(epoch, loss.item())
