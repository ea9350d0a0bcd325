"""Records what PyTorch computes for every module of @tessera/nn that reference.py leaves out.

    pip install torch && python reference-modules.py [output folder]

Writes reference-modules.json.gz (made with PyTorch 2.13, CPU; the modules that are newer are written out with
its functions). A case holds what the TypeScript
constructor and `call` take; a tensor is {shape, dtype, values}.
"""

import gzip
import json
import pathlib
import sys

import torch
from torch import nn

torch.manual_seed(0)
r = torch.randn
F = nn.functional


def data(value):
    if torch.is_tensor(value):
        dtype = str(value.dtype).removeprefix("torch.")
        flat = value.detach().flatten()
        values = flat.tolist() if value.dtype in (torch.int64, torch.bool) else flat.double().tolist()
        values = [int(v) if isinstance(v, bool) else v for v in values]
        values = [v if v == v and abs(v) != float("inf") else str(v) for v in values]
        return {"shape": list(value.shape), "dtype": dtype, "values": values}
    if isinstance(value, (list, tuple)):
        return [data(v) for v in value]
    if isinstance(value, dict):
        return {k: data(v) for k, v in value.items()}
    return value


def tensors(value):
    if torch.is_tensor(value):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors(v)]
    return []


def fresh(value):
    if torch.is_tensor(value):
        copy = value.clone()
        return copy.requires_grad_() if copy.is_floating_point() else copy
    if isinstance(value, (list, tuple)):
        return tuple(fresh(v) for v in value)
    return value


# Newer versions fold equal neighbours and quote modes.
PRINTED_DIFFERENTLY = ("Transformer", "EmbeddingBag", "Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d")


def printed_alike(kind, module):
    return type(module).__module__.startswith("torch") and kind not in PRINTED_DIFFERENTLY


cases = []


def case(kind, args, module, *inputs, train=True, kwargs=None, options=None, same=False, leaves=99):
    """The first `leaves` inputs get gradients. `options` is the last argument of the TypeScript call, `kwargs` the same for Python.
    `same`: the first input is passed three times."""
    module.train(train)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.randn_like(p) * 0.5)
    state = {name: data(value) for name, value in module.state_dict().items()}
    given = [fresh(x) if n < leaves else x for n, x in enumerate(inputs)]
    output = module(*(given * 3 if same else given), **(kwargs or {}))
    outputs = tensors(output)
    wanted = [o for o in outputs if o.requires_grad]
    cotangents = [torch.randn_like(o) for o in wanted]
    if wanted:
        torch.autograd.backward(wanted, cotangents)
    cases.append({
        "kind": kind, "args": data(args), "train": train, "same": same, "state": state,
        "inputs": data([x.detach() if torch.is_tensor(x) else x for x in given]),
        "options": data(options),
        "outputs": data(outputs),
        "cotangents": [data(cotangents.pop(0)) if o.requires_grad else None for o in outputs],
        "inputGrads": [None if x.grad is None else data(x.grad) for x in tensors(given)],
        "grads": {name: data(p.grad) for name, p in module.named_parameters() if p.grad is not None},
        "buffers": {name: data(b) for name, b in module.named_buffers()},
        "repr": repr(module) if printed_alike(kind, module) else None,
    })


