/**
 * @file `useFourier`: code of its own for Fourier transforms on the CPU.
 *
 * Lengths whose only prime factors are 2, 3, 5 and 7 are transformed; rows are also a multiple of a vector long, with as many
 * numbers in each lane as there are lanes at least. Others stay what their records say they are: products of matrices.
 */
import { type Tensor, itemSize } from '@tessera/tensor';
import { type FftScale, fftFactor, keepWhole, numelOf } from '@tessera/tensor/internal';
import { type OperatorCode, registerOperatorCode } from '../runtime/operator-code.js';
import { ownFunction } from '../runtime/own-function.js';
import { withScratch } from '../runtime/with-scratch.js';
import { COLUMNS, type Columns, transformColumns } from './columns.js';
import { type FourierDType, STEP, lanesOf, pairBytes } from './complex-code.js';
import { ROWS, type RowKind, type Rows, transformRows } from './rows.js';
import { radicesOf, tablesFor } from './tables.js';

interface Transform {
  readonly self: Tensor;
  readonly dim: readonly number[];
  readonly normalization: FftScale;
}

interface Complex extends Transform {
  readonly forward: boolean;
}

interface Real extends Transform {
  readonly last_dim_size: number;
}

function isFourierDType(dtype: string): dtype is FourierDType {
  return dtype === 'float32' || dtype === 'float64';
}

/** Whether complex rows of a length have code. */
function hasRows(n: number, dtype: FourierDType): boolean {
  const lanes = lanesOf(dtype);
  const each = n / lanes;
  return Number.isInteger(each) && each >= lanes && radicesOf(each) !== null;
}

/** Whether complex numbers of the given sizes can be transformed along a dimension. */
function hasComplex(sizes: readonly number[], d: number, dtype: FourierDType): boolean {
  return numelOf(sizes.slice(d + 1)) === 1
    ? hasRows(sizes[d], dtype)
    : radicesOf(sizes[d]) !== null;
}

/** Whether a transform has code. @param spectrum the sizes of its complex side @param last the length of real rows, if there are such */
function hasCode(
  { self, dim }: Transform,
  spectrum: readonly number[],
  last: number | null,
): boolean {
  const { dtype } = self;
  if (self.device !== 'cpu' || self.numel === 0 || !isFourierDType(dtype)) return false;
  const complexDims = last === null ? dim : dim.slice(0, -1);
  if (!complexDims.every((d) => hasComplex(spectrum, d, dtype))) return false;
  if (last === null) return true;
  return (
    last % 2 === 0 && numelOf(spectrum.slice(dim.at(-1)! + 1)) === 1 && hasRows(last / 2, dtype)
  );
}

/** Numbers in memory. */
interface Place {
  readonly at: number;
  readonly dtype: FourierDType;
}

const placeOf = ({ storage, storageOffset, dtype }: Tensor): Place => ({
  at: storage.ptr + storageOffset * itemSize(dtype),
  dtype: dtype as FourierDType,
});

/** Transforms rows next to each other. @param n numbers of a row, real or complex */
function alongRows(
  kind: RowKind,
  n: number,
  rows: number,
  from: Place,
  to: Place,
  inverse: boolean,
  factor: number,
): void {
  const { dtype } = from;
  const h = kind === 'complex' ? n : n / 2;
  const pair = pairBytes(dtype);
  const [realRow, halfRow] = [h * pair, (h + 1) * pair];
  const { passes, join, combine } = tablesFor(dtype, kind, n);
  const run = ownFunction(`fourier rows ${kind} ${dtype} ${inverse}`, () =>
    transformRows(dtype, kind, inverse),
  );
  withScratch(3 * h * pair, (tile) => {
    const call: Rows = {
      from: from.at,
      fromRow: kind === 'halfToReal' ? halfRow : realRow,
      to: to.at,
      toRow: kind === 'realToHalf' ? halfRow : realRow,
      rows,
      passes,
      m: h / lanesOf(dtype),
      join,
      combine,
      tile,
      other: tile + h * pair,
      pairs: tile + 2 * h * pair,
    };
    run(...ROWS.map((name) => call[name]), factor);
  });
}

