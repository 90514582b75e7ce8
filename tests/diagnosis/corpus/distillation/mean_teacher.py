"""Mean teacher on half moons: few labels, many unlabelled points, consistency with an EMA teacher under input noise."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_moons


def get_points(n, seed):
    x, y = make_moons(n, noise=0.1, random_state=seed)
    return (torch.tensor(x, dtype=torch.float32) - torch.tensor([0.5, 0.25])) / torch.tensor([0.87, 0.5]), torch.tensor(
        y
    )


class MeanTeacher:
    def __init__(self, student, decay=0.98):
        self.student = student
        self.teacher = copy.deepcopy(student)
        for p in self.teacher.parameters():
            p.detach_()
        self.decay = decay

    @torch.no_grad()
    def follow(self):
        for t, s in zip(self.teacher.parameters(), self.student.parameters()):
            t.copy_(self.decay * t + (1 - self.decay) * s)


def consistency(pair, x, noise=0.1):
    with torch.no_grad():
        target = F.softmax(pair.teacher(x + noise * torch.randn_like(x)), dim=1)
    guess = F.softmax(pair.student(x + noise * torch.randn_like(x)), dim=1)
    return F.mse_loss(guess, target)


def run(total=500, seed=6):
    torch.manual_seed(seed)
    x, y = get_points(1200, seed=1)
    labelled_x, labelled_y = x[:120], y[:120]
    unlabelled = x[120:]
    x_test, y_test = get_points(500, seed=2)

    student = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.1), nn.Linear(48, 48), nn.LeakyReLU(0.1), nn.Linear(48, 2))
    pair = MeanTeacher(student)
    opt = torch.optim.SGD(student.parameters(), lr=0.2, momentum=0.9, nesterov=True)
    for step in range(total):
        opt.param_groups[0]["lr"] = 0.1 * (1 + math.cos(math.pi * step / total))
        ramp = min(1.0, step / 150)
        take = torch.randint(len(labelled_x), (32,))
        extra = unlabelled[torch.randint(len(unlabelled), (64,))]
        noisy = labelled_x[take] + 0.1 * torch.randn(32, 2)
        supervised = F.cross_entropy(student(noisy), labelled_y[take])
        agree = consistency(pair, torch.cat([extra, labelled_x[take]]))
        loss = supervised + 3.0 * ramp * agree
        opt.zero_grad()
        loss.backward()
        opt.step()
        pair.follow()
        if (step + 1) % 100 == 0:
            with torch.no_grad():
                acc_s = (student(x_test).argmax(1) == y_test).float().mean().item()
                acc_t = (pair.teacher(x_test).argmax(1) == y_test).float().mean().item()
            print(f"{step + 1} supervised {supervised.item():.4f} consistency {agree.item():.4f}", end=" ")
            print(f"| test student {acc_s:.3f} teacher {acc_t:.3f}")


if __name__ == "__main__":
    run()