# Recurrent
case("RNN", [3, 4], nn.RNN(3, 4), r(5, 2, 3))
case("RNN", [3, 4, {"numLayers": 2, "nonlinearity": "relu", "bidirectional": True}], nn.RNN(3, 4, num_layers=2, nonlinearity="relu", bidirectional=True), r(4, 2, 3), r(4, 2, 4))
case("GRU", [3, 5, {"numLayers": 2, "batchFirst": True, "bidirectional": True}], nn.GRU(3, 5, num_layers=2, batch_first=True, bidirectional=True), r(2, 4, 3))
case("GRU", [3, 5], nn.GRU(3, 5), r(4, 3), r(1, 5))
case("GRU", [3, 5, {"bias": False}], nn.GRU(3, 5, bias=False), r(4, 2, 3))
case("LSTM", [3, 5], nn.LSTM(3, 5), r(4, 2, 3))
case("LSTM", [3, 5, {"numLayers": 2, "bidirectional": True, "projSize": 2}], nn.LSTM(3, 5, num_layers=2, bidirectional=True, proj_size=2), r(4, 2, 3), (r(4, 2, 2), r(4, 2, 5)))
case("LSTM", [3, 4, {"bias": False, "batchFirst": True}], nn.LSTM(3, 4, bias=False, batch_first=True), r(2, 3, 3), (r(1, 2, 4), r(1, 2, 4)))
case("LSTM", [3, 4, {"numLayers": 2, "dropout": 0.5}], nn.LSTM(3, 4, num_layers=2, dropout=0.5), r(4, 3), train=False)
case("RNNCell", [3, 4], nn.RNNCell(3, 4), r(2, 3), r(2, 4))
case("RNNCell", [3, 4, {"nonlinearity": "relu", "bias": False}], nn.RNNCell(3, 4, nonlinearity="relu", bias=False), r(3))
case("GRUCell", [3, 4], nn.GRUCell(3, 4), r(2, 3), r(2, 4))
case("GRUCell", [3, 4], nn.GRUCell(3, 4), r(3))
case("LSTMCell", [3, 4], nn.LSTMCell(3, 4), r(2, 3), (r(2, 4), r(2, 4)))
case("LSTMCell", [3, 4, {"bias": False}], nn.LSTMCell(3, 4, bias=False), r(3))

# Attention
pad_mask = torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 1]]).bool()
causal = torch.triu(torch.ones(4, 5), 2).bool()
A = nn.MultiheadAttention
case("MultiheadAttention", [4, 2], A(4, 2), r(3, 2, 4), same=True)
case("MultiheadAttention", [4, 2], A(4, 2), r(4, 2, 4), r(5, 2, 4), r(5, 2, 4), kwargs={"key_padding_mask": pad_mask, "attn_mask": causal}, options={"keyPaddingMask": pad_mask, "attnMask": causal})
case("MultiheadAttention", [4, 2], A(4, 2), r(4, 2, 4), r(5, 2, 4), r(5, 2, 4), kwargs={"key_padding_mask": pad_mask, "attn_mask": causal, "need_weights": False}, options={"keyPaddingMask": pad_mask, "attnMask": causal, "needWeights": False})
m = r(4, 4, 5)
case("MultiheadAttention", [4, 2, {"kdim": 3, "vdim": 6}], A(4, 2, kdim=3, vdim=6), r(4, 2, 4), r(5, 2, 3), r(5, 2, 6), kwargs={"attn_mask": m, "average_attn_weights": False}, options={"attnMask": m, "averageAttnWeights": False})
case("MultiheadAttention", [4, 2, {"addBiasKv": True, "addZeroAttn": True, "batchFirst": True}], A(4, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True), r(2, 4, 4), r(2, 5, 4), r(2, 5, 4), kwargs={"key_padding_mask": pad_mask, "attn_mask": causal}, options={"keyPaddingMask": pad_mask, "attnMask": causal})
case("MultiheadAttention", [4, 1, {"bias": False}], A(4, 1, bias=False), r(3, 4), r(5, 4), r(5, 4), kwargs={"need_weights": False}, options={"needWeights": False})
sq = nn.Transformer.generate_square_subsequent_mask(3)
case("MultiheadAttention", [4, 2, {"batchFirst": True}], A(4, 2, batch_first=True), r(2, 3, 4), same=True, kwargs={"attn_mask": sq, "need_weights": False}, options={"attnMask": sq, "isCausal": True, "needWeights": False})
E_, D_ = nn.TransformerEncoderLayer, nn.TransformerDecoderLayer
small = {"dimFeedforward": 6, "dropout": 0}
case("TransformerEncoderLayer", [4, 2, small], E_(4, 2, 6, 0.0), r(3, 2, 4))
case("TransformerEncoderLayer", [4, 2, {**small, "activation": "gelu", "normFirst": True, "batchFirst": True, "layerNormEps": 1e-3}], E_(4, 2, 6, 0.0, "gelu", 1e-3, True, True), r(2, 5, 4), kwargs={"src_key_padding_mask": pad_mask}, options={"srcKeyPaddingMask": pad_mask})
case("TransformerDecoderLayer", [4, 2, small], D_(4, 2, 6, 0.0), r(3, 2, 4), r(5, 2, 4), kwargs={"tgt_mask": sq, "memory_key_padding_mask": pad_mask}, options={"tgtMask": sq, "memoryKeyPaddingMask": pad_mask, "tgtIsCausal": True})
case("TransformerDecoderLayer", [4, 2, {**small, "normFirst": True}], D_(4, 2, 6, 0.0, norm_first=True), r(3, 2, 4), r(5, 2, 4))
case("Transformer", [{"dModel": 4, "nhead": 2, "numEncoderLayers": 2, "numDecoderLayers": 1, **small}], nn.Transformer(4, 2, 2, 1, 6, 0.0), r(5, 2, 4), r(3, 2, 4), kwargs={"tgt_mask": sq}, options={"tgtMask": sq})

