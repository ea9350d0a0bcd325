/**
 * @file Printing tensors as PyTorch does.
 */
import { defaultDType } from './default-dtype.js';
import { readNumbers } from './kernels/elements.js';
import { formatSizes, numelOf } from './shape.js';
import type { Tensor } from './tensor.js';

const THRESHOLD = 1000;
const EDGE = 3;
const LINE_WIDTH = 80;

/** `tensor([[1., 2.]], requires_grad=True)`. A lazy tensor is computed; values of other devices are not fetched. */
export function formatTensor(tensor: Tensor): string {
  const suffix = suffixOf(tensor);
  const { state } = tensor.storage;

  if (state === 'fake') return `FakeTensor(..., size=${formatSizes(tensor.sizes)}${suffix})`;
  if (state === 'released') return `Tensor(disposed, size=${formatSizes(tensor.sizes)}${suffix})`;
  if (tensor.device !== 'cpu')
    return `Tensor(device='${tensor.device}', size=${formatSizes(tensor.sizes)}${suffix})`;
  const values = readNumbers(tensor);
  const body = formatBody(values, tensor.sizes, elementFormatter(values, tensor.dtype));
  const empty =
    numelOf(tensor.sizes) === 0 && tensor.ndim > 1 ? `, size=${formatSizes(tensor.sizes)}` : '';
  return `tensor(${body}${empty}${suffix})`;
}

function suffixOf(tensor: Tensor): string {
  let suffix = '';
  const plain =
    tensor.dtype === defaultDType() || tensor.dtype === 'int64' || tensor.dtype === 'bool';
  if (!plain) suffix += `, dtype=${tensor.dtype}`;
  const fn = tensor.gradFn;
  if (fn !== null) suffix += `, grad_fn=<${fn.name}>`;
  else if (tensor.requiresGrad) suffix += ', requires_grad=True';
  return suffix;
}

/** Picks the common notation of all elements: integers `1.`, fixed 4 digits, or scientific. */
function elementFormatter(values: Float64Array, dtype: string): (value: number) => string {
  if (dtype === 'bool') return padded(values, (value) => (value !== 0 ? 'True' : 'False'));
  if (!(dtype.startsWith('float') || dtype === 'bfloat16'))
    return padded(values, (value) => String(value));
  const finite = Array.from(values.slice(0, THRESHOLD))
    .filter((value) => Number.isFinite(value) && value !== 0)
    .map(Math.abs);
  const max = finite.reduce((a, b) => Math.max(a, b), 0);
  const min = finite.reduce((a, b) => Math.min(a, b), Infinity);
  const whole = finite.every((value) => Number.isInteger(value));
  const scientific =
    finite.length > 0 && (max / min > 1000 || max > 1e8 || min < 1e-4) && !(whole && max < 1e8);
  const special = (value: number): string | null =>
    Number.isNaN(value) ? 'nan' : value === Infinity ? 'inf' : value === -Infinity ? '-inf' : null;
  if (scientific) return padded(values, (value) => special(value) ?? exponential(value));
  if (whole) return padded(values, (value) => special(value) ?? `${value}.`);
  return padded(values, (value) => special(value) ?? value.toFixed(4));
}

function exponential(value: number): string {
  return value.toExponential(4).replace(/e([+-])(\d)$/, 'e$10$2');
}

function padded(
  values: Float64Array,
  format: (value: number) => string,
): (value: number) => string {
  let width = 0;
  for (const value of values.slice(0, THRESHOLD)) width = Math.max(width, format(value).length);
  return (value) => format(value).padStart(width);
}

/** Nested brackets with PyTorch's line breaks and `...` for long dimensions. */
function formatBody(
  values: Float64Array,
  sizes: readonly number[],
  format: (value: number) => string,
): string {
  if (sizes.length === 0) return format(values[0]!);
  const summarise = values.length > THRESHOLD;
  const walk = (dim: number, offset: number, indent: number): string => {
    const size = sizes[dim]!;
    const step = numelOf(sizes.slice(dim + 1));
    const cut = summarise && size > 2 * EDGE;
    const indices = cut ? [...range(0, EDGE), -1, ...range(size - EDGE, size)] : range(0, size);
    if (dim === sizes.length - 1) {
      const cells = indices.map((i) => (i < 0 ? '...' : format(values[offset + i]!)));
      return `[${wrapCells(cells, indent)}]`;
    }
    const rows = indices.map((i) => (i < 0 ? '...' : walk(dim + 1, offset + i * step, indent + 1)));
    const gap = `,${'\n'.repeat(sizes.length - dim - 1)}${' '.repeat(indent)}`;
    return `[${rows.join(gap)}]`;
  };
  return walk(0, 0, 'tensor('.length + 1);
}

function wrapCells(cells: readonly string[], indent: number): string {
  const width = Math.max(1, ...cells.map((cell) => cell.length));
  const perLine = Math.max(1, Math.floor((LINE_WIDTH - indent) / (width + 2)));
  const lines: string[] = [];
  for (let i = 0; i < cells.length; i += perLine)
    lines.push(cells.slice(i, i + perLine).join(', '));
  return lines.join(`,\n${' '.repeat(indent)}`);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}
