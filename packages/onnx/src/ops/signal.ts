/**
 * @file Fourier transforms as products with their matrix, and windows.
 *
 * ONNX writes complex numbers as a last dimension of size 2.
 */
import { type Tensor, arange, cat, matmul, stack, tensor } from '@tessera/tensor';
import { elementType } from '../model/element-types.js';
import type { NodeCall } from '../run/node-call.js';
import type { OnnxOperator, OperatorTable } from '../registry.js';
import { checkCount, inDType, range } from './like.js';

/** cos and sin of the angles of a transform, [length, frequencies]. */
function angles(
  call: NodeCall,
  length: number,
  frequencies: number,
  x: Tensor,
): readonly [cos: Tensor, sin: Tensor] {
  const matrix = (of: (angle: number) => number): Tensor =>
    tensor(
      range(length).map((i) =>
        range(frequencies).map((k) => of((2 * Math.PI * ((i * k) % length)) / length)),
      ),
      { dtype: x.dtype, device: call.device },
    );
  return [matrix(Math.cos), matrix(Math.sin)];
}

/** A dimension cut or filled up with zeros to a length. */
function ofLength(x: Tensor, length: number): Tensor {
  const own = x.shape.at(-1)!;
  if (own >= length) return x.narrow(-1, 0, length);
  return cat(
    [
      x,
      x
        .narrow(-1, 0, 1)
        .mul(0)
        .expand([...x.shape.slice(0, -1), length - own]),
    ],
    -1,
  );
}

/** The transform along the last dimension of a real and an imaginary part. */
export function transform(
  call: NodeCall,
  real: Tensor,
  imaginary: Tensor | null,
  frequencies: number,
  inverse: boolean,
): readonly [Tensor, Tensor] {
  const length = real.shape.at(-1)!;
  const [cos, sine] = angles(call, length, frequencies, real);
  const sin = inverse ? sine : sine.neg();
  const [a, b] = [matmul(real, cos), matmul(real, sin)];
  if (imaginary === null) return [a, b];
  return [a.sub(matmul(imaginary, sin)), b.add(matmul(imaginary, cos))];
}

function dft(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const axis = call.opset >= 20 ? (call.optionalNumbers(2)?.[0] ?? -2) : call.int('axis', 1);
  const dim = call.dim(axis, x.ndim);
  const [inverse, onesided] = [call.flag('inverse'), call.flag('onesided')];
  const parts = range(x.shape.at(-1)!).map((i) => x.select(-1, i).transpose(dim, -1));
  const half = inverse && onesided;
  const own = parts[0]!.shape.at(-1)!;
  const length = call.optionalNumbers(1)?.[0] ?? (half ? 2 * (own - 1) : own);
  const [re, im] = [parts[0]!, parts[1] ?? null];
  // Of a real signal half of the spectrum is the other half, mirrored.
  const mirrored = (part: Tensor, sign: number): Tensor => {
    const kept = ofLength(part, Math.floor(length / 2) + 1);
    const count = length - kept.shape.at(-1)!;
    return cat([kept, kept.narrow(-1, 1, count).flip([-1]).mul(sign)], -1);
  };
  const real = half ? mirrored(re, 1) : ofLength(re, length);
  const imaginary = im === null ? null : half ? mirrored(im, -1) : ofLength(im, length);
  const frequencies = onesided && !inverse ? Math.floor(length / 2) + 1 : length;
  const [a, b] = transform(call, real, imaginary, frequencies, inverse);
  const scale = inverse ? 1 / length : 1;
  const back = (part: Tensor): Tensor => part.mul(scale).transpose(dim, -1);
  return half ? back(a).unsqueeze(-1) : stack([back(a), back(b)], -1);
}

/** Transforms of windows of a signal [N, L] or [N, L, 1 or 2] → [N, windows, frequencies, 2]. */
function stft(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const step = call.number(1);
  const window = call.optional(2);
  const length = call.optionalNumbers(3)?.[0] ?? window?.shape[0] ?? call.fail('no frame_length');
  const parts = x.ndim === 2 ? [x] : range(x.shape[2]!).map((i) => x.select(-1, i));
  const frames = parts.map((part) => {
    const cut = part.unfold(1, length, step);
    return window === null ? cut : cut.mul(window);
  });
  const frequencies = call.flag('onesided', true) ? Math.floor(length / 2) + 1 : length;
  return stack(transform(call, frames[0]!, frames[1] ?? null, frequencies, false), -1);
}

/** Σ (-1)^k a_k cos(2πki / N), computed in float32. */
function cosineWindow(terms: readonly number[]): OnnxOperator {
  return (call) => {
    const size = call.number(0);
    const length = call.flag('periodic', true) ? size : size - 1;
    const at = arange(size, { dtype: 'float32', device: call.device }).mul((2 * Math.PI) / length);
    const sum = terms
      .map((term, k) =>
        k === 0
          ? at.mul(0).add(term)
          : at
              .mul(k)
              .cos()
              .mul(term * (-1) ** k),
      )
      .reduce((a, b) => a.add(b));
    return inDType(sum, elementType(call.int('output_datatype', 1))?.dtype ?? 'float32');
  };
}

/** Triangles over the frequencies of a transform, evenly apart in mel: [frequencies, triangles]. */
function melWeights(call: NodeCall): Tensor {
  const [count, length, rate] = [call.number(0), call.number(1), call.number(2)];
  const [low, high] = [call.number(3), call.number(4)];
  const frequencies = Math.floor(length / 2) + 1;
  checkCount(count * frequencies);
  const mel = (hertz: number): number => 2595 * Math.log10(1 + hertz / 700);
  const step = (mel(high) - mel(low)) / (count + 2);
  const points = range(count + 2).map((i) =>
    Math.floor(((length + 1) * 700 * (10 ** ((mel(low) + i * step) / 2595) - 1)) / rate),
  );
  const weight = (at: number, i: number): number => {
    const [left, top, right] = [points[i]!, points[i + 1]!, points[i + 2]!];
    if (at >= top && at < right) return (right - at) / (right - top);
    if (left === top) return at === top ? 1 : 0;
    return at >= left && at <= top ? (at - left) / (top - left) : 0;
  };
  const rows = range(frequencies).map((at) => range(count).map((i) => weight(at, i)));
  const dtype = elementType(call.int('output_datatype', 1))?.dtype ?? 'float32';
  return tensor(rows, { dtype, device: call.device });
}

/** Operators of the standard domain. */
export const signals: OperatorTable = {
  DFT: dft,
  STFT: stft,
  MelWeightMatrix: melWeights,
  HannWindow: cosineWindow([0.5, 0.5]),
  HammingWindow: cosineWindow([25 / 46, 21 / 46]),
  BlackmanWindow: cosineWindow([0.42, 0.5, 0.08]),
};