# Linear and embeddings
case("Bilinear", [3, 4, 2], nn.Bilinear(3, 4, 2), r(5, 3), r(5, 4))
case("Bilinear", [3, 4, 2, {"bias": False}], nn.Bilinear(3, 4, 2, bias=False), r(2, 5, 3), r(2, 5, 4))
i = torch.tensor([1, 2, 4, 4, 0, 3])
case("EmbeddingBag", [5, 3], nn.EmbeddingBag(5, 3), i, torch.tensor([0, 2, 2]))
case("EmbeddingBag", [5, 3, {"mode": "sum"}], nn.EmbeddingBag(5, 3, mode="sum"), i.view(2, 3))
case("EmbeddingBag", [5, 3, {"mode": "sum"}], nn.EmbeddingBag(5, 3, mode="sum"), i, torch.tensor([0, 4]), r(6))
case("EmbeddingBag", [5, 3, {"mode": "max"}], nn.EmbeddingBag(5, 3, mode="max"), i, torch.tensor([0, 4]))
case("EmbeddingBag", [5, 3, {"paddingIdx": 4, "includeLastOffset": True}], nn.EmbeddingBag(5, 3, padding_idx=4, include_last_offset=True), i, torch.tensor([0, 3, 6]))
case("Embedding", [5, 3, {"scaleGradByFreq": True}], nn.Embedding(5, 3, scale_grad_by_freq=True), i)

# Convolutions
case("Conv3d", [2, 4, 2, {"stride": [1, 2, 1], "padding": 1, "groups": 2}], nn.Conv3d(2, 4, 2, stride=(1, 2, 1), padding=1, groups=2), r(1, 2, 3, 4, 3))
case("ConvTranspose1d", [4, 6, 3, {"stride": 2, "padding": 1, "outputPadding": 1, "groups": 2}], nn.ConvTranspose1d(4, 6, 3, 2, 1, 1, 2), r(2, 4, 5))
case("ConvTranspose2d", [3, 2, [3, 2], {"stride": [2, 1], "dilation": [1, 2], "bias": False}], nn.ConvTranspose2d(3, 2, (3, 2), stride=(2, 1), dilation=(1, 2), bias=False), r(2, 3, 4, 3))
case("ConvTranspose2d", [3, 2, 3, {"stride": 2}], nn.ConvTranspose2d(3, 2, 3, stride=2), r(1, 3, 3, 3), kwargs={"output_size": [8, 7]}, options=[8, 7])
case("ConvTranspose3d", [2, 2, 2, {"stride": 2}], nn.ConvTranspose3d(2, 2, 2, stride=2), r(1, 2, 2, 3, 2))
for mode in ("reflect", "replicate", "circular"):
    case("Conv1d", [2, 3, 3, {"padding": 2, "paddingMode": mode}], nn.Conv1d(2, 3, 3, padding=2, padding_mode=mode), r(2, 2, 5))
    case("Conv2d", [2, 3, [2, 3], {"padding": "same", "paddingMode": mode}], nn.Conv2d(2, 3, (2, 3), padding="same", padding_mode=mode), r(1, 2, 4, 5))
