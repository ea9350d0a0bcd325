"""Records what PyTorch's Rprop, ASGD, further schedules and weight averages compute.

    apt-get install python3-torch && /usr/bin/python3 reference-more-optim.py

Writes reference-more-optim.json.gz beside this file (made with PyTorch 1.13, CPU).
"""

import gzip
import json
import pathlib

import torch
from torch import nn
from torch.optim import swa_utils

torch.manual_seed(3)
O = torch.optim
S = O.lr_scheduler


def camel(name):
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def data(tensor):
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype).replace("torch.", ""), "values": tensor.detach().double().flatten().tolist()}


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
    "Rprop": [optimizer_case(O.Rprop), optimizer_case(O.Rprop, lr=0.1, etas=(0.4, 1.5), step_sizes=(0.05, 0.2), maximize=True)],
    "ASGD": [
        optimizer_case(O.ASGD, lr=0.1),
        optimizer_case(O.ASGD, lr=0.1, lambd=0.01, alpha=0.5, t0=3, weight_decay=0.1, maximize=True),
    ],
}


def optimizer(momentum=0.0):
    return O.SGD([{"params": [nn.Parameter(torch.zeros(1))]}, {"params": [nn.Parameter(torch.zeros(1))], "lr": 0.3}], lr=0.1, momentum=momentum)


def schedule_case(make, options, epochs=14, momentum=0.0):
    o = optimizer(momentum)
    scheduler = make(o)
    rates = [[g["lr"] for g in o.param_groups]]
    momenta = [o.param_groups[0]["momentum"]]
    for _ in range(epochs):
        o.step()
        scheduler.step()
        rates.append([g["lr"] for g in o.param_groups])
        momenta.append(o.param_groups[0]["momentum"])
    return {"options": {camel(n): v for n, v in options.items()}, "rates": rates, "momenta": momenta}


def simple(kind, momentum=0.0, **options):
    return schedule_case(lambda o: kind(o, **options), options, momentum=momentum)


cycle = {"base_lr": [0.1, 0.2], "max_lr": 0.9, "step_size_up": 3, "cycle_momentum": False}
schedules = {
    "CyclicLR": [
        simple(S.CyclicLR, **cycle),
        simple(S.CyclicLR, mode="triangular2", step_size_down=2, **cycle),
        simple(S.CyclicLR, mode="exp_range", gamma=0.9, **cycle),
        simple(S.CyclicLR, momentum=0.9, base_lr=0.1, max_lr=0.5, step_size_up=4, base_momentum=0.7),
    ],
    "SWALR": [simple(swa_utils.SWALR, swa_lr=0.05, anneal_epochs=5), simple(swa_utils.SWALR, swa_lr=[0.05, 0.01], anneal_epochs=4, anneal_strategy="linear"), simple(swa_utils.SWALR, swa_lr=0.05, anneal_epochs=0)],
    "MultiplicativeLR": [schedule_case(lambda o: S.MultiplicativeLR(o, lambda epoch: 0.9 if epoch % 2 else 1.05), {})],
    "ChainedScheduler": [schedule_case(lambda o: S.ChainedScheduler([S.ConstantLR(o, factor=0.1, total_iters=2), S.ExponentialLR(o, gamma=0.9)]), {})],
}


def average_case(avg_fn):
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    averaged = swa_utils.AveragedModel(model, avg_fn=avg_fn)
    models = []
    for _ in range(4):
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(torch.randn_like(p))
            model[1].running_mean.normal_()
        averaged.update_parameters(model)
        models.append({n: data(t) for n, t in model.state_dict().items()})
    batches = [torch.randn(6, 2) for _ in range(3)]
    state = {n: data(t) for n, t in averaged.state_dict().items()}
    swa_utils.update_bn(batches, averaged)
    normed = {n: data(t) for n, t in averaged.state_dict().items()}
    return {"models": models, "state": state, "batches": [data(b) for b in batches], "normed": normed}


averages = {"swa": average_case(None), "ema": average_case(lambda average, value, _: 0.9 * average + 0.1 * value)}

path = pathlib.Path(__file__).with_name("reference-more-optim.json.gz")
with gzip.GzipFile(path, "wb", mtime=0) as file:
    file.write(json.dumps({"torch": torch.__version__, "optimizers": optimizers, "schedules": schedules, "averages": averages}).encode())
print(path.name, path.stat().st_size, "bytes")
