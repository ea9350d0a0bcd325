/**
 * @file The modes with which `makeFx` listens to operators.
 *
 * `ProxyMode` sits below autograd and sees primitive ops; `PreDispatchProxyMode` sits above everything
 * and sees ops as they are called, composite ones included. Both run the op and record it.
 */
import {
  type DispatchMode,
  isTensor,
  type OpOverload,
  setGradEnabled,
  withDispatchMode,
} from '@tessera/tensor';
import {
  type BackwardCall,
  dispatchBelowAutograd,
  dispatchBelowPreDispatch,
  getOp,
  isKeptWhole,
  type PreDispatchMode,
  type RegionInputs,
  withPreDispatchMode,
} from '@tessera/tensor/internal';
import type { TraceRecorder } from './trace-recorder.js';

/** Replacements of operators by other operators while tracing; undefined keeps the op. */
export type DecompositionTable = ReadonlyMap<OpOverload, (args: readonly unknown[]) => unknown>;

/** What the graph calls: a tensor that changes its layout in place stands for the view from then on. */
function recordedOp(op: OpOverload): OpOverload {
  const { layoutOf } = op.record;
  return layoutOf === undefined ? op : getOp(layoutOf);
}

/** Records primitive operators. */
export class ProxyMode implements DispatchMode {
  readonly name = 'proxy';
  /** The op that is being decomposed, outermost. */
  private decomposing: OpOverload | undefined;

  constructor(
    private readonly recorder: TraceRecorder,
    private readonly decompositions: DecompositionTable,
  ) {}

  handle(op: OpOverload, args: readonly unknown[]): unknown {
    const decompose = this.decompositions.get(op);
    if (decompose !== undefined) {
      const result = this.decompose(op, args, () => decompose(args));
      if (result !== undefined) return result;
    }
    const { expand } = op.record;
    if (expand !== undefined && !isKeptWhole(op, args)) {
      const result = this.decompose(op, args, () => expand(op.bind(args)));
      if (result !== null) return result;
    }
    // Converted first: an in-place op makes its tensor stand for the new value.
    const recorded = args.map((arg) => this.recorder.argument(arg));
    const result = dispatchBelowAutograd(op, args);
    this.recorder.recordCall(recordedOp(op), recorded, result, this.decomposing);
    return result;
  }

  private decompose(op: OpOverload, args: readonly unknown[], run: () => unknown): unknown {
    const saved = this.decomposing;
    this.decomposing ??= op;
    try {
      const result = withDispatchMode(this, run);
      if (!op.isView) for (const made of [result].flat()) this.own(made, args);
      return result;
    } finally {
      this.decomposing = saved;
    }
  }

  /** A view of what only the decomposition knows is no view to whoever called the operator. */
  private own(made: unknown, args: readonly unknown[]): void {
    if (!isTensor(made) || made.base === null) return;
    const { storage } = made;
    if (args.flat().some((arg) => isTensor(arg) && arg.storage === storage)) return;
    made.base = null;
    made.madeAs = null;
    this.recorder.own(made);
  }
}

/** Records operators as they are called. */
export class PreDispatchProxyMode implements PreDispatchMode {
  readonly name = 'pre-dispatch proxy';

  constructor(private readonly recorder: TraceRecorder) {}

  handle(op: OpOverload, args: readonly unknown[]): unknown {
    const recorded = args.map((arg) => this.recorder.argument(arg));
    const result = withPreDispatchMode(null, () => dispatchBelowPreDispatch(op, args));
    this.recorder.recordCall(recordedOp(op), recorded, result);
    return result;
  }

  /** The engine runs; its ops are recorded one by one. */
  onBackward(_call: BackwardCall): boolean {
    return false;
  }

  onGradMode(enabled: boolean): void {
    this.recorder.recordEffect(setGradEnabled, [enabled]);
  }

  onRegion<R>(
    _owner: object,
    _name: string,
    inputs: RegionInputs,
    fn: (inputs: RegionInputs) => R,
  ): R {
    return fn(inputs);
  }

  onSetGrad(): void {}
}
