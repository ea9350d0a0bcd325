/**
 * @file Steps of a trace, and the trie that traces of one function form.
 *
 * A `Branch` holds the steps that may come next: one, unless traces of the function diverge there. A
 * replay holds a branch as its cursor. Slots number the tensors of a path: inputs from outside and
 * results of ops; scalars number its runtime scalars.
 */
import type { DType, OpOverload, Tensor } from '@tessera/tensor';
import type { BreakReason } from '../breaks/graph-breaks.js';
import type { Fetch, OwnerGuards } from '../guards/owner-guards.js';
import type { Segment } from './segment.js';
import {
  type Bindings,
  type ExternalPattern,
  type Pattern,
  type SlotPattern,
  observePattern,
} from './pattern.js';

/** How many slots and runtime scalars the traces of a function use; each new one takes the next number. */
export interface Numbering {
  slots: number;
  scalars: number;
}

/** The steps that may come next. */
export interface Branch {
  steps: Step[];
}

/** A result of an op: a new tensor, or one that exists (`same`). */
export interface OutSpec {
  readonly slot: number;
  /** The op returned the tensor in `slot` itself (in-place op, no-op composite). */
  readonly same: boolean;
  readonly dtype: DType;
  readonly device: string;
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  readonly requiresGrad: boolean;
}

/** One operator call. */
export interface OpStep {
  readonly kind: 'op';
  readonly op: OpOverload;
  readonly args: readonly Pattern[];
  /** Null where the op returned null. */
  readonly outs: readonly (OutSpec | null)[];
  /** Whether the op returns a list. */
  readonly isList: boolean;
  /** Slots of results that it has at other sizes only: a list may be longer there. */
  readonly spare: number[];
  /** Slots of the arguments that the op writes to. */
  readonly written: readonly number[];
  /** Slots of existing values that take gradients from here on. */
  readonly gaining: readonly number[];
  /** User's source line. */
  readonly location: string | null;
  /** Numbers of the captured calls that walked here. */
  readonly calls: number[];
  readonly next: Branch;
}

/** Grad mode was switched. */
export interface GradModeStep {
  readonly kind: 'grad-mode';
  readonly enabled: boolean;
  readonly next: Branch;
}

/** What a jump over a region needs; null where the region must be matched step by step. */
export interface RegionJump {
  readonly guards: OwnerGuards;
  /** Tensors of the owner that the region reads, and what they must be. */
  readonly fetch: Fetch;
  readonly implicit: readonly (SlotPattern | ExternalPattern)[];
  /** Tensors that the region leaves behind: its result and gradients it sets. */
  readonly produced: readonly OutSpec[];
  /** `.grad` assignments in order: tensor slot, value slot (-1: null). */
  readonly grads: readonly { readonly tensor: number; readonly value: number }[];
  /** The region and the steps inside, for handing a diverged replay to a capture. */
  readonly steps: readonly Step[];
  readonly exit: Branch;
}

/** A trusted region: `next` leads inside, `jump.exit` behind it. Without a jump it is transparent. */
export interface RegionStep {
  readonly kind: 'region';
  readonly owner: object;
  readonly name: string;
  /** Leaves of the inputs, in flattening order. */
  readonly inputs: readonly Pattern[];
  /** Leaves of the result, and how to rebuild it. */
  result: { readonly leaves: readonly Pattern[]; rebuild(leaves: unknown[]): unknown } | null;
  jump: RegionJump | null;
  /** Numbers of the captured calls that walked here. */
  readonly calls: number[];
  readonly next: Branch;
}

/** A captured `backward()`. */
export interface BackwardStep {
  readonly kind: 'backward';
  readonly roots: readonly Pattern[];
  readonly gradTensors: readonly Pattern[];
  /** Leaves that receive a gradient: where the leaf is, and its new `.grad` (null: accumulated by the inner steps). */
  leaves: {
    readonly leaf: number;
    readonly grad: OutSpec | null;
    readonly existing: SlotPattern | ExternalPattern | null;
  }[];
  /** Leaves given explicitly. */
  readonly inputs: readonly Pattern[] | null;
  readonly retainGraph: boolean;
  readonly createGraph: boolean;
  readonly next: Branch;
  /** Behind the accumulation steps. */
  exit: Branch;
}

/** The recorded ops are run here because a value was needed: a graph break. */
export interface FlushStep {
  readonly kind: 'flush';
  readonly segment: Segment;
  readonly reason: BreakReason;
  readonly location: string | null;
  readonly next: Branch;
}

/** The function returned. */
export interface ReturnStep {
  readonly kind: 'return';
  readonly segment: Segment;
}

/** See the file header. */
export type Step = OpStep | GradModeStep | RegionStep | BackwardStep | FlushStep | ReturnStep;

/** Steps that may come next, looking into regions that are not jumped. */
export function lookThrough(branch: Branch): Step[] {
  const found: Step[] = [];
  const branches = [branch];
  while (branches.length > 0) {
    for (const step of branches.pop()!.steps) {
      if (step.kind === 'region') branches.push(step.next);
      found.push(step);
    }
  }
  return found;
}

/** Notes what the integers of a matched step were in a captured call; -1: in none. */
export function observeStep(step: OpStep | RegionStep, call: number, run: Bindings): void {
  if (call < 0 || step.calls.includes(call)) return;
  step.calls.push(call);
  const patterns = step.kind === 'op' ? step.args : step.inputs;
  for (const pattern of patterns) observePattern(pattern, call, run);
}

/** Metadata of a tensor of this trace as a result. */
export function specOf(tensor: Tensor): OutSpec {
  return {
    slot: tensor.traceSlot,
    same: false,
    dtype: tensor.dtype,
    device: tensor.device,
    sizes: tensor.sizes,
    strides: tensor.strides,
    offset: tensor.storageOffset,
    requiresGrad: tensor.requiresGradFlag,
  };
}
