"""A library's body with a head of one's own; the optimiser is given the body."""
# fault: optimizer_missing_params

import torch
from torch import nn
from transformers import BertConfig, BertModel

torch.manual_seed(3)
ids = torch.randint(3, 30, (600, 8))
target = (ids[:, 2] > 16).long()


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = BertModel(
            BertConfig(
                vocab_size=30,
                hidden_size=32,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=48,
                max_position_embeddings=16,
            )
        )
        self.score = nn.Linear(32, 2)

    def forward(self, t):
        return self.score(self.bert(t).pooler_output)


model = Classifier()
opt = torch.optim.AdamW(model.bert.parameters(), lr=1e-3)  # FAULT
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)  # REPAIRED
for epoch in range(4):
    for i in torch.randperm(600).split(20):
        loss = nn.functional.cross_entropy(model(ids[i]), target[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