/** Transforms complex numbers along a dimension; both places may be one. */
function alongDim(
  sizes: readonly number[],
  d: number,
  from: Place,
  to: Place,
  inverse: boolean,
  factor: number,
): void {
  const { dtype } = from;
  const n = sizes[d];
  const planes = numelOf(sizes.slice(0, d));
  const inner = numelOf(sizes.slice(d + 1));
  if (inner === 1) {
    alongRows('complex', n, planes, from, to, inverse, factor);
    return;
  }
  const lanes = lanesOf(dtype);
  const run = ownFunction(`fourier columns ${dtype} ${inverse}`, () =>
    transformColumns(dtype, inverse),
  );
  withScratch(2 * n * STEP, (tile) => {
    const call: Columns = {
      from: from.at,
      to: to.at,
      step: inner * pairBytes(dtype),
      blocks: Math.floor(inner / lanes),
      rest: inner % lanes,
      planes,
      passes: tablesFor(dtype, 'columns', n).passes,
      n,
      tile,
      other: tile + n * STEP,
    };
    run(...COLUMNS.map((name) => call[name]), factor);
  });
}

/** Transforms complex numbers along some dimensions, the results in `to`. */
function alongDims(
  sizes: readonly number[],
  dims: readonly number[],
  from: Place,
  to: Place,
  inverse: boolean,
  factor: number,
): void {
  dims.forEach((d, i) =>
    alongDim(sizes, d, i === 0 ? from : to, to, inverse, i === 0 ? factor : 1),
  );
}

const spectrumOf = (self: Tensor): number[] => self.sizes.slice(0, -1);

/** Sizes of the half spectrum of real numbers. */
function halfOf({ self, dim }: Transform): number[] {
  return self.sizes.with(dim.at(-1)!, (self.sizes[dim.at(-1)!] >> 1) + 1);
}

const hasComplexCode = (args: Complex): boolean => hasCode(args, spectrumOf(args.self), null);
const hasRealCode = (args: Transform): boolean =>
  hasCode(args, halfOf(args), args.self.sizes[args.dim.at(-1)!]);
const hasHalfCode = (args: Real): boolean =>
  // Rows that have been cut or filled up.
  args.self.sizes[args.dim.at(-1)!] === (args.last_dim_size >> 1) + 1 &&
  hasCode(args, spectrumOf(args.self), args.last_dim_size);

const complexToComplex: OperatorCode<Complex> = (args, [out]) => {
  if (!hasComplexCode(args)) return false;
  const { self, dim, normalization, forward } = args;
  const sizes = spectrumOf(self);
  const factor = fftFactor(normalization, numelOf(dim.map((d) => sizes[d])));
  alongDims(sizes, dim, placeOf(self.contiguous()), placeOf(out), !forward, factor);
  return true;
};

const realToHalf: OperatorCode<Transform> = (args, [out]) => {
  if (!hasRealCode(args)) return false;
  const { self, dim, normalization } = args;
  const n = self.sizes[dim.at(-1)!];
  const factor = fftFactor(normalization, numelOf(dim.map((d) => self.sizes[d])));
  const to = placeOf(out);
  alongRows('realToHalf', n, self.numel / n, placeOf(self.contiguous()), to, false, factor);
  alongDims(halfOf(args), dim.slice(0, -1), to, to, false, 1);
  return true;
};

const halfToReal: OperatorCode<Real> = (args, [out]) => {
  if (!hasHalfCode(args)) return false;
  const { self, dim, normalization, last_dim_size: n } = args;
  const factor = fftFactor(normalization, numelOf(dim.map((d) => out.sizes[d])));
  const from = placeOf(self.contiguous());
  const rows = (source: Place): void =>
    alongRows('halfToReal', n, out.numel / n, source, placeOf(out), true, factor);
  if (dim.length === 1) rows(from);
  else
    withScratch(self.numel * itemSize(self.dtype), (at) => {
      const half = { ...from, at };
      alongDims(spectrumOf(self), dim.slice(0, -1), from, half, true, 1);
      rows(half);
    });
  return true;
};

/**
 * Gives transforms of `fft` WebAssembly of their own on the CPU, float32 and float64. Node does it from the start; a page that
 * transforms much calls this, and others do not download it.
 */
export function useFourier(): void {
  for (const [name, code, has] of [
    ['fft_c2c', complexToComplex, hasComplexCode],
    ['fft_r2c', realToHalf, hasRealCode],
    ['fft_c2r', halfToReal, hasHalfCode],
  ] as const) {
    registerOperatorCode(`tessera::${name}`, code);
    keepWhole(`tessera::${name}`, has as (args: object) => boolean);
  }
}