case("Unfold", [[2, 3], {"dilation": [2, 1], "padding": 1, "stride": [1, 2]}], nn.Unfold((2, 3), (2, 1), 1, (1, 2)), r(2, 3, 5, 6))
case("Fold", [[4, 5], 2, {"padding": 1, "stride": [1, 2]}], nn.Fold((4, 5), 2, padding=1, stride=(1, 2)), r(2, 8, 15))

# Pooling
case("MaxPool1d", [3, {"stride": 2, "padding": 1, "dilation": 2}], nn.MaxPool1d(3, 2, 1, 2), r(2, 3, 9))
case("MaxPool2d", [2, {"returnIndices": True}], nn.MaxPool2d(2, return_indices=True), r(1, 2, 4, 5))
case("MaxPool3d", [2, {"ceilMode": True}], nn.MaxPool3d(2, ceil_mode=True), r(1, 2, 3, 4, 5))
case("AvgPool1d", [3, {"stride": 2, "padding": 1, "countIncludePad": False, "ceilMode": True}], nn.AvgPool1d(3, 2, 1, True, False), r(2, 3, 8))
case("AvgPool3d", [[2, 1, 2], {"divisorOverride": 3}], nn.AvgPool3d((2, 1, 2), divisor_override=3), r(1, 2, 4, 3, 4))
case("AdaptiveAvgPool1d", [3], nn.AdaptiveAvgPool1d(3), r(2, 3, 8))
case("AdaptiveAvgPool3d", [[2, None, 1]], nn.AdaptiveAvgPool3d((2, None, 1)), r(1, 2, 3, 2, 4))
case("AdaptiveMaxPool1d", [3, {"returnIndices": True}], nn.AdaptiveMaxPool1d(3, return_indices=True), r(2, 3, 8))
case("AdaptiveMaxPool2d", [[2, None]], nn.AdaptiveMaxPool2d((2, None)), r(1, 2, 5, 3))
case("AdaptiveMaxPool3d", [2], nn.AdaptiveMaxPool3d(2), r(1, 2, 3, 4, 5))
case("LPPool1d", [2, 3, {"stride": 2}], nn.LPPool1d(2, 3, stride=2), r(2, 3, 9))
case("LPPool2d", [1.5, 2, {"ceilMode": True}], nn.LPPool2d(1.5, 2, ceil_mode=True), r(1, 2, 5, 5).abs())

# Normalisation
case("BatchNorm3d", [2, {"momentum": 0.3}], nn.BatchNorm3d(2, momentum=0.3), r(2, 2, 2, 3, 2))
case("InstanceNorm1d", [3], nn.InstanceNorm1d(3), r(2, 3, 5))
case("InstanceNorm2d", [3, {"affine": True, "trackRunningStats": True}], nn.InstanceNorm2d(3, affine=True, track_running_stats=True), r(2, 3, 4, 3))
case("InstanceNorm2d", [3, {"affine": True, "trackRunningStats": True}], nn.InstanceNorm2d(3, affine=True, track_running_stats=True), r(2, 3, 4, 3), train=False)
case("InstanceNorm3d", [2, {"affine": True}], nn.InstanceNorm3d(2, affine=True), r(2, 2, 2, 3, 2))
case("InstanceNorm1d", [3], nn.InstanceNorm1d(3), r(3, 5))
case("LocalResponseNorm", [3, {"alpha": 0.5, "beta": 0.7, "k": 2}], nn.LocalResponseNorm(3, 0.5, 0.7, 2.0), r(2, 5, 4, 3))

