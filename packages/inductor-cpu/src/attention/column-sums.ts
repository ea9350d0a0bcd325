/**
 * @file `ColumnSums`: sums over the rows of an attention kernel, which are added to where they are stored.
 *
 * A work item has all rows then, and its first block of rows, which reaches all columns, begins the sums.
 */
import {
  type AttentionKernel,
  type LinearForm,
  coefficientOf,
  extent,
} from '@tessera/inductor-core';
import { type Size, TesseraError, sizeMul } from '@tessera/shared';
import type { KernelOptions } from '../body/size-slots.js';
import { memory } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { flatStride, stridesOf } from '../matmul/flat-stride.js';
import type { BatchEntry } from '../matmul/gemm.js';
import { plusSize, scaledBy, sum } from '../matmul/index-code.js';
import { bufferParam, problemOf } from '../matmul/problem.js';

/** Where a column sum is stored: vectors along n, and a number of bytes from one step of the last column variable to the next. */
export interface ColumnPlace {
  readonly index: LinearForm;
  readonly rowBytes: number;
  readonly elementBytes: number;
  readonly parameter: number;
}

/** @throws kernel-missing when sums are not stored in vectors, as they are */
export function columnPlace(
  kernel: AttentionKernel<Size>,
  c: number,
  options: KernelOptions,
): ColumnPlace {
  const { j, n, m, params } = kernel;
  const { weight } = kernel.columnSums[c]!;
  const lines = { expr: kernel.weights[weight]!, lines: j };
  const { space, type } = problemOf(
    { kernel, depth: m, a: lines, b: { expr: kernel.columnSums[c]!.value, lines: n } },
    options.sizes,
  );
  const stmt = kernel.columnStores[c];
  const index =
    stmt?.kind === 'store' && stmt.value.kind === 'acc' ? stridesOf(space, stmt.index) : null;
  const step = index === null ? null : flatStride(index, j.slice(-1));
  const width = extent(n);
  if (
    stmt?.kind !== 'store' ||
    kernel.triangle === 'lower' ||
    index === null ||
    typeof step !== 'number' ||
    flatStride(index, n) !== 1 ||
    typeof width !== 'number' ||
    width % type.lanes !== 0
  )
    throw new TesseraError(
      'kernel-missing',
      `Attention '${kernel.name}' stores sums of columns in another way than vectors of rows, for which the CPU has no code.`,
      { context: { kernel: kernel.name } },
    );
  const parameter = params.indexOf(bufferParam(params, stmt.buf));
  return { index, rowBytes: step * type.bytes, elementBytes: type.bytes, parameter };
}

/** Address of the sums of a column, by the variables of j. */
export function columnAddress(
  f: WasmFunction,
  { index, elementBytes, parameter }: ColumnPlace,
  batch: BatchEntry,
  columns: ReadonlyMap<string, Local<'i32'>>,
  read: (size: Size) => Code<'i32'>,
): Local<'i32'> {
  const start = memory('i32.load', 4 * parameter, f.param('args'));
  let address = plusSize(start, sizeMul(index.constant, elementBytes), read);
  for (const [name, local] of [...batch.vars, ...columns]) {
    const stride = coefficientOf(index, name);
    if (stride !== 0) address = sum(address, scaledBy(local, sizeMul(stride, elementBytes), read));
  }
  return f.let('column_sums', address);
}
