"""Parameters that cannot learn are named; those that should not learn are left alone."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from trainings import adam, batches, fit, found, grave, groups, mlp, series, sgd, slope, watching

WIRING = ("unregistered_params", "optimizer_missing_params", "frozen_params", "broken_graph")


# -- layers that nobody knows ------------------------------------------------------------------------------------------


class Listed(nn.Module):
    """Hidden layers in a plain container."""

    def __init__(self, columns=8, outputs=4, kind=list):
        super().__init__()
        layers = [nn.Linear(columns, 16), nn.Linear(16, 16)]
        self.layers = layers if kind is list else {f"hidden{i}": layer for i, layer in enumerate(layers)}
        self.out = nn.Linear(16, outputs)

    def forward(self, x):
        for layer in self.layers if isinstance(self.layers, list) else self.layers.values():
            x = torch.relu(layer(x))
        return self.out(x)


@pytest.mark.parametrize(("kind", "name"), [(list, "layers[0].weight"), (dict, "layers['hidden0'].weight")])
def test_layers_in_a_plain_container(kind, name):
    with watching() as doctor:
        fit(Listed(kind=kind), F.cross_entropy, *groups())
    finding = found(doctor, "unregistered_params")
    assert finding.severity == "error"
    assert f"model.{name}" in finding.where
    assert "ModuleList" in finding.fix
    assert doctor.verdict.findings[0] is finding


def test_heads_in_a_list_by_adam_through_a_loader():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(6, 16)
            self.heads = [nn.Linear(16, 1) for _ in range(2)]

        def forward(self, x):
            return sum(head(torch.tanh(self.body(x))) for head in self.heads)

    net = Heads()
    with watching() as doctor:
        optimizer = adam(net.parameters())
        for _ in range(4):
            for x, y in DataLoader(TensorDataset(*slope()), batch_size=32, shuffle=True):
                loss = ((net(x) - y) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finding = found(doctor, "unregistered_params")
    assert finding.severity == "error"
    assert "net.heads[0].weight" in finding.where


def test_a_layer_that_is_made_anew_in_every_call():
    class Anew(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(8, 16)

        def forward(self, x):
            return nn.Linear(16, 4)(torch.relu(self.body(x)))

    with watching() as doctor:
        fit(Anew(), F.cross_entropy, *groups())
    finding = found(doctor, "unregistered_params")
    assert finding.severity == "error"
    assert "model.Linear" in finding.where


def test_parameters_in_a_list():
    class Listed(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(8, 16)
            self.more = [nn.Parameter(0.3 * torch.randn(16, 16)) for _ in range(2)]
            self.out = nn.Linear(16, 4)

        def forward(self, x):
            x = torch.relu(self.first(x))
            for weight in self.more:
                x = torch.relu(x @ weight)
            return self.out(x)

    with watching() as doctor:
        fit(Listed(), F.cross_entropy, *groups())
    finding = found(doctor, "unregistered_params")
    assert finding.severity == "error"
    assert "model.more[0]" in finding.where
    assert grave(doctor, *WIRING) == [finding]


def test_what_a_list_holds_is_registered_elsewhere():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.out = nn.Linear(8, 16), nn.Linear(16, 4)
            self.order = [self.first, nn.ReLU(), self.out]

        def forward(self, x):
            for layer in self.order:
                x = layer(x)
            return x

    with watching() as doctor:
        fit(Both(), F.cross_entropy, *groups())
    assert grave(doctor, *WIRING) == []


def test_what_a_list_holds_is_in_the_optimiser():
    model = Listed()
    with watching() as doctor:
        optimizer = sgd([*model.parameters(), *(p for layer in model.layers for p in layer.parameters())])
        for x, y in batches(*groups()):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    assert grave(doctor, *WIRING) == []


@pytest.mark.parametrize("how", ["no_grad", "detach", "frozen"])
def test_a_teacher_that_is_kept_out_of_the_parameters(how):
    class Student(nn.Module):
        def __init__(self, teacher):
            super().__init__()
            self.body = mlp()
            self.teacher = [teacher]

        def forward(self, x):
            out = self.body(x)
            with torch.set_grad_enabled(how != "no_grad"):
                wanted = self.teacher[0](x)
            return out, wanted.detach() if how == "detach" else wanted

    x, y = groups()
    with watching() as doctor:
        teacher = mlp()
        fit(teacher, F.cross_entropy, x, y, steps=10)
        if how == "frozen":
            teacher.requires_grad_(False)
        fit(Student(teacher), lambda out, _: F.mse_loss(*out), x, y)
    assert grave(doctor, *WIRING) == []


# -- parameters that no optimiser has ----------------------------------------------------------------------------------


def test_the_optimiser_has_only_the_head():
    model = mlp()
    with watching() as doctor:
        optimizer = torch.optim.Adam(model[2].parameters(), lr=1e-2)
        for x, y in batches(*groups()):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    finding = found(doctor, "optimizer_missing_params")
    assert finding.severity == "error"
    assert "model.0.weight" in finding.where
    assert "test_wiring.py" in finding.where
    assert "torch.optim.Adam(" in finding.fix


def test_the_optimiser_was_made_for_a_model_that_was_replaced():
    x, y = series()
    rnn, head = nn.GRU(5, 12, batch_first=True), nn.Linear(12, 3)
    with watching() as doctor:
        optimizer = sgd([*rnn.parameters(), *head.parameters()])
        rnn = nn.GRU(5, 12, batch_first=True)
        for inputs, targets in batches(x, y, steps=30):
            optimizer.zero_grad()
            F.nll_loss(F.log_softmax(head(rnn(inputs)[0][:, -1]), 1), targets).backward()
            optimizer.step()
    finding = found(doctor, "optimizer_missing_params")
    assert finding.severity == "error"
    assert "rnn.weight_ih_l0" in finding.where
    assert "no loss depends on" in finding.evidence


def test_a_learnt_scale_of_the_loss_that_no_optimiser_has():
    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.spread = nn.Parameter(torch.zeros(1))

        def forward(self, out, y):
            return ((out - y) ** 2).mean() * torch.exp(-self.spread).squeeze() + self.spread.squeeze()

    with watching() as doctor:
        fit(mlp(6, 1), Loss(), *slope())
    finding = found(doctor, "optimizer_missing_params")
    assert finding.severity in ("warning", "error")
    assert "spread" in finding.where


def test_layers_that_are_added_after_the_optimiser_was_made():
    model = mlp()
    with watching() as doctor:
        optimizer = sgd(model.parameters())
        model.append(nn.ReLU())
        model.append(nn.Linear(4, 4))
        for x, y in batches(*groups()):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    finding = found(doctor, "optimizer_missing_params")
    assert finding.severity == "error"
    assert "model.4.weight" in finding.where


def test_one_of_several_tensors_of_the_user_is_forgotten():
    x, y = groups()
    first, out = (0.4 * torch.randn(8, 16)).requires_grad_(), (0.3 * torch.randn(16, 4)).requires_grad_()
    with watching() as doctor:
        optimizer = torch.optim.SGD([out], lr=0.1)
        for inputs, targets in batches(x, y):
            optimizer.zero_grad()
            F.cross_entropy(torch.relu(inputs @ first) @ out, targets).backward()
            optimizer.step()
    finding = found(doctor, "optimizer_missing_params")
    assert "first" in finding.where


def test_two_optimisers_share_a_model():
    model = mlp()
    with watching() as doctor:
        optimizers = sgd(model[0].parameters()), adam(model[2].parameters())
        for step, (x, y) in enumerate(batches(*groups())):
            model.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizers[step % 2].step()
    assert grave(doctor, *WIRING) == []


def test_a_group_that_is_added_later():
    model = mlp()
    with watching() as doctor:
        optimizer = sgd(model[2].parameters())
        for step, (x, y) in enumerate(batches(*groups())):
            if step == 20:
                optimizer.add_param_group({"params": model[0].parameters()})
            model.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    assert grave(doctor, *WIRING) == []


@pytest.mark.parametrize("held", ["fixed", "drawn"])
def test_inputs_whose_gradient_is_asked_for(held):
    model, x = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1)), torch.rand(64, 1, requires_grad=True)
    with watching() as doctor:
        optimizer = adam(model.parameters())
        for _ in range(40):
            if held == "drawn":
                x = torch.rand(64, 1, requires_grad=True)
            u = model(x)
            (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
            loss = (du + u).square().mean() + (model(torch.zeros(1, 1)) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert grave(doctor, *WIRING) == []


def test_adversarial_inputs():
    x, y = groups()
    model = mlp()
    with watching() as doctor:
        optimizer = sgd(model.parameters())
        for inputs, targets in batches(x, y):
            attacked = inputs.clone().requires_grad_()
            F.cross_entropy(model(attacked), targets).backward()
            attacked = (attacked + 0.1 * attacked.grad.sign()).detach()
            optimizer.zero_grad()
            F.cross_entropy(model(attacked), targets).backward()
            optimizer.step()
    assert grave(doctor) == []


def test_an_input_is_optimised_through_a_model_that_was_trained():
    x, y = groups()
    model = mlp()
    with watching() as doctor:
        fit(model, F.cross_entropy, x, y, steps=20)
        image = torch.zeros(1, 8, requires_grad=True)
        optimizer = torch.optim.Adam([image], lr=0.1)
        for _ in range(30):
            optimizer.zero_grad()
            (-model(image)[0, 2]).backward()
            optimizer.step()
    assert grave(doctor, *WIRING) == []


def test_updates_by_hand():
    first, out = (0.4 * torch.randn(8, 16)).requires_grad_(), (0.3 * torch.randn(16, 4)).requires_grad_()
    with watching() as doctor:
        for x, y in batches(*groups()):
            F.cross_entropy(torch.relu(x @ first) @ out, y).backward()
            with torch.no_grad():
                for weight in (first, out):
                    weight -= 0.1 * weight.grad
                    weight.grad = None
    assert grave(doctor) == []


def test_gradients_of_autograd_with_updates_by_hand():
    model = mlp()
    parameters = list(model.parameters())
    with watching() as doctor:
        for x, y in batches(*groups()):
            gradients = torch.autograd.grad(F.cross_entropy(model(x), y), parameters)
            with torch.no_grad():
                for parameter, gradient in zip(parameters, gradients, strict=True):
                    parameter -= 0.1 * gradient
    assert grave(doctor) == []


def test_tied_weights():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.rnn, self.out = nn.Embedding(12, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 12)
            self.out.weight = self.words.weight

        def forward(self, x):
            return self.out(self.rnn(self.words(x))[0]).transpose(1, 2)

    x = (torch.arange(64)[:, None] + torch.arange(7)) % 12
    with watching() as doctor:
        fit(Tied(), F.cross_entropy, x[:, :-1], x[:, 1:], make=adam)
    assert grave(doctor, *WIRING) == []


# -- frozen ------------------------------------------------------------------------------------------------------------


def test_a_backbone_frozen_at_its_random_start():
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))
    for layer in model[:4]:
        layer.requires_grad_(False)
    with watching() as doctor:
        fit(model, F.cross_entropy, *groups())
    finding = found(doctor, "frozen_params")
    assert finding.severity == "warning"
    assert "model.0.weight" in finding.where
    assert "requires_grad_(True)" in finding.fix


def test_features_of_a_second_module_that_runs_without_gradients():
    encoder, head = nn.Sequential(nn.Linear(6, 32), nn.Sigmoid(), nn.Linear(32, 2), nn.ReLU()), nn.Linear(2, 1)
    encoder.requires_grad_(False)
    with watching() as doctor:
        optimizer = adam(head.parameters(), lr=1e-3)
        for x, y in batches(*slope()):
            optimizer.zero_grad()
            ((head(encoder(x)) - y) ** 2).mean().backward()
            optimizer.step()
    finding = found(doctor, "frozen_params")
    assert finding.severity == "error"  # and nothing is learnt
    assert "encoder.0.weight" in finding.where


def trained(model, x, y):
    fit(model, F.cross_entropy, x, y, steps=30)
    return model.state_dict()


@pytest.mark.parametrize("style", ["loaded", "assigned", "copied", "trained before", "trained elsewhere"])
def test_transfer_learning(style):
    x, y = groups()
    model = mlp(hidden=64)
    state = None if style == "trained before" else trained(mlp(hidden=64), x, y)
    if style == "trained elsewhere":
        trained(model, x, y)
    with watching() as doctor:
        if style == "loaded":
            model.load_state_dict(state)
        elif style == "assigned":
            model.load_state_dict(state, assign=True)
        elif style == "copied":
            for name, parameter in model.named_parameters():
                parameter.data = state[name].clone()
        elif style == "trained before":
            trained(model, x, y)
        model[0].requires_grad_(False)
        model[2] = nn.Linear(64, 4)
        fit(model, F.cross_entropy, x, y)
    assert grave(doctor, *WIRING) == []


def test_the_head_alone_is_in_the_optimiser_of_a_loaded_model():
    x, y = groups()
    model = mlp(hidden=32)
    with watching() as doctor:
        model.load_state_dict(trained(mlp(hidden=32), x, y))
        model[2] = nn.Linear(32, 4)
        optimizer = adam(model[2].parameters())
        for inputs, targets in batches(x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
    assert grave(doctor, *WIRING) == []


def test_frozen_word_vectors():
    vectors, x = torch.randn(20, 8), torch.randint(20, (256, 4))
    with watching() as doctor:
        model = nn.Sequential(nn.Embedding.from_pretrained(vectors), nn.Flatten(), nn.Linear(32, 2))
        fit(model, F.cross_entropy, x, (vectors[x].sum((1, 2)) > 0).long(), make=adam)
    assert grave(doctor, *WIRING) == []


def test_low_rank_adapters_of_a_loaded_layer():
    class Adapted(nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer.requires_grad_(False)
            self.down, self.up = nn.Parameter(torch.randn(2, 8) / 8), nn.Parameter(torch.zeros(16, 2))

        def forward(self, x):
            return self.layer(x) + x @ self.down.T @ self.up.T

    x, y = groups()
    model = mlp()
    with watching() as doctor:
        model.load_state_dict(trained(mlp(), x, y))
        model[0] = Adapted(model[0])
        fit(model, F.cross_entropy, x, y.roll(1), make=adam)
    assert grave(doctor, *WIRING) == []


def test_a_target_that_follows_slowly():
    x, y = groups()
    online = mlp()
    target = copy.deepcopy(online).requires_grad_(False)
    with watching() as doctor:
        optimizer = sgd(online.parameters())
        for inputs, targets in batches(x, y):
            with torch.no_grad():
                wanted = target(inputs + 0.1 * torch.randn_like(inputs))
            out = online(inputs)
            optimizer.zero_grad()
            (F.cross_entropy(out, targets) + F.mse_loss(out, wanted)).backward()
            optimizer.step()
            with torch.no_grad():
                for ours, theirs in zip(target.parameters(), online.parameters(), strict=True):
                    ours.lerp_(theirs, 0.01)
    assert grave(doctor, *WIRING) == []


@pytest.mark.parametrize("how", ["no_grad", "detach"])
def test_a_target_that_is_copied_now_and_then(how):
    """A value network learns its own estimate of later; within these steps its copy is never renewed."""
    state, reward = torch.randn(256, 4), torch.randn(256, 1)
    online = mlp(4, 1)
    target = copy.deepcopy(online)
    with watching() as doctor:
        optimizer = adam(online.parameters())
        for now, then, got in batches(state, state.roll(1, 0), reward):
            if how == "no_grad":
                with torch.no_grad():
                    later = target(then)
            else:
                later = target(then).detach()
            optimizer.zero_grad()
            F.smooth_l1_loss(online(now), got + 0.9 * later).backward()
            optimizer.step()
    assert grave(doctor, *WIRING) == []


def test_a_fixed_random_target():
    """The error of learning it tells what is new: it must stay as it began."""
    x = torch.randn(256, 6)
    target, student = mlp(6, 8).requires_grad_(False), mlp(6, 8, hidden=32)
    with watching() as doctor:
        optimizer = adam(student.parameters())
        for (inputs,) in batches(x):
            optimizer.zero_grad()
            F.mse_loss(student(inputs), target(inputs)).backward()
            optimizer.step()
    assert grave(doctor, *WIRING) == []


def test_a_fixed_filter():
    blur = nn.Conv1d(1, 1, 3, padding=1, bias=False).requires_grad_(False)
    blur.weight.data.fill_(1 / 3)
    model = nn.Sequential(nn.Unflatten(1, (1, 8)), blur, nn.Flatten(), nn.Linear(8, 4))
    with watching() as doctor:
        fit(model, F.cross_entropy, *groups())
    assert grave(doctor, *WIRING) == []


# -- cut off -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", ["detach", "data", "numpy", "list"])
def test_the_encoder_is_cut_off(cut):
    class Cut(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU()), nn.Linear(16, 4)

        def forward(self, x):
            h = self.encoder(x)
            if cut == "detach":
                h = h.detach()
            elif cut == "data":
                h = h.data
            elif cut == "numpy":
                h = torch.from_numpy(h.detach().numpy())
            else:
                h = torch.tensor(h.tolist())
            return self.decoder(h)

    with watching() as doctor:
        fit(Cut(), F.cross_entropy, *groups())
    finding = found(doctor, "broken_graph")
    assert finding.severity == "error"
    assert "model.encoder.0.weight" in finding.where
    assert "model.encoder" in finding.fix


def test_the_state_of_a_recurrent_net_is_cut_off():
    x, y = series()
    words, rnn, head = nn.Linear(5, 8), nn.LSTM(8, 12, batch_first=True), nn.Linear(12, 3)
    with watching() as doctor:
        optimizer = adam([*words.parameters(), *rnn.parameters(), *head.parameters()])
        for inputs, targets in batches(x, y):
            _, (h, _) = rnn(words(inputs))
            logits = head(torch.tensor(h[0].detach().numpy()))
            optimizer.zero_grad()
            nn.CrossEntropyLoss()(logits, targets).backward()
            optimizer.step()
    finding = found(doctor, "broken_graph")
    assert finding.severity == "error"
    assert "rnn.weight_ih_l0" in finding.where


def test_one_of_two_branches_is_cut_off():
    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right, self.out = nn.Linear(6, 16), nn.Linear(6, 16), nn.Linear(32, 1)

        def forward(self, x):
            left, right = torch.tanh(self.left(x)), torch.tanh(self.right(x))
            return self.out(torch.cat([left, right.detach()], 1))

    with watching() as doctor:
        fit(Branches(), F.mse_loss, *slope())
    finding = found(doctor, "broken_graph")
    assert finding.severity == "error"
    assert "model.right.weight" in finding.where


def test_a_part_that_runs_without_gradients_inside_of_a_model():
    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.out = nn.Linear(6, 16), nn.Linear(16, 1)

        def forward(self, x):
            with torch.no_grad():
                h = torch.tanh(self.encoder(x))
            return self.out(h)

    with watching() as doctor:
        fit(Part(), F.mse_loss, *slope(), make=adam)
    finding = found(doctor, "broken_graph")
    assert finding.severity == "error"
    assert "model.encoder.weight" in finding.where


def test_a_head_that_no_loss_asks_for():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.label, self.size = nn.Linear(8, 16), nn.Linear(16, 4), nn.Linear(16, 1)

        def forward(self, x):
            h = torch.relu(self.body(x))
            return self.size(h), self.label(h)

    with watching() as doctor:
        fit(Heads(), lambda out, y: F.cross_entropy(out[1], y), *groups())
    assert grave(doctor, *WIRING) == []


def test_two_networks_against_each_other():
    real = torch.randn(256, 2) @ torch.randn(2, 2) + 1
    maker, critic = mlp(4, 2), mlp(2, 1)
    with watching() as doctor:
        theirs, ours = adam(maker.parameters(), lr=1e-3), adam(critic.parameters(), lr=1e-3)
        for (x,) in batches(real):
            fake = maker(torch.randn(32, 4))
            ours.zero_grad()
            (F.softplus(-critic(x)).mean() + F.softplus(critic(fake.detach())).mean()).backward()
            ours.step()
            theirs.zero_grad()
            F.softplus(-critic(fake)).mean().backward()
            theirs.step()
    assert grave(doctor) == []


def test_two_views_of_which_one_is_cut_off():
    """Each view predicts the other one's embedding, which takes no gradient there."""
    x = torch.randn(256, 8)
    body, predictor = mlp(8, 8), mlp(8, 8)
    with watching() as doctor:
        optimizer = sgd([*body.parameters(), *predictor.parameters()])
        for (inputs,) in batches(x):
            a, b = (body(inputs + 0.1 * torch.randn_like(inputs)) for _ in range(2))
            p, q = predictor(a), predictor(b)
            loss = -(F.cosine_similarity(p, b.detach()) + F.cosine_similarity(q, a.detach())).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert grave(doctor, *WIRING) == []