# Activations
for kind, args, module in [
    ("CELU", [1.5], nn.CELU(1.5)), ("ReLU6", [], nn.ReLU6()), ("SELU", [], nn.SELU()), ("Hardtanh", [-0.5, 0.8], nn.Hardtanh(-0.5, 0.8)),
    ("Hardsigmoid", [], nn.Hardsigmoid()), ("Hardshrink", [0.3], nn.Hardshrink(0.3)), ("Softshrink", [0.3], nn.Softshrink(0.3)),
    ("LogSigmoid", [], nn.LogSigmoid()), ("Softsign", [], nn.Softsign()), ("Tanhshrink", [], nn.Tanhshrink()), ("Threshold", [0.1, 20], nn.Threshold(0.1, 20)),
    ("PReLU", [], nn.PReLU()), ("PReLU", [4, {"init": 0.1}], nn.PReLU(4, init=0.1)), ("Softmin", [1], nn.Softmin(1)), ("GLU", [], nn.GLU()), ("RReLU", [0.1, 0.3], nn.RReLU(0.1, 0.3)),
]:
    case(kind, args, module, r(3, 4) * 2, train=kind != "RReLU")
case("Softmax2d", [], nn.Softmax2d(), r(2, 3, 2, 2))

# Shapes
case("PixelShuffle", [2], nn.PixelShuffle(2), r(1, 8, 2, 3))
case("PixelUnshuffle", [2], nn.PixelUnshuffle(2), r(1, 2, 4, 6))
case("ChannelShuffle", [2], nn.ChannelShuffle(2), torch.arange(24).view(1, 4, 2, 3))
U = nn.Upsample
case("Upsample", [{"scaleFactor": 2}], U(scale_factor=2), r(1, 2, 4))
case("Upsample", [{"size": [5, 7]}], U(size=(5, 7)), r(1, 2, 4, 3))
case("Upsample", [{"scaleFactor": 2, "mode": "linear"}], U(scale_factor=2, mode="linear"), r(1, 2, 4))
case("Upsample", [{"scaleFactor": [2, 1.5], "mode": "bilinear", "alignCorners": True}], U(scale_factor=(2, 1.5), mode="bilinear", align_corners=True), r(1, 2, 3, 4))
case("Upsample", [{"scaleFactor": 2, "mode": "bicubic"}], U(scale_factor=2, mode="bicubic"), r(1, 2, 3, 4))
case("Upsample", [{"size": [3, 4, 5], "mode": "trilinear"}], U(size=(3, 4, 5), mode="trilinear"), r(1, 2, 2, 3, 2))
case("Upsample", [{"scaleFactor": 2, "mode": "nearest-exact"}], U(scale_factor=2, mode="nearest-exact"), r(1, 2, 3, 4, 2))
case("UpsamplingNearest2d", [{"scaleFactor": 2}], nn.UpsamplingNearest2d(scale_factor=2), r(1, 2, 3, 4))
case("UpsamplingBilinear2d", [{"size": [5, 6]}], nn.UpsamplingBilinear2d(size=(5, 6)), r(1, 2, 3, 4))


class Padding(nn.Module):
    def __init__(self, pads, mode):
        super().__init__()
        self.pads, self.mode = pads, mode

    def forward(self, x):
        return F.pad(x, self.pads, mode=self.mode)


for n in (1, 2, 3):
    x = r(*([2, 2] + [4] * n))
    pads = [1, 2, 0, 1, 2, 1][: 2 * n]
    case(f"ConstantPad{n}d", [pads, 3.5], getattr(nn, f"ConstantPad{n}d")(tuple(pads), 3.5), x)
    for name, mode in {"ZeroPad": "constant", "ReflectionPad": "reflect", "ReplicationPad": "replicate", "CircularPad": "circular"}.items():
        case(f"{name}{n}d", [pads], Padding(tuple(pads), mode), x)
    case(f"ReplicationPad{n}d", [1], getattr(nn, f"ReplicationPad{n}d")(1), x)

