/**
 * @file `VectorTarget`: a machine with short vectors and several cores that share nothing but memory, as far as
 * schedules must know it.
 */
import type { TargetDescription } from '../target-description.js';

/** See the file header. Vectors have four lanes, of 32 bits or two together of 64. */
export interface VectorTarget {
  readonly arithmetic: TargetDescription;
  /** Whether functions of float64 are computed for all lanes together. */
  readonly wideFunctions: boolean;
  /** Memory of a core for rows that are kept, in bytes. */
  readonly scratchBytes: number;
  /** As much of it is as near as any, in bytes. */
  readonly nearBytes: number;
  /** Rows of a tile of a product, and vectors of each: registers hold its sums beside what they are made of. */
  readonly tile: { readonly rows: number; readonly vectors: number };
  /** What a core keeps near of the operands of a product: bytes along columns times those along steps, and rows beside them. */
  readonly block: {
    readonly columnBytes: number;
    readonly stepBytes: number;
    readonly rows: number;
  };
}
