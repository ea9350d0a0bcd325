"""Records what PyTorch's further optimizers and schedules compute.

    pip install torch && python reference-optim.py

Writes reference-optim.json.gz beside this file (made with PyTorch 2.13, CPU).
"""

import gzip
import json
import pathlib

import torch
from torch import nn

torch.manual_seed(1)
O = torch.optim
S = O.lr_scheduler


def camel(name):
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def data(tensor):
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch."), "values": tensor.detach().double().flatten().tolist()}


def optimizer_case(kind, steps=9, **options):
    params = [nn.Parameter(torch.randn(3, 4)), nn.Parameter(torch.randn(5))]
    grads = [[torch.randn(3, 4), torch.randn(5)] for _ in range(steps)]
    start = [data(p) for p in params]
    optimizer = kind(params, foreach=False, **options)
    after = []
    for step in range(steps):
        if step == 4:
            optimizer.param_groups[0]["lr"] *= 0.5
        for p, g in zip(params, grads[step]):
            p.grad = g.clone()
        optimizer.step()
        after.append([data(p) for p in params])
    state = {n: data(v) for n, v in optimizer.state[params[0]].items() if torch.is_tensor(v) and v.dim() > 0}
    return {"options": {camel(n): v for n, v in options.items()}, "start": start, "grads": [[data(g) for g in gs] for gs in grads], "after": after, "state": state}


optimizers = {
    "Adadelta": [optimizer_case(O.Adadelta), optimizer_case(O.Adadelta, lr=0.5, rho=0.8, eps=1e-5, weight_decay=0.1, maximize=True)],
    "Adamax": [optimizer_case(O.Adamax, lr=0.1), optimizer_case(O.Adamax, lr=0.1, betas=(0.8, 0.99), weight_decay=0.1, maximize=True)],
    "NAdam": [
        optimizer_case(O.NAdam, lr=0.1),
        optimizer_case(O.NAdam, lr=0.1, weight_decay=0.1, momentum_decay=0.01),
        optimizer_case(O.NAdam, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True, maximize=True),
    ],
    "RAdam": [
        optimizer_case(O.RAdam, lr=0.1),
        optimizer_case(O.RAdam, lr=0.1, betas=(0.8, 0.9), weight_decay=0.1),
        optimizer_case(O.RAdam, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True, maximize=True),
    ],
}


def lbfgs_case(steps=4, **options):
    x = nn.Parameter(torch.tensor([-1.2, 1.0, 0.5, -0.3]))
    optimizer = O.LBFGS([x], **options)
    losses, points = [], []

    def closure():
        optimizer.zero_grad()
        loss = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
        loss.backward()
        return loss

    for _ in range(steps):
        losses.append(optimizer.step(closure).item())
        points.append(x.tolist())
    return {"options": {camel(n): v for n, v in options.items()}, "losses": losses, "points": points}


lbfgs = [
    lbfgs_case(lr=1e-3, max_iter=6),
    lbfgs_case(line_search_fn="strong_wolfe", max_iter=8, history_size=3),
    lbfgs_case(line_search_fn="strong_wolfe", max_iter=8, lr=0.5),
]


def optimizer(momentum=0.0):
    return O.SGD([{"params": [nn.Parameter(torch.zeros(1))]}, {"params": [nn.Parameter(torch.zeros(1))], "lr": 0.3}], lr=0.1, momentum=momentum)


def schedule_case(make, options, epochs=14, momentum=0.0, metrics=None):
    o = optimizer(momentum)
    scheduler = make(o)
    rates = [[g["lr"] for g in o.param_groups]]
    momenta = [o.param_groups[0]["momentum"]]
    for epoch in range(epochs):
        o.step()
        scheduler.step(*([] if metrics is None else [metrics[epoch]]))
        rates.append([g["lr"] for g in o.param_groups])
        momenta.append(o.param_groups[0]["momentum"])
    return {"options": {camel(n): v for n, v in options.items()}, "rates": rates, "momenta": momenta, "metrics": metrics}


def simple(kind, **options):
    return schedule_case(lambda o: kind(o, **options), options)


cycle = {"max_lr": [0.5, 1.0], "total_steps": 15}
plateau = [1, 0.9, 0.95, 0.94, 0.93, 0.92, 0.5, 0.6, 0.7, 0.8, 0.9, 0.4, 0.41, 0.42]
schedules = {
    "MultiStepLR": [simple(S.MultiStepLR, milestones=[2, 5, 5, 9], gamma=0.5)],
    "ExponentialLR": [simple(S.ExponentialLR, gamma=0.9)],
    "ConstantLR": [simple(S.ConstantLR, factor=0.5, total_iters=4)],
    "PolynomialLR": [simple(S.PolynomialLR, total_iters=8, power=2.0)],
    "CosineAnnealingWarmRestarts": [schedule_case(lambda o: S.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2, eta_min=0.01), {"t0": 3, "t_mult": 2, "eta_min": 0.01})],
    "OneCycleLR": [
        schedule_case(lambda o: S.OneCycleLR(o, **cycle), cycle, momentum=0.9),
        schedule_case(lambda o: S.OneCycleLR(o, three_phase=True, anneal_strategy="linear", pct_start=0.25, **cycle), {**cycle, "three_phase": True, "anneal_strategy": "linear", "pct_start": 0.25}, momentum=0.9),
        schedule_case(lambda o: S.OneCycleLR(o, max_lr=1.0, epochs=5, steps_per_epoch=3, cycle_momentum=False), {"max_lr": 1.0, "epochs": 5, "steps_per_epoch": 3, "cycle_momentum": False}),
    ],
    "ReduceLROnPlateau": [
        schedule_case(lambda o: S.ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=1), {"factor": 0.5, "patience": 1, "cooldown": 1}, metrics=plateau),
        schedule_case(lambda o: S.ReduceLROnPlateau(o, mode="max", patience=2, threshold=0.05, threshold_mode="abs", min_lr=0.02), {"mode": "max", "patience": 2, "threshold": 0.05, "threshold_mode": "abs", "min_lr": 0.02}, metrics=plateau),
    ],
    "SequentialLR": [
        schedule_case(lambda o: S.SequentialLR(o, [S.LinearLR(o, start_factor=0.1, total_iters=4), S.CosineAnnealingLR(o, T_max=6), S.ExponentialLR(o, gamma=0.5)], milestones=[4, 10]), {})
    ],
}

path = pathlib.Path(__file__).with_name("reference-optim.json.gz")
with gzip.GzipFile(path, "wb", mtime=0) as file:
    file.write(json.dumps({"torch": torch.__version__, "optimizers": optimizers, "lbfgs": lbfgs, "schedules": schedules}).encode())
print(path.name, path.stat().st_size, "bytes")
