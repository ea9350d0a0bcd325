"""Exports the models of small-models.gz with PyTorch 1.13 (python3 make-small-models.py, in this folder).

Small ones, each for a corner of what exporters write: operators by family, layers, control flow, old opsets.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import randn

from archive import export, pack, safetensors

torch.manual_seed(0)


class Model(nn.Module):
    """A function over layers and parameters, which are its keywords."""

    def __init__(self, forward, **parts):
        super().__init__()
        self.function = forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def weight(*sizes):
    return nn.Parameter(randn(*sizes))


def unet(m, x):
    left = F.relu(m.down1(x))
    below = F.relu(m.down2(F.max_pool2d(left, 2)))
    return m.out(torch.cat([m.up(below), left], 1))


def index(m, x, i):
    return (x[:, 1:-1:2], x[..., -1], x.gather(1, i), x.scatter(1, i, m.w.expand(x.size(0), 3, 4)), x[:, i[0, :, 0]],
            torch.index_select(x, 1, i[0, :, 0]), torch.topk(x, 2, 1)[0], x.sort(1)[0], x.argmax(-1), x.flip(1),
            x.roll(1, 1), torch.tril(x), torch.triu(x, 1))


def reduce(m, x):
    x = x * m.w
    return (x.sum(1), x.mean((1, 2)), x.prod(1), x.amax(1), x.min(1)[0], x.std(1), x.var((0, 1)), x.norm(dim=1),
            x.norm(p=1, dim=1), x.logsumexp(1), x.cumsum(1), x.softmax(1), x.log_softmax(-1))


def pointwise(m, x):
    x = x * m.w
    positive = x.abs()
    return (positive.sqrt(), x.exp(), x.sin(), x.cos(), x.tan(), positive.clamp(max=.9).asin(), x.atan(), x.erf(),
            x.sign(), x.floor(), x.ceil(), x.round(), x.clamp(-.5, .5), x.pow(2), positive.pow(1.5), x.reciprocal(),
            torch.where(x > 0, x, m.w * x), x.masked_fill(x < 0, -1.), torch.remainder(x, .3), torch.fmod(x, .3),
            torch.maximum(x, m.w), positive.log1p(), torch.logical_and(x > 0, x < 1), torch.addcmul(x, x, x), 1 - x)


def shapes(m, x):
    return (x.view(x.size(0), -1), x.reshape(x.shape[0] * x.shape[1], x.shape[2]), x.permute(2, 0, 1),
            x.unsqueeze(1).expand(-1, 3, -1, -1), x.repeat(1, 2, 1), torch.stack([x, x], 1),
            torch.cat([x, x[:, :1]], 1), *x.split(2, 1), *x.chunk(3, 1), torch.ones_like(x), x.flatten(1),
            torch.zeros(x.shape[0], x.shape[1]) + x.sum(-1), torch.arange(x.size(1)).float() * m.w,
            F.pad(x, (1, 2)), F.pad(x, (1, 1), mode='reflect'), F.pad(x, (1, 1), mode='replicate'))


def pools(m, x):
    return (F.avg_pool2d(x, 3, 2, 1), F.max_pool2d(x, 3, 2, 1, ceil_mode=True), F.adaptive_avg_pool2d(x, 1),
            F.adaptive_max_pool2d(x, 1), F.lp_pool2d(x, 2, 2),
            F.avg_pool2d(x, 3, 2, 1, count_include_pad=False, ceil_mode=True), m.dilated(x))


def resize(m, x):
    x = x * m.w
    return (F.interpolate(x, scale_factor=2), F.interpolate(x, size=(7, 9), mode='bilinear'),
            F.interpolate(x, scale_factor=1.5, mode='bicubic', align_corners=False),
            F.interpolate(x, size=(7, 9), mode='bilinear', align_corners=True))


def grids(m, x, grid):
    return (F.grid_sample(x * m.w, grid, align_corners=False),
            F.grid_sample(x, grid, mode='nearest', align_corners=True, padding_mode='border'))


ACTIVATIONS = [nn.ELU(), nn.SELU(), nn.CELU(), nn.GELU(), nn.SiLU(), nn.Mish(), nn.Hardswish(), nn.Hardsigmoid(),
               nn.Softplus(), nn.Softsign(), nn.LeakyReLU(.1), nn.PReLU(), nn.LogSigmoid(), nn.Tanhshrink(),
               nn.Softshrink(), nn.Hardtanh(), nn.ReLU6(), nn.GLU(1)]


def inverted_residual(channels, out, stride, factor):
    wide = channels * factor
    return [nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, out, 1, bias=False), nn.BatchNorm2d(out)]


class Repeated(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        for _ in range(3):
            x = torch.tanh(self.layer(x))
        return x


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        if x.sum() > 0:
            y = self.left(x)
        else:
            y = self.right(x) * 2
        return y


class Decoder(nn.Module):
    """One layer of a GPT with tied weights, given keys and values of earlier tokens."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 16), nn.Embedding(32, 16)
        self.qkv, self.out, self.norm = nn.Linear(16, 48), nn.Linear(16, 16), nn.LayerNorm(16)
        self.head = nn.Linear(16, 50, bias=False)
        self.head.weight = self.tokens.weight
        self.register_buffer('mask', torch.tril(torch.ones(32, 32)).view(1, 1, 32, 32))

    def forward(self, ids, past):
        batch, length = ids.size()
        before = past.size(3)
        x = self.tokens(ids) + self.places(torch.arange(before, before + length).unsqueeze(0))
        q, k, v = [part.view(batch, length, 2, 8).transpose(1, 2) for part in self.qkv(self.norm(x)).split(16, 2)]
        k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        seen = self.mask[:, :, before:before + length, :before + length]
        scores = (q @ k.transpose(-2, -1) / math.sqrt(8)).masked_fill(seen == 0, float('-inf'))
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).contiguous().view(batch, length, 16)
        return self.head(x + self.out(mixed)), torch.stack([k, v])