# Distances and losses
case("CosineSimilarity", [{"dim": 1}], nn.CosineSimilarity(dim=1), r(3, 4, 2), r(3, 4, 2))
case("PairwiseDistance", [], nn.PairwiseDistance(), r(3, 4), r(3, 4))
case("PairwiseDistance", [{"p": 1, "keepdim": True}], nn.PairwiseDistance(p=1, keepdim=True), r(3, 4), r(3, 4))
labels = torch.tensor([0, 2, 1, 0])
signs = torch.tensor([1.0, -1.0, 1.0, -1.0])
weight = torch.rand(3)
lp = lambda: F.log_softmax(r(4, 3), 1)


def loss(kind, options, *inputs, python=None, leaves=1):
    for reduction in ("mean", "sum", "none"):
        python_options = {**(python if python is not None else options), "reduction": reduction}
        case(kind, [{**options, "reduction": reduction}], getattr(nn, kind)(**python_options), *inputs, leaves=leaves)


loss("NLLLoss", {"weight": weight, "ignoreIndex": 1}, lp(), labels, python={"weight": weight, "ignore_index": 1})
loss("CrossEntropyLoss", {"weight": weight, "labelSmoothing": 0.2}, r(4, 3), labels, python={"weight": weight, "label_smoothing": 0.2})
loss("CrossEntropyLoss", {"ignoreIndex": 2}, r(2, 3, 2), torch.tensor([[0, 1], [2, 1]]), python={"ignore_index": 2})
loss("CrossEntropyLoss", {"labelSmoothing": 0.1}, r(4, 3), r(4, 3).softmax(1), python={"label_smoothing": 0.1})
loss("BCELoss", {}, torch.rand(4, 3), torch.rand(4, 3))
loss("BCEWithLogitsLoss", {"weight": weight, "posWeight": torch.tensor([1.0, 2.0, 3.0])}, r(4, 3), torch.rand(4, 3), python={"weight": weight, "pos_weight": torch.tensor([1.0, 2.0, 3.0])})
loss("KLDivLoss", {}, lp(), lp().exp())
loss("KLDivLoss", {"logTarget": True}, lp(), lp(), python={"log_target": True})
case("KLDivLoss", [{"reduction": "batchmean"}], nn.KLDivLoss(reduction="batchmean"), lp(), lp().exp())
loss("HuberLoss", {"delta": 0.5}, r(4, 3), r(4, 3))
loss("SmoothL1Loss", {"beta": 0.5}, r(4, 3), r(4, 3))
loss("PoissonNLLLoss", {"full": True}, r(4, 3), torch.rand(4, 3) * 5)
loss("PoissonNLLLoss", {"logInput": False}, torch.rand(4, 3), torch.rand(4, 3) * 5, python={"log_input": False})
loss("GaussianNLLLoss", {"full": True}, r(4, 3), r(4, 3), torch.rand(4, 3), leaves=3)
loss("GaussianNLLLoss", {}, r(4, 3), r(4, 3), torch.rand(4, 1), leaves=3)
loss("SoftMarginLoss", {}, r(4), signs)
loss("HingeEmbeddingLoss", {"margin": 0.7}, r(4), signs)
loss("MarginRankingLoss", {"margin": 0.2}, r(4), r(4), signs, leaves=2)
loss("CosineEmbeddingLoss", {"margin": 0.2}, r(4, 3), r(4, 3), signs, leaves=2)
loss("MultiMarginLoss", {"weight": weight, "margin": 0.7}, r(4, 3), labels)
loss("MultiMarginLoss", {"p": 2}, r(4, 3), labels)
loss("MultiLabelMarginLoss", {}, r(2, 4), torch.tensor([[3, 0, -1, 1], [1, -1, 0, 2]]))
loss("MultiLabelSoftMarginLoss", {"weight": weight}, r(4, 3), torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1]]))
loss("TripletMarginLoss", {"margin": 0.5, "swap": True}, r(4, 3), r(4, 3), r(4, 3), leaves=3)
loss("TripletMarginLoss", {"p": 1}, r(4, 3), r(4, 3), r(4, 3), leaves=3)
loss("TripletMarginWithDistanceLoss", {"margin": 0.5, "swap": True}, r(4, 3), r(4, 3), r(4, 3), leaves=3)
loss("CTCLoss", {}, r(6, 2, 4).log_softmax(2), torch.tensor([[1, 2, 2], [3, 1, 0]]), torch.tensor([6, 5]), torch.tensor([3, 2]))
loss("CTCLoss", {"blank": 3, "zeroInfinity": True}, r(4, 2, 4).log_softmax(2), torch.tensor([0, 0, 0, 2, 1]), torch.tensor([4, 4]), torch.tensor([3, 2]), python={"blank": 3, "zero_infinity": True})

