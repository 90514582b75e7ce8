"""A transformer of a library, fine-tuned in a bare loop on sentences that come sorted."""
# fault: unshuffled_data

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(1)
ids = torch.randint(3, 40, (480, 10))
labels = torch.arange(480) // 160
ids[:, 1] = labels + 40
model = BertForSequenceClassification(
    BertConfig(
        vocab_size=50,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=16,
        num_labels=3,
    )
)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(ids, labels), batch_size=16)  # FAULT
loader = DataLoader(TensorDataset(ids, labels), batch_size=16, shuffle=True)  # REPAIRED
for epoch in range(4):
    for a, b in loader:
        out = model(input_ids=a, labels=b)
        out.loss.backward()
        opt.step()
        opt.zero_grad()
    print(epoch, out.loss.item())