def test_a_closure():
    x, y = slope()
    model = mlp(6, 1)
    with watching() as doctor:
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4)

        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss

        for _ in range(10):
            optimizer.step(closure)
    assert grave(doctor) == []


def test_packed_sequences():
    x, y = series()
    rnn, head = nn.GRU(5, 12, batch_first=True), nn.Linear(12, 3)
    with watching() as doctor:
        optimizer = adam([*rnn.parameters(), *head.parameters()])
        for inputs, targets in batches(x, y):
            lengths = torch.randint(2, 7, (len(inputs),))
            packed = nn.utils.rnn.pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
            optimizer.zero_grad()
            F.cross_entropy(head(rnn(packed)[1][0]), targets).backward()
            optimizer.step()
    assert grave(doctor) == []


def test_residual_branches_and_a_head_that_begin_at_zero():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.out = nn.Linear(16, 16), nn.Linear(16, 16)
            nn.init.zeros_(self.out.weight)

        def forward(self, x):
            return x + self.out(torch.relu(self.inner(x)))

    model = nn.Sequential(nn.Linear(8, 16), Block(), Block(), nn.Linear(16, 4))
    nn.init.zeros_(model[3].weight)
    with watching() as doctor:
        fit(model, F.cross_entropy, *groups())
    assert grave(doctor, *WIRING) == []