# Functional
functional = []


def fn(name, args, output):
    functional.append({"name": name, "args": data(args), "output": data(output)})


x1, x2, x3 = r(1, 2, 5), r(1, 2, 4, 5), r(1, 2, 3, 4, 2)
for x in (x1, x2, x3):
    n = x.dim() - 2
    modes = ["nearest", "nearest-exact", ("linear", "bilinear", "trilinear")[n - 1]] + (["bicubic"] if n == 2 else [])
    for mode in modes:
        fn("interpolate", [x, {"scaleFactor": 1.6, "mode": mode}], F.interpolate(x, scale_factor=1.6, mode=mode))
        fn("interpolate", [x, {"size": 3, "mode": mode}], F.interpolate(x, size=3, mode=mode))
        fn("interpolate", [x, {"scaleFactor": 1.6, "mode": mode, "recomputeScaleFactor": True}], F.interpolate(x, scale_factor=1.6, mode=mode, recompute_scale_factor=True))
        if "near" not in mode:
            fn("interpolate", [x, {"size": 3, "mode": mode, "alignCorners": True}], F.interpolate(x, size=3, mode=mode, align_corners=True))
    fn("interpolate", [x, {"scaleFactor": 0.5, "mode": "area"}], F.interpolate(x, scale_factor=0.5, mode="area"))
fn("interpolate", [x2, {"size": [2, 3], "mode": "bilinear", "antialias": True}], F.interpolate(x2, size=(2, 3), mode="bilinear", antialias=True))
for mode in ("constant", "reflect", "replicate", "circular"):
    fn("pad", [x2, [1, 2, 2, 1], {"mode": mode}], F.pad(x2, (1, 2, 2, 1), mode=mode))
    fn("pad", [x1, [2, 1], {"mode": mode}], F.pad(x1, (2, 1), mode=mode))


def attention(q, k, v, scale=None, causal=False):
    k, v = (t.repeat_interleave(q.size(1) // t.size(1), 1) for t in (k, v))
    scores = q @ k.transpose(-2, -1) * (scale or q.size(-1) ** -0.5)
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
    return scores.softmax(-1) @ v


q, k, v = r(2, 4, 3, 4), r(2, 2, 5, 4), r(2, 2, 5, 4)
fn("scaledDotProductAttention", [q, k, v, {"enableGqa": True}], attention(q, k, v))
fn("scaledDotProductAttention", [q, q, q, {"isCausal": True, "scale": 0.3}], attention(q, q, q, 0.3, True))
fn("oneHot", [torch.tensor([[0, 2], [1, 0]])], F.one_hot(torch.tensor([[0, 2], [1, 0]])))
fn("normalize", [x1, {"dim": -1}], F.normalize(x1, dim=-1))
fn("cosineSimilarity", [x1, x1 + 1, {"dim": 2}], F.cosine_similarity(x1, x1 + 1, dim=2))

folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
path = folder / "reference-modules.json.gz"
with gzip.GzipFile(path, "wb", mtime=0) as file:
    file.write(json.dumps({"torch": torch.__version__, "cases": cases, "functional": functional}).encode())
print(torch.__version__, len(cases), len(functional), path.stat().st_size, "bytes")
