/**
 * @file The reductions of the reference interpreter: those of `schedule/reductions`, with floats in float64.
 */
import type { DType } from '@tessera/tensor';
import type { ReduceOp } from './expr.js';
import { reductionOf } from '../schedule/reductions.js';
import { ReductionRun } from '../schedule/run-reduction.js';
import { REFERENCE_TARGET } from '../schedule/target-description.js';
import { isFloat, toComputeType } from './scalar-eval.js';

interface ResultCell {
  value: number;
}

/** One running reduction; `finish` writes its results to their cells. */
export class Accumulator {
  private readonly run: ReductionRun;
  private count = 0;

  /** Reduces values of `from` to results of `dtype`. */
  constructor(
    op: ReduceOp,
    from: DType,
    private readonly dtype: DType,
    private readonly results: readonly ResultCell[],
  ) {
    const exact = isFloat(from) ? 'float64' : from;
    this.run = new ReductionRun(reductionOf({ op, dtype: exact, target: REFERENCE_TARGET }));
    this.run.reset();
  }

  reset(): void {
    this.count = 0;
    this.run.reset();
  }

  add(x: number): void {
    this.run.add(x, this.count++);
  }

  finish(): void {
    this.run.part();
    this.run.finish().forEach((value, i) => {
      this.results[i]!.value = toComputeType(value, this.dtype);
    });
  }
}
