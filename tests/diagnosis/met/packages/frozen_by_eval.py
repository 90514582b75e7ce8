"""A library's GPT-2 goes on in evaluation mode after its first look at the validation loss."""
# fault: train_in_eval_mode

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(2)
g = torch.Generator().manual_seed(2)
table = torch.rand(24, 24, generator=g) ** 6
text, s = [], 0
for _ in range(4000):
    s = int(torch.multinomial(table[s], 1, generator=g))
    text.append(s)
text = torch.tensor(text)
model = GPT2LMHeadModel(
    GPT2Config(vocab_size=24, n_positions=24, n_embd=32, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
model.train()
for step in range(200):
    rows = torch.stack([text[k : k + 20] for k in torch.randint(3000, (8,))])
    loss = model(rows, labels=rows).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 10:
        model.eval()
        with torch.no_grad():
            val = torch.stack([text[k : k + 20] for k in range(3200, 3900, 50)])
            print(step, loss.item(), model(val, labels=val).loss.item())
        model.train()  # REPAIRED