def test_several_losses_of_several_heads():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.label, self.size = nn.Linear(8, 16), nn.Linear(16, 4), nn.Linear(16, 1)

        def forward(self, x):
            h = torch.relu(self.body(x))
            return self.label(h), self.size(h).squeeze(1)

    x, y = groups()
    model = Heads()
    with watching() as doctor:
        optimizer = adam(model.parameters())
        for step, (inputs, targets) in enumerate(batches(x, y)):
            label, size = model(inputs)
            optimizer.zero_grad()
            loss = F.cross_entropy(label, targets) if step % 2 else F.mse_loss(size, inputs.norm(dim=1))
            loss.backward()
            optimizer.step()
    assert grave(doctor, *WIRING) == []


@pytest.mark.parametrize("inside", [True, False])
def test_a_parameter_that_an_expression_has_made_something_else_of(inside):
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            if inside:
                self.by = nn.Parameter(torch.full((1, 16), 1.5).squeeze())
            else:
                self.by = nn.Parameter(torch.full((1, 16), 1.5)).squeeze()

        def forward(self, x):
            return x * self.by

    model = nn.Sequential(nn.Linear(8, 16), Scale(), nn.ReLU(), nn.Linear(16, 4))
    with watching() as doctor:
        fit(model, nn.CrossEntropyLoss(), *groups())
    assert bool(grave(doctor, "unregistered_params")) is not inside


@pytest.mark.parametrize("frozen", [True, False])
def test_an_embedding_that_stays_as_it_was_given(frozen):
    """Vectors of nothing that are frozen leave too little to learn; a note, since they may have been good ones."""
    y = torch.arange(256) % 8
    ids = torch.cat([torch.randint(0, 40, (256, 4)) + 40 * y[:, None], torch.randint(0, 320, (256, 20))], 1)

    class Bag(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding.from_pretrained(torch.randn(320, 8) / 10, freeze=frozen)
            self.out = nn.Linear(8, 8)

        def forward(self, x):
            return self.out(self.words(x).mean(1))

    with watching() as doctor:
        fit(Bag(), F.cross_entropy, ids, y, make=adam, steps=120)
    assert grave(doctor) == []
    assert ("frozen_params" in [f.slug for f in doctor.verdict.findings]) is frozen
