"""Records what PyTorch computes for the layers, optimizers and schedules of @tessera/nn.

    pip install torch && python reference.py

Writes reference.json.gz beside this file (made with PyTorch 2.13, CPU).
"""

import gzip
import json
import pathlib

import torch
from torch import nn

torch.manual_seed(0)


def data(tensor):
    dtype = str(tensor.dtype).removeprefix("torch.")
    return {"shape": list(tensor.shape), "dtype": dtype, "values": tensor.detach().double().flatten().tolist()}


def optimizer_case(make, options, steps=6):
    """`options` are camelCase, as the TypeScript test passes them."""
    params = [nn.Parameter(torch.randn(3, 4)), nn.Parameter(torch.randn(5))]
    grads = [[torch.randn(3, 4), torch.randn(5)] for _ in range(steps)]
    start = [data(p) for p in params]
    optimizer = make(params)
    after = []
    for step in range(steps):
        if step == 4:
            optimizer.param_groups[0]["lr"] *= 0.5
        for p, g in zip(params, grads[step]):
            p.grad = g.clone()
        optimizer.step()
        after.append([data(p) for p in params])
    state = {name: data(value) for name, value in optimizer.state[params[0]].items() if torch.is_tensor(value)}
    return {"options": options, "start": start, "grads": [[data(g) for g in gs] for gs in grads], "after": after, "state": state}


