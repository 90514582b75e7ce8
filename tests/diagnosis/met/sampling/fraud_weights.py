"""Fraud detection on a rare class, with class weights."""

# fault: class_imbalance
import torch
import torch.nn.functional as F
from sklearn.datasets import make_classification
from sklearn.metrics import recall_score
from sklearn.model_selection import train_test_split

torch.manual_seed(1)
features, fraud = make_classification(
    n_samples=3000, n_features=12, n_informative=6, weights=[0.94], class_sep=0.8, flip_y=0.02, random_state=4
)
A, B, a, b = train_test_split(features, fraud, stratify=fraud, random_state=2)
A, B = torch.tensor(A, dtype=torch.float32), torch.tensor(B, dtype=torch.float32)
a, b = torch.tensor(a), torch.tensor(b)

counts = torch.bincount(a).float()
class_weights = counts / counts.sum()  # FAULT
class_weights = counts.sum() / (2 * counts)  # REPAIRED
print("class weights", class_weights)

detector = torch.nn.Sequential(
    torch.nn.Linear(12, 32), torch.nn.ReLU(), torch.nn.Linear(32, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)
)
optimiser = torch.optim.Adam(detector.parameters(), lr=2e-3)
for epoch in range(10):
    detector.train()
    for index in torch.randperm(len(A)).split(64):
        logits = detector(A[index])
        loss = F.cross_entropy(logits, a[index], weight=class_weights)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    detector.eval()
    with torch.no_grad():
        guess = detector(B).argmax(dim=1)
    print(epoch, f"{loss.item():.3f}", "recall of fraud", round(recall_score(b, guess), 3))
