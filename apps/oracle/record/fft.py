"""Calls of Fourier transforms: PyTorch's with pairs in place of complex numbers. `python3 record/fft.py OUT`"""
import sys

import torch
from recorder import Recorder

torch.manual_seed(0)
r = Recorder()
TAKES_REAL = ("rfft", "rfft2", "rfftn", "ihfft")
GIVES_REAL = ("irfft", "irfft2", "irfftn", "hfft")


def record(name, x, **given):
    size, dims = ("n", "dim=-1") if name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") else ("s", "?")
    if dims == "?":
        dims = "int[1] dim=[-2,-1]" if name.endswith("2") else "int[1]? dim=None"
        schema = f"tessera::fft_{name}(Tensor self, SymInt[1]? s=None, {dims}, str? norm=None) -> Tensor"
        default = [-2, -1] if name.endswith("2") else None
    else:
        schema = f"tessera::fft_{name}(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"
        default = -1
    args = {"self": x, size: given.get(size), "dim": given.get("dim", default), "norm": given.get("norm")}

    def compute(self, **rest):
        value = self if name in TAKES_REAL else torch.view_as_complex(self.contiguous())
        out = getattr(torch.fft, name)(value, **rest)
        return out.contiguous() if name in GIVES_REAL else torch.view_as_real(out.resolve_conj().contiguous())

    r.call(schema, args, compute)


def signal(name, *sizes, dtype=torch.float64):
    return torch.randn(*sizes, dtype=dtype) if name in TAKES_REAL else torch.randn(*sizes, 2, dtype=dtype)


for dtype in (torch.float64, torch.float32):
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        # Powers of two, small primes, several factors, large primes.
        for n in (2, 3, 4, 8, 12, 37, 64, 97) if dtype == torch.float64 else (5, 37):
            record(name, signal(name, n, dtype=dtype))
        for norm in ("backward", "ortho", "forward"):
            record(name, signal(name, 3, 5, dtype=dtype), norm=norm)
        for n in (3, 8, 9, 1):
            record(name, signal(name, 2, 6, dtype=dtype), n=n)
        record(name, signal(name, 4, 3, dtype=dtype), dim=0)
        record(name, signal(name, 2, 5, 3, dtype=dtype), dim=-2, n=7, norm="ortho")
        record(name, signal(name, 0, 4, dtype=dtype))
    for name in ("fft2", "ifft2", "rfft2", "irfft2"):
        record(name, signal(name, 2, 4, 5, dtype=dtype))
        record(name, signal(name, 4, 6, dtype=dtype), s=[3, 8], norm="ortho")
        record(name, signal(name, 4, 3, 6, dtype=dtype), dim=[0, 2], norm="forward")
        record(name, signal(name, 4, 3, 6, dtype=dtype), dim=[2, 0])
    for name in ("fftn", "ifftn", "rfftn", "irfftn"):
        record(name, signal(name, 2, 3, 5, dtype=dtype))
        record(name, signal(name, 2, 3, 5, dtype=dtype), s=[4, 4])
        record(name, signal(name, 2, 3, 5, dtype=dtype), dim=[1], norm="ortho")

r.write(sys.argv[1])