O = torch.optim
plain = {"foreach": False}
optimizers = {
    "SGD": [
        optimizer_case(lambda p: O.SGD(p, lr=0.1, **plain), {"lr": 0.1}),
        optimizer_case(lambda p: O.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-2, **plain), {"lr": 0.1, "momentum": 0.9, "weightDecay": 1e-2}),
        optimizer_case(lambda p: O.SGD(p, lr=0.1, momentum=0.9, dampening=0.3, **plain), {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
        optimizer_case(lambda p: O.SGD(p, lr=0.1, momentum=0.9, nesterov=True, maximize=True, **plain), {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ],
    "Adam": [
        optimizer_case(lambda p: O.Adam(p, lr=0.1, **plain), {"lr": 0.1}),
        optimizer_case(lambda p: O.Adam(p, lr=0.1, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.1, maximize=True, **plain), {"lr": 0.1, "betas": [0.8, 0.99], "eps": 1e-6, "weightDecay": 0.1, "maximize": True}),
        optimizer_case(lambda p: O.Adam(p, lr=0.1, amsgrad=True, **plain), {"lr": 0.1, "amsgrad": True}),
    ],
    "AdamW": [
        optimizer_case(lambda p: O.AdamW(p, lr=0.1, **plain), {"lr": 0.1}),
        optimizer_case(lambda p: O.AdamW(p, lr=0.1, weight_decay=0.2, amsgrad=True, **plain), {"lr": 0.1, "weightDecay": 0.2, "amsgrad": True}),
    ],
    "RMSprop": [
        optimizer_case(lambda p: O.RMSprop(p, lr=0.1, **plain), {"lr": 0.1}),
        optimizer_case(lambda p: O.RMSprop(p, lr=0.1, alpha=0.9, centered=True, momentum=0.5, weight_decay=0.1, **plain), {"lr": 0.1, "alpha": 0.9, "centered": True, "momentum": 0.5, "weightDecay": 0.1}),
        optimizer_case(lambda p: O.RMSprop(p, lr=0.1, maximize=True, **plain), {"lr": 0.1, "maximize": True}),
    ],
    "Adagrad": [
        optimizer_case(lambda p: O.Adagrad(p, lr=0.1, **plain), {"lr": 0.1}),
        optimizer_case(lambda p: O.Adagrad(p, lr=0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5, maximize=True, **plain), {"lr": 0.1, "lrDecay": 0.1, "weightDecay": 0.1, "initialAccumulatorValue": 0.5, "maximize": True}),
    ],
}


def schedule_case(make, options, epochs=12):
    optimizer = O.SGD([{"params": [nn.Parameter(torch.zeros(1))]}, {"params": [nn.Parameter(torch.zeros(1))], "lr": 0.3}], lr=0.1)
    scheduler = make(optimizer)
    rates = [[g["lr"] for g in optimizer.param_groups]]
    for _ in range(epochs):
        optimizer.step()
        scheduler.step()
        rates.append([g["lr"] for g in optimizer.param_groups])
    return {"options": options, "rates": rates}


S = O.lr_scheduler
schedules = {
    "StepLR": [schedule_case(lambda o: S.StepLR(o, step_size=3, gamma=0.5), {"stepSize": 3, "gamma": 0.5})],
    "CosineAnnealingLR": [schedule_case(lambda o: S.CosineAnnealingLR(o, T_max=5, eta_min=0.01), {"tMax": 5, "etaMin": 0.01})],
    "LinearLR": [
        schedule_case(lambda o: S.LinearLR(o), {}),
        schedule_case(lambda o: S.LinearLR(o, start_factor=1.0, end_factor=0.1, total_iters=8), {"startFactor": 1.0, "endFactor": 0.1, "totalIters": 8}),
    ],
    "LambdaLR": [schedule_case(lambda o: S.LambdaLR(o, lambda epoch: 0.9**epoch), {})],
}


def layer_case(kind, args, module, *inputs, train=True):
    """Forward and backward of one module; `args` are what the TypeScript constructor takes."""
    module.train(train)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.randn_like(p) * 0.5)
    state = {name: data(value) for name, value in module.state_dict().items()}
    inputs = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    output = module(*inputs)
    cotangent = torch.randn_like(output)
    output.backward(cotangent)
    return {
        "kind": kind,
        "args": args,
        "train": train,
        "state": state,
        "inputs": [data(x) for x in inputs],
        "output": data(output),
        "cotangent": data(cotangent),
        "inputGrads": [None if x.grad is None else data(x.grad) for x in inputs],
        "grads": {name: data(p.grad) for name, p in module.named_parameters() if p.grad is not None},
        "buffers": {name: data(b) for name, b in module.named_buffers()},
    }


r = torch.randn
bn = nn.BatchNorm2d(3)
bn.running_mean.normal_()
bn.running_var.uniform_(0.5, 2)
layers = [
    layer_case("Linear", [4, 3], nn.Linear(4, 3), r(2, 5, 4)),
    layer_case("Linear", [4, 3, {"bias": False}], nn.Linear(4, 3, bias=False), r(2, 4)),
    layer_case("Conv1d", [4, 6, 3, {"stride": 2, "padding": 1, "groups": 2}], nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), r(2, 4, 9)),
    layer_case("Conv2d", [3, 4, 3, {"padding": 1, "bias": False}], nn.Conv2d(3, 4, 3, padding=1, bias=False), r(2, 3, 6, 5)),
    layer_case("Conv2d", [4, 4, [3, 2], {"stride": [2, 1], "dilation": [1, 2], "groups": 4}], nn.Conv2d(4, 4, (3, 2), stride=(2, 1), dilation=(1, 2), groups=4), r(2, 4, 7, 6)),
    layer_case("Conv2d", [2, 3, 4, {"padding": "same"}], nn.Conv2d(2, 3, 4, padding="same"), r(1, 2, 6, 6)),
    layer_case("Conv2d", [2, 3, 3, {"padding": "valid"}], nn.Conv2d(2, 3, 3, padding="valid"), r(2, 6, 6)),
    layer_case("BatchNorm1d", [4], nn.BatchNorm1d(4), r(6, 4)),
    layer_case("BatchNorm1d", [4, {"affine": False, "momentum": 0.3}], nn.BatchNorm1d(4, affine=False, momentum=0.3), r(3, 4, 5)),
    layer_case("BatchNorm2d", [3, {"momentum": None}], nn.BatchNorm2d(3, momentum=None), r(2, 3, 4, 4)),
    layer_case("BatchNorm2d", [3], bn, r(2, 3, 4, 4), train=False),
    layer_case("BatchNorm2d", [3, {"trackRunningStats": False}], nn.BatchNorm2d(3, track_running_stats=False), r(2, 3, 4, 4), train=False),
    layer_case("LayerNorm", [[3, 4], {"eps": 1e-3}], nn.LayerNorm((3, 4), eps=1e-3), r(2, 3, 4)),
    layer_case("LayerNorm", [5, {"bias": False}], nn.LayerNorm(5, bias=False), r(3, 5)),
    layer_case("RMSNorm", [5], nn.RMSNorm(5), r(2, 3, 5)),
    layer_case("GroupNorm", [2, 4], nn.GroupNorm(2, 4), r(2, 4, 3, 3)),
    layer_case("Embedding", [5, 3, {"paddingIdx": 1}], nn.Embedding(5, 3, padding_idx=1), torch.tensor([[0, 1, 4], [2, 1, 0]])),
    layer_case("ReLU", [], nn.ReLU(), r(3, 4)),
    layer_case("GELU", [], nn.GELU(), r(3, 4)),
    layer_case("GELU", [{"approximate": "tanh"}], nn.GELU(approximate="tanh"), r(3, 4)),
    layer_case("SiLU", [], nn.SiLU(), r(3, 4)),
    layer_case("Tanh", [], nn.Tanh(), r(3, 4)),
    layer_case("Sigmoid", [], nn.Sigmoid(), r(3, 4)),
    layer_case("LeakyReLU", [0.2], nn.LeakyReLU(0.2), r(3, 4)),
    layer_case("ELU", [0.5], nn.ELU(0.5), r(3, 4)),
    layer_case("Softplus", [2, 1], nn.Softplus(2, 1), r(3, 4)),
    layer_case("Hardswish", [], nn.Hardswish(), r(3, 4) * 3),
    layer_case("Mish", [], nn.Mish(), r(3, 4)),
    layer_case("Softmax", [1], nn.Softmax(1), r(3, 4)),
    layer_case("LogSoftmax", [-1], nn.LogSoftmax(-1), r(3, 4)),
    layer_case("Flatten", [], nn.Flatten(), r(2, 3, 4)),
    layer_case("Unflatten", [1, [2, 3]], nn.Unflatten(1, (2, 3)), r(2, 6)),
    layer_case("Identity", [], nn.Identity(), r(2, 6)),
    layer_case("Dropout", [0.5], nn.Dropout(0.5), r(2, 6), train=False),
    layer_case("MaxPool2d", [2], nn.MaxPool2d(2), r(2, 3, 6, 6)),
    layer_case("MaxPool2d", [3, {"stride": 2, "padding": 1, "ceilMode": True}], nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True), r(1, 2, 7, 6)),
    layer_case("AvgPool2d", [2], nn.AvgPool2d(2), r(2, 3, 6, 6)),
    layer_case("AvgPool2d", [3, {"stride": 2, "padding": 1, "countIncludePad": False}], nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False), r(1, 2, 7, 6)),
    layer_case("AdaptiveAvgPool2d", [1], nn.AdaptiveAvgPool2d(1), r(2, 3, 5, 4)),
    layer_case("AdaptiveAvgPool2d", [[2, None]], nn.AdaptiveAvgPool2d((2, None)), r(1, 2, 5, 4)),
    layer_case("CrossEntropyLoss", [{"labelSmoothing": 0.1, "ignoreIndex": 1}], nn.CrossEntropyLoss(label_smoothing=0.1, ignore_index=1), r(4, 3), torch.tensor([0, 1, 2, 0])),
    layer_case("NLLLoss", [{"reduction": "sum"}], nn.NLLLoss(reduction="sum"), r(4, 3), torch.tensor([0, 1, 2, 0])),
    layer_case("MSELoss", [], nn.MSELoss(), r(4, 3), r(4, 3)),
    layer_case("L1Loss", [{"reduction": "none"}], nn.L1Loss(reduction="none"), r(4, 3), r(4, 3)),
    layer_case("BCEWithLogitsLoss", [], nn.BCEWithLogitsLoss(), r(4, 3), torch.rand(4, 3)),
]


