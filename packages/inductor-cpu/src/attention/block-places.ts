/**
 * @file `BlockPlaces`: where a block's scores, sums and the state of its softmax lie in scratch memory.
 */
import type { AttentionBlocks, AttentionKernel } from '@tessera/inductor-core';
import { extent } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { roundUp } from '../matmul/blocking.js';
import { plus, scaled, sum } from '../matmul/index-code.js';
import { elementType } from '../matmul/element-type.js';
import { pitchOf } from './attention-products.js';
import type { RowPlaces } from './row-softmax.js';

/** Bytes of what is packed of rows, one after the other, and of columns at once. */
export interface PackedBytes {
  readonly rows: readonly number[];
  readonly columns: number;
}

/** Offsets and distances are in bytes. */
export class BlockPlaces {
  /** Between rows of scores, and between the arrays of several scores or weights; the first one is at the beginning. */
  readonly scoreRow: number;
  readonly arrayBytes: number;
  /** Between rows of sums, and where those with each of the values are. */
  readonly sumRow: number;
  readonly sums: readonly number[];
  /** Where the largest logits are; what `apart` bytes behind each is the sum of the row. */
  readonly state: number;
  readonly apart: number;
  /** Packed rows of each score, then packed values of each column sum; behind them packed columns of one product at a time. */
  readonly packedRows: readonly number[];
  readonly packedColumns: number;
  readonly bytes: number;
  readonly #element: number;

  constructor(
    kernel: AttentionKernel<Size>,
    { rows, columns }: AttentionBlocks,
    packed: PackedBytes,
  ) {
    const { scores, weights, values, n, accDtype } = kernel;
    const { bytes } = elementType(accDtype)!;
    this.#element = bytes;
    this.scoreRow = pitchOf(columns, bytes);
    this.arrayBytes = rows * this.scoreRow;
    const sums = Math.max(scores.length, weights.length) * this.arrayBytes;
    this.sumRow = pitchOf(extent(n) as number, bytes);
    this.sums = values.map((_, q) => sums + q * rows * this.sumRow);
    this.state = sums + values.length * rows * this.sumRow;
    this.apart = (rows * bytes + 63) & ~63;
    let end = roundUp(this.state + 2 * this.apart, 64);
    this.packedRows = packed.rows.map((size) => {
      const at = end;
      end += roundUp(size, 64);
      return at;
    });
    this.packedColumns = end;
    this.bytes = end + packed.columns + 64;
  }

  /** Of a row by its position in the block, whose places begin at `base`. */
  ofRow(f: WasmFunction, base: Local<'i32'>, position: Local<'i32'>): RowPlaces {
    const place = (name: string, offset: number, distance: number): Local<'i32'> =>
      f.let(name, plus(sum(base, scaled(position, distance)), offset) as Code<'i32'>);
    return {
      state: place('state', this.state, this.#element),
      apart: this.apart,
      sums: place('sums', this.sums[0]!, this.sumRow),
      bytes: this.sumRow - 16 * this.#element,
    };
  }
}
