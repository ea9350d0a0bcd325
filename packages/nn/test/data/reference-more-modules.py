"""Records what PyTorch computes for unpooling, fractional pooling, packed sequences, and the like.

    apt-get install python3-torch && /usr/bin/python3 reference-more-modules.py

Writes reference-more-modules.json.gz beside this file (made with PyTorch 1.13, CPU).
"""

import gzip
import json
import pathlib

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations, rnn

torch.manual_seed(5)


def data(tensor):
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype).replace("torch.", ""), "values": tensor.detach().double().flatten().tolist()}


def state_of(module):
    return {n: data(t) for n, t in module.state_dict().items()}


def grads_of(module):
    return {n: data(p.grad) for n, p in module.named_parameters() if p.grad is not None}


def unpool_case(rank, sizes, kernel, stride, padding, output_size=None):
    x = torch.randn(sizes)
    pool = getattr(F, f"max_pool{rank}d")
    y, indices = pool(x, kernel, stride, padding, return_indices=True)
    y = y.detach().requires_grad_()
    out = getattr(F, f"max_unpool{rank}d")(y, indices, kernel, stride, padding, output_size)
    cotangent = torch.randn_like(out)
    out.backward(cotangent)
    return {"rank": rank, "kernel": kernel, "stride": stride, "padding": padding, "outputSize": output_size, "input": data(y), "indices": data(indices), "output": data(out), "cotangent": data(cotangent), "grad": data(y.grad)}


unpool = [
    unpool_case(1, (2, 3, 8), 2, 2, 0),
    unpool_case(2, (2, 3, 8, 6), 2, 2, 0),
    unpool_case(2, (1, 2, 7, 9), 3, 3, 1, [7, 9]),
    unpool_case(3, (1, 2, 4, 4, 6), 2, 2, 0),
]


def fractional_case(rank, sizes, kernel, **options):
    x = torch.randn(sizes, requires_grad=True)
    samples = torch.rand(sizes[0], sizes[1], rank)
    out, indices = getattr(F, f"fractional_max_pool{rank}d_with_indices")(x, kernel, _random_samples=samples, **options)
    cotangent = torch.randn_like(out)
    out.backward(cotangent)
    names = {"output_size": "outputSize", "output_ratio": "outputRatio"}
    return {"rank": rank, "kernel": kernel, "options": {names[n]: v for n, v in options.items()}, "samples": data(samples), "input": data(x), "output": data(out), "indices": data(indices), "cotangent": data(cotangent), "grad": data(x.grad)}


fractional = [
    fractional_case(2, (2, 3, 9, 11), 2, output_size=[5, 6]),
    fractional_case(2, (2, 2, 10, 8), [3, 2], output_ratio=(0.5, 0.7)),
    fractional_case(3, (1, 2, 6, 7, 8), 2, output_size=[3, 4, 1]),
]


def adaptive_case(**options):
    module = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], **options)
    x = torch.randn(12, 8, requires_grad=True)
    target = torch.randint(0, 20, (12,))
    output, loss = module(x, target)
    loss.backward()
    return {"options": {"divValue": options.get("div_value", 4.0), "headBias": options.get("head_bias", False)}, "state": state_of(module), "input": data(x), "target": data(target), "output": data(output), "loss": loss.item(), "grad": data(x.grad), "grads": grads_of(module), "logProb": data(module.log_prob(x)), "predict": data(module.predict(x))}


adaptive = [adaptive_case(), adaptive_case(div_value=2.0, head_bias=True)]


def packed_case(kind, lengths, batch_first=False, **options):
    module = getattr(nn, kind)(3, 4, batch_first=batch_first, **options)
    x = torch.randn(*((len(lengths), max(lengths)) if batch_first else (max(lengths), len(lengths))), 3, requires_grad=True)
    packed = rnn.pack_padded_sequence(x, lengths, batch_first=batch_first, enforce_sorted=False)
    out, state = module(packed)
    padded, back = rnn.pad_packed_sequence(out, batch_first=batch_first, padding_value=-1.0)
    states = state if isinstance(state, tuple) else (state,)
    cotangents = [torch.randn_like(padded)] + [torch.randn_like(s) for s in states]
    torch.autograd.backward([padded, *states], cotangents)
    names = {"num_layers": "numLayers", "bidirectional": "bidirectional", "nonlinearity": "nonlinearity", "proj_size": "projSize"}
    return {"kind": kind, "batchFirst": batch_first, "options": {names[n]: v for n, v in options.items()}, "lengths": lengths, "state": state_of(module), "input": data(x), "packed": data(packed.data), "batchSizes": packed.batch_sizes.tolist(), "output": data(padded), "back": back.tolist(), "states": [data(s) for s in states], "cotangents": [data(c) for c in cotangents], "grad": data(x.grad), "grads": grads_of(module)}


packed = [
    packed_case("RNN", [2, 5, 3], nonlinearity="relu"),
    packed_case("GRU", [4, 4, 1, 3], batch_first=True, num_layers=2, bidirectional=True),
    packed_case("LSTM", [1, 6, 3], num_layers=2, bidirectional=True),
    packed_case("LSTM", [5, 2], proj_size=2),
]


def spectral_case(make, sizes, **options):
    module = parametrizations.spectral_norm(make(), **options)
    before = state_of(module)
    x = torch.randn(sizes)
    outputs = []
    for _ in range(2):
        out = module(x)
        out.square().sum().backward()
        outputs.append(data(out))
    after = state_of(module)
    module.eval()
    return {"transposed": isinstance(module, nn.ConvTranspose2d), "options": {"nPowerIterations": options.get("n_power_iterations", 1)}, "before": before, "input": data(x), "outputs": outputs, "after": after, "grads": grads_of(module), "evaluated": data(module(x))}


spectral = [spectral_case(lambda: nn.Linear(5, 4), (2, 5)), spectral_case(lambda: nn.ConvTranspose2d(2, 3, 2), (1, 2, 3, 3), n_power_iterations=2)]


def weight_case(dim):
    module = nn.utils.weight_norm(nn.Linear(5, 4), dim=dim)
    with torch.no_grad():
        module.weight_g.mul_(1.5)
    state = state_of(module)
    x = torch.randn(2, 5)
    out = module(x)
    out.square().sum().backward()
    return {"dim": dim, "state": state, "input": data(x), "output": data(out), "grads": grads_of(module)}


weight = [weight_case(0), weight_case(1), weight_case(None)]

path = pathlib.Path(__file__).with_name("reference-more-modules.json.gz")
with gzip.GzipFile(path, "wb", mtime=0) as file:
    file.write(json.dumps({"torch": torch.__version__, "unpool": unpool, "fractional": fractional, "adaptive": adaptive, "packed": packed, "spectral": spectral, "weight": weight}).encode())
print(path.name, path.stat().st_size, "bytes")