class Vision(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation='gelu', norm_first=True)
        self.patches, self.token, self.places = nn.Conv2d(3, 16, 4, 4), weight(1, 1, 16), weight(1, 17, 16)
        self.layers, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(16, 5)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.layers(x)[:, 0])


CACHED = {'in0': {0: 'batch', 1: 'length'}, 'in1': {1: 'batch', 3: 'past'}}
SEQUENCE = {'in0': {0: 'length', 1: 'batch'}, 'in1': {1: 'batch'}, 'in2': {1: 'batch'}}
CASES = {
    'unet': (Model(unet, down1=nn.Conv2d(3, 8, 3, padding=1), down2=nn.Conv2d(8, 16, 3, padding=1),
                   up=nn.ConvTranspose2d(16, 8, 2, 2), out=nn.Conv2d(16, 2, 1)), (randn(2, 3, 16, 16),)),
    'pixel_shuffle': (Model(lambda m, x: F.pixel_shuffle(m.c(x), 2), c=nn.Conv2d(3, 12, 3, padding=1)),
                      (randn(2, 3, 8, 8),)),
    'convolutions': (Model(lambda m, x, y: (m.a(x), m.b(y), m.t(x), m.g(x)), a=nn.Conv1d(4, 6, 3, 2, 1),
                           b=nn.Conv3d(2, 3, 3, padding=1), t=nn.ConvTranspose1d(4, 3, 3, 2, 1, 1),
                           g=nn.Conv1d(4, 8, 3, groups=4)), (randn(2, 4, 9), randn(2, 2, 4, 5, 6))),
    'mobile': (nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), *inverted_residual(8, 8, 1, 2), *inverted_residual(8, 12, 2, 3),
                             nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 5)), (randn(2, 3, 16, 16),), 12),
    'squeeze_excite': (Model(lambda m, x: x * torch.sigmoid(m.b(F.relu(m.a(F.adaptive_avg_pool2d(x, 1))))),
                             a=nn.Conv2d(8, 2, 1), b=nn.Conv2d(2, 8, 1)), (randn(2, 8, 5, 5),)),
    'pools': (Model(pools, dilated=nn.Conv2d(3, 4, 3, dilation=2)), (randn(2, 3, 9, 9),)),
    'resize': (Model(resize, w=weight(1)), (randn(2, 3, 5, 6),)),
    'grid_sample': (Model(grids, w=weight(1)), (randn(2, 3, 5, 6), torch.rand(2, 4, 4, 2) * 2 - 1), 16),
    'norms': (nn.Sequential(nn.BatchNorm2d(8), nn.InstanceNorm2d(8, affine=True), nn.GroupNorm(2, 8)),
              (randn(2, 8, 6, 6),)),
    'activations': (Model(lambda m, x: tuple(a(m.l(x)) for a in m.a), l=nn.Linear(6, 6),
                          a=nn.ModuleList(ACTIVATIONS)), (randn(3, 6),)),
    'pointwise': (Model(pointwise, w=nn.Parameter(torch.tensor([.5]))), (randn(3, 4),)),
    'reduce': (Model(reduce, w=weight(1)), (randn(2, 6, 4),)),
    'index': (Model(index, w=weight(1, 3, 4)), (randn(2, 6, 4), torch.rand(2, 6, 4).argsort(1)[:, :3]), 14),
    'shapes': (Model(shapes, w=weight(1)), (randn(2, 6, 4),)),
    'einsum': (Model(lambda m, x, y: (torch.einsum('bij,bjk->bik', x, y), torch.einsum('bij,jk->bik', x, m.w),
                                      torch.bmm(x, y), x @ m.w), w=weight(4, 5)), (randn(2, 3, 4), randn(2, 4, 3))),
    'one_hot': (Model(lambda m, x: F.one_hot(x, 5).float() @ m.w, w=weight(5, 3)), (torch.randint(0, 5, (2, 3)),)),
    'embeddings': (Model(lambda m, i: m.e(i).sum(1) + m.b(i), e=nn.Embedding(10, 4, padding_idx=0),
                         b=nn.EmbeddingBag(10, 4, mode='mean')), (torch.randint(1, 10, (2, 3)),)),
    'loss': (Model(lambda m, x, t: F.cross_entropy(m.l(x), t), l=nn.Linear(6, 4)),
             (randn(5, 6), torch.randint(0, 4, (5,)))),
    'rnn': (Model(lambda m, x: m.r(x)[0], r=nn.RNN(6, 8, batch_first=True)), (randn(2, 5, 6),)),
    'gru': (nn.GRU(6, 8, 2, batch_first=True, bidirectional=True), (randn(2, 5, 6),)),
    'lstm_state': (Model(lambda m, x, h, c: m.r(x, (h, c)), r=nn.LSTM(6, 8)),
                   (randn(5, 2, 6), randn(1, 2, 8), randn(1, 2, 8)), 14, SEQUENCE),
    'attention': (Model(lambda m, x: m.a(x, x, x, need_weights=False)[0],
                        a=nn.MultiheadAttention(16, 4, batch_first=True)), (randn(2, 5, 16),)),
    'encoder_layer': (nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), (randn(2, 5, 16),), 14),
    'decoder_layer': (nn.TransformerDecoderLayer(16, 4, 32, batch_first=True), (randn(2, 5, 16), randn(2, 7, 16)), 14),
    'decoder_with_past': (Decoder(), (torch.randint(0, 50, (2, 4)), randn(2, 2, 2, 3, 8)), 14, CACHED),
    'vision': (Vision(), (randn(2, 3, 16, 16),), 14),
    'float16': (Model(lambda m, x: m.l(x.float()).half(), l=nn.Linear(4, 4)), (randn(2, 4).half(),), 14),
    'float64': (Model(lambda m, x: m.l(x).tanh(), l=nn.Linear(4, 4).double()), (randn(2, 4).double(),), 14),
    'opset9': (Model(lambda m, x: F.interpolate(m.c(x), scale_factor=2, mode='nearest').mean((2, 3)),
                     c=nn.Conv2d(3, 4, 3)), (randn(2, 3, 8, 8),), 9),
    'opset11': (Model(lambda m, x: (m.c(x).flatten(1).unsqueeze(0), x.clamp(min=0)), c=nn.Conv2d(3, 4, 3)),
                (randn(2, 3, 8, 8),), 11),
    'loop': (torch.jit.script(Repeated()), (randn(2, 4),)),
    'branch': (torch.jit.script(Branching()), (randn(2, 4),)),
    'found': (Model(lambda m, x: ((x * m.w)[x > 0], (x > 0).nonzero(), torch.unique(x.round())), w=weight(1)),
              (randn(3, 4),)),
}

tensors = {}
files = {}
for name, (model, inputs, *rest) in CASES.items():
    opset, axes = (rest + [None] * 2)[:2]
    files[f'{name}.onnx'] = export(name, model, inputs, opset or 13, axes, tensors)
files['models.safetensors'] = safetensors(tensors)
pack('small-models.gz', files)
