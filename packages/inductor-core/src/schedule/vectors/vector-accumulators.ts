/**
 * @file `VectorAccumulators`: the accumulators of a schedule for vectors, one for each reduction.
 */
import type { DType } from '@tessera/tensor';
import { isFloat } from '../../ir/scalar-eval.js';
import type { Accumulator } from '../kernel/scheduled-kernel.js';
import type { Reduction } from '../reduction.js';
import { reductionOf } from '../reductions.js';
import type { TargetDescription } from '../target-description.js';
import type { ReduceStmt } from '../two-passes.js';

const scanTargets = new WeakMap<TargetDescription, TargetDescription>();

/** A scan shows its state at every element, so NaN cannot stay in a register of its own. */
function forScans(target: TargetDescription): TargetDescription {
  let found = scanTargets.get(target);
  if (found === undefined) scanTargets.set(target, (found = { ...target, separateNan: false }));
  return found;
}

/** Scans of floats that round run in the widest float, as PyTorch's do on the CPU. */
function scanType({ op, dtype }: ReduceStmt, { widestFloat }: TargetDescription): DType {
  const rounds = op === 'sum' || op === 'prod';
  return rounds && isFloat(dtype) && dtype !== 'float64' ? widestFloat : dtype;
}

/** See the file header. */
export class VectorAccumulators {
  private readonly known = new Map<ReduceStmt, Accumulator>();

  constructor(
    private readonly target: TargetDescription,
    /** Whether sums settle, and whether whole vectors may follow a partial one. */
    private readonly loops: { readonly settles: boolean; readonly ragged: boolean },
  ) {}

  /** All of them, scans last. */
  get list(): readonly Accumulator[] {
    const all = [...this.known.values()];
    const isScan = ({ running }: Accumulator): boolean => running === true;
    return [...all.filter((each) => !isScan(each)), ...all.filter(isScan)];
  }

  /** The accumulator of a reduction; a scan that several passes need has one. */
  of(stmt: ReduceStmt): Accumulator {
    let found = this.known.get(stmt);
    if (found === undefined) this.known.set(stmt, (found = this.declare(stmt)));
    return found;
  }

  private declare(stmt: ReduceStmt): Accumulator {
    const { op, ids, dtype } = stmt;
    const name = `${op}.${ids[0]}`;
    if (stmt.running === true)
      return { name, reduction: this.scan(stmt), ids, dtype, running: true };
    const { settles, ragged } = this.loops;
    const reduction = reductionOf({ op, dtype: stmt.value.dtype, target: this.target, settles });
    return { name, reduction, ids, dtype, ...(ragged && { ragged }) };
  }

  private scan(stmt: ReduceStmt): Reduction {
    const dtype = scanType(stmt, this.target);
    return reductionOf({ op: stmt.op, dtype, target: forScans(this.target) });
  }
}
