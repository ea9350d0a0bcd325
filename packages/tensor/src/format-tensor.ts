/**
 * @file Printing tensors exactly as PyTorch does, but for the `torch.` of dtypes.
 *
 * @see torch/_tensor_str.py
 */
import { defaultDType } from './default-dtype.js';
import { type DType, isFloatingPoint } from './dtype.js';
import { formatExponential, formatFixed } from './format-number.js';
import { readExact } from './kernels/elements.js';
import { edgeitems, linewidth, precision, sciMode, threshold } from './print-options-state.js';
import { formatSizes, numelOf } from './shape.js';
import type { Tensor } from './tensor.js';

const PREFIX = 'tensor(';

/** `tensor([[1., 2.]], requires_grad=True)`. A lazy tensor is computed; values of other devices are not fetched. */
export function formatTensor(tensor: Tensor): string {
  const { state } = tensor.storage;
  const sizes = formatSizes(tensor.sizes);
  if (state === 'fake') return withSuffixes(`FakeTensor(..., size=${sizes}`, suffixesOf(tensor));
  if (state === 'released')
    return withSuffixes(`Tensor(disposed, size=${sizes}`, suffixesOf(tensor));
  if (tensor.device !== 'cpu')
    return withSuffixes(`Tensor(device='${tensor.device}', size=${sizes}`, suffixesOf(tensor));
  const suffixes = suffixesOf(tensor);
  if (numelOf(tensor.sizes) === 0) {
    if (tensor.ndim !== 1) suffixes.unshift(`size=(${tensor.sizes.join(', ')})`);
    return withSuffixes(`${PREFIX}[]`, suffixes);
  }
  return withSuffixes(PREFIX + formatBody(tensor), suffixes);
}

function suffixesOf(tensor: Tensor): string[] {
  const { dtype } = tensor;
  const suffixes: string[] = [];
  // An empty tensor does not show what it holds.
  const obvious =
    dtype === defaultDType() ||
    (numelOf(tensor.sizes) > 0 && (dtype === 'int64' || dtype === 'bool'));
  if (!obvious) suffixes.push(`dtype=${dtype}`);
  const fn = tensor.gradFn;
  if (fn !== null) suffixes.push(`grad_fn=<${fn.name}>`);
  else if (tensor.requiresGrad) suffixes.push('requires_grad=True');
  return suffixes;
}

/** Appends suffixes, on a new line where the last one is full. */
function withSuffixes(body: string, suffixes: readonly string[]): string {
  let text = body;
  let used = body.length - body.lastIndexOf('\n') + 1;
  for (const suffix of suffixes) {
    if (used + suffix.length + 2 > linewidth) {
      text += `,\n${' '.repeat(PREFIX.length)}${suffix}`;
      used = PREFIX.length + suffix.length;
    } else {
      text += `, ${suffix}`;
      used += suffix.length + 2;
    }
  }
  return `${text})`;
}

/** Positions of a dimension that are shown; -1 stands for those left out. */
function shownIndices(size: number, summarise: boolean): number[] {
  const all = (from: number, to: number): number[] =>
    Array.from({ length: to - from }, (_, i) => from + i);
  return summarise && size > 2 * edgeitems
    ? [...all(0, edgeitems), -1, ...all(size - edgeitems, size)]
    : all(0, size);
}

/** Nested brackets with PyTorch's line breaks and `...` for what is left out. */
function formatBody(tensor: Tensor): string {
  const { sizes, dtype } = tensor;
  const values = readExact(tensor);
  const summarise = values.length > threshold;
  const shown: number[] = [];
  const collect = (dim: number, offset: number): void => {
    if (dim === sizes.length) {
      shown.push(values[offset]!);
      return;
    }
    const step = numelOf(sizes.slice(dim + 1));
    for (const i of shownIndices(sizes[dim]!, summarise))
      if (i >= 0) collect(dim + 1, offset + i * step);
  };
  collect(0, 0);
  const { width, format } = elementFormat(shown, dtype);
  if (sizes.length === 0) return format(values[0]!);

  const walk = (dim: number, offset: number, indent: number): string => {
    const indices = shownIndices(sizes[dim]!, summarise);
    if (dim === sizes.length - 1) {
      const cells = indices.map((i) =>
        i < 0 ? (indices.length > 1 ? ' ...' : '...') : format(values[offset + i]!),
      );
      const perLine = Math.max(1, Math.floor((linewidth - indent) / (width + 2)));
      const lines: string[] = [];
      for (let i = 0; i < cells.length; i += perLine)
        lines.push(cells.slice(i, i + perLine).join(', '));
      return `[${lines.join(`,\n${' '.repeat(indent + 1)}`)}]`;
    }
    const step = numelOf(sizes.slice(dim + 1));
    const rows = indices.map((i) => (i < 0 ? '...' : walk(dim + 1, offset + i * step, indent + 1)));
    return `[${rows.join(`,${'\n'.repeat(sizes.length - dim - 1)}${' '.repeat(indent + 1)}`)}]`;
  };
  return walk(0, 0, PREFIX.length);
}

interface ElementFormat {
  readonly width: number;
  format(value: number): string;
}

/** The common notation of all elements: whole numbers `1.`, decimals, or scientific. */
function elementFormat(values: readonly number[], dtype: DType): ElementFormat {
  if (!isFloatingPoint(dtype)) {
    const plain = (value: number): string =>
      dtype === 'bool' ? (value !== 0 ? 'True' : 'False') : String(value);
    return padded(
      values.map((value) => plain(value).length),
      plain,
    );
  }
  const regular = values.filter((value) => Number.isFinite(value) && value !== 0);
  const sizes = regular.map(Math.abs);
  const max = sizes.reduce((a, b) => Math.max(a, b), 0);
  const min = sizes.reduce((a, b) => Math.min(a, b), Infinity);
  const whole = regular.every(Number.isInteger);
  const scientific =
    regular.length > 0 && (sciMode ?? (max / min > 1000 || max > 1e8 || (!whole && min < 1e-4)));
  const notation = (value: number): string =>
    scientific
      ? formatExponential(value, precision)
      : whole
        ? `${formatFixed(value, 0)}${Number.isFinite(value) ? '.' : ''}`
        : formatFixed(value, precision);
  return padded(
    regular.map((value) => notation(value).length),
    notation,
  );
}

function padded(lengths: readonly number[], format: (value: number) => string): ElementFormat {
  const width = lengths.reduce((a, b) => Math.max(a, b), 1);
  return { width, format: (value) => format(value).padStart(width) };
}
