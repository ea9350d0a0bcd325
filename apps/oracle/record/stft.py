"""Calls of short-time Fourier transforms, with pairs in place of complex numbers. `python3 record/stft.py OUT`"""
import sys

import torch
from recorder import Recorder

torch.manual_seed(0)
r = Recorder()
SHARED = "int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True"
STFT = (
    f"tessera::stft(Tensor self, {SHARED}, str pad_mode=\"reflect\", bool normalized=False, bool? onesided=None, "
    "bool pairs=False) -> Tensor")
ISTFT = (
    f"tessera::istft(Tensor self, {SHARED}, bool normalized=False, bool? onesided=None, int? length=None, "
    "bool pairs=False) -> Tensor")
DEFAULTS = {"hop_length": None, "win_length": None, "window": None, "center": True, "normalized": False, "onesided": None, "pairs": False}


def stft(x, n_fft, **given):
    def compute(self, pairs, **rest):
        z = torch.view_as_complex(self) if pairs else self
        return torch.view_as_real(torch.stft(z, return_complex=True, **rest))

    r.call(STFT, {"self": x, "n_fft": n_fft, **DEFAULTS, "pad_mode": "reflect", **given}, compute)


def istft(z, n_fft, **given):
    def compute(self, pairs, **rest):
        out = torch.istft(torch.view_as_complex(self), return_complex=pairs, **rest)
        return torch.view_as_real(out) if pairs else out

    r.call(ISTFT, {"self": z, "n_fft": n_fft, **DEFAULTS, "length": None, **given}, compute)


def there_and_back(x, n_fft, pairs=False, pad_mode="reflect", **given):
    """A transform and the inverse of spectra that no signal has, which tells least squares from other answers."""
    stft(x, n_fft, pairs=pairs, pad_mode=pad_mode, **given)
    z = torch.view_as_complex(x) if pairs else x
    spectra = torch.stft(z, n_fft, pad_mode=pad_mode, return_complex=True, **given)
    changed = torch.view_as_real(spectra).contiguous()
    istft(changed + 0.1 * torch.randn_like(changed), n_fft, pairs=pairs, **given)


for dtype in (torch.float64, torch.float32):
    signal = torch.randn(2, 40, dtype=dtype)
    hann = torch.hann_window(8, dtype=dtype)
    there_and_back(signal[0], 8)
    there_and_back(signal, 8, window=hann)
    there_and_back(signal, 8, window=hann, normalized=True, hop_length=3)
    there_and_back(signal, 8, window=hann, onesided=False)
    there_and_back(signal, 9, win_length=6, window=torch.rand(6, dtype=dtype) + 0.5)
    there_and_back(signal, 9, win_length=4, hop_length=4)
    there_and_back(signal[0], 7, hop_length=2, window=torch.hamming_window(7, dtype=dtype), center=False)
    there_and_back(torch.randn(20, 2, dtype=dtype), 8, pairs=True)
    there_and_back(torch.randn(2, 20, 2, dtype=dtype), 6, pairs=True, window=torch.hann_window(6, dtype=dtype), normalized=True)
    for mode in ("constant", "replicate", "circular"):
        stft(signal, 8, window=hann, pad_mode=mode)
    stft(signal[0], 40, center=False)
    spectra = torch.randn(2, 5, 6, 2, dtype=dtype)
    for length in (1, 7, 10, 14, 20):
        istft(spectra, 8, window=hann, length=length)
    istft(spectra[0], 8, center=False, length=12)
    istft(torch.randn(8, 4, 2, dtype=dtype), 8, onesided=False)

r.write(sys.argv[1])