def attention_case(causal, mask):
    q, k, v = r(2, 2, 3, 4), r(2, 2, 3, 4), r(2, 2, 3, 4)
    out = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    return {"q": data(q), "k": data(k), "v": data(v), "mask": None if mask is None else data(mask), "causal": causal, "output": data(out)}


F = nn.functional
x = r(2, 3, 4)
functional = {
    "attention": [attention_case(False, None), attention_case(True, None), attention_case(False, torch.tensor([[1, 0, 1], [1, 1, 1], [0, 1, 1]]).bool()), attention_case(False, r(3, 3))],
    "normalize": {"x": data(x), "p2": data(F.normalize(x, dim=-1)), "p1": data(F.normalize(x, p=1.0, dim=1))},
    "pad": {"x": data(x), "constant": data(F.pad(x, (1, 2, 0, 1), value=5.0)), "negative": data(F.pad(x, (-1, 1)))},
    "oneHot": {"x": [0, 2, 1], "output": data(F.one_hot(torch.tensor([0, 2, 1]), 4))},
}


def clip_case(kind, *args, **options):
    params = [nn.Parameter(torch.zeros(3, 4)), nn.Parameter(torch.zeros(5))]
    grads = [r(3, 4), r(5)]
    for p, g in zip(params, grads):
        p.grad = g.clone()
    total = getattr(nn.utils, kind)(params, *args, **options)
    return {"grads": [data(g) for g in grads], "total": None if total is None else total.item(), "after": [data(p.grad) for p in params]}


clip = {
    "norm": clip_case("clip_grad_norm_", 1.0),
    "normInf": clip_case("clip_grad_norm_", 0.5, norm_type=float("inf")),
    "normLoose": clip_case("clip_grad_norm_", 100.0),
    "value": clip_case("clip_grad_value_", 0.5),
}

result = {"torch": torch.__version__, "optimizers": optimizers, "schedules": schedules, "layers": layers, "functional": functional, "clip": clip}
path = pathlib.Path(__file__).with_name("reference.json.gz")
with gzip.GzipFile(path, "wb", mtime=0) as file:
    file.write(json.dumps(result).encode())
print(path.name, path.stat().st_size, "bytes")
