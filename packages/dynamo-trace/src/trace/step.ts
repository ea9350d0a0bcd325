/**
 * @file Steps of a trace, and the trie that the traces of one function form.
 *
 * A `TrieNode` holds the steps that may come next: one, unless traces of the function diverge there. Slots number
 * the tensors of a segment, inputs from outside and results of operators; scalars number its run-time scalars. Steps
 * are data: what is done with each kind is in `events/`.
 */
import type { TreeSpec } from '@tessera/shared';
import {
  type DeviceType,
  type DType,
  type OpOverload,
  type Storage,
  type Tensor,
} from '@tessera/tensor';
import { GENERATOR_MEMORY } from '@tessera/tensor/internal';
import type { BreakReason } from '../breaks/graph-breaks.js';
import type { StepRule } from '../dynamic/step-rule.js';
import type { Frame } from '../frame/frame.js';
import type { EntryPoint } from './entry-point.js';
import type { Segment } from './segment.js';
import { type Pattern, integersOf, slotsOf } from './pattern.js';

/** The steps that may come next, the latest first. */
export interface TrieNode {
  readonly steps: Step[];
}

/**
 * A node behind which nothing is known. All are made here: the engine learns what lists of steps hold, so that those of a
 * new function are of the kind that optimised code has met.
 */
export function newNode(): TrieNode {
  return { steps: [] };
}

/** A result of an op: a new tensor, or one that exists (`same`). */
export interface OutSpec {
  readonly slot: number;
  /** The op returned the tensor in `slot` itself (in-place op, no-op composite). */
  readonly same: boolean;
  readonly dtype: DType;
  readonly device: DeviceType;
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
  readonly rule: StepRule;
  /** Makes one new tensor, and nothing else has to be looked at to match it than its arguments. */
  readonly isPlain: boolean;
  /** No symbol reaches it: it makes the same at all sizes. */
  readonly isStatic: boolean;
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
  /** Where some do, for each that is written to: the first of those that is a view of the same tensor. */
  readonly families: readonly number[];
  /** User's source line. */
  readonly location: string | null;
  /** Grad mode in which it ran. */
  readonly gradMode: boolean;
  /** Its results are the gradients that a `backward()` gives: to `all` leaves that it reaches, or to those that were named. */
  readonly gives: 'all' | 'named' | null;
  /** Numbers of the recorded calls that walked here. */
  readonly calls: number[];
  /** Somebody watches gradients of what it makes: the graph ends behind it. */
  isWatched: boolean;
  readonly next: TrieNode;
}

/** What a jump over a region needs; null where the region must be matched step by step. */
export interface RegionJump {
  /** Tensors that the region leaves behind: those of its result that it made. */
  readonly produced: readonly OutSpec[];
  /** Leaves of the result, and its structure. */
  readonly leaves: readonly Pattern[];
  readonly spec: TreeSpec;
  /** The region and the steps inside, for handing a diverged replay to a recorder. */
  readonly steps: readonly Step[];
  /** No symbol reaches any of them. */
  readonly isStatic: boolean;
  readonly exit: TrieNode;
}

/** A trusted region: `next` leads inside, `jump.exit` behind it. Without a jump it is transparent. */
export interface RegionStep {
  readonly kind: 'region';
  /** Class of the owner: any instance will do whose inputs fit. */
  readonly ownerClass: unknown;
  readonly name: string;
  /** Grad mode in which it was entered. */
  readonly gradMode: boolean;
  /** Leaves of the inputs, in flattening order. */
  readonly inputs: readonly Pattern[];
  jump: RegionJump | null;
  /** Numbers of the recorded calls that walked here. */
  readonly calls: number[];
  readonly next: TrieNode;
}

/** The recorded ops are run here because a value was needed: a graph break. */
export interface BreakStep {
  readonly kind: 'break';
  readonly segment: Segment;
  readonly reason: BreakReason;
  /** Grad mode in which the program goes on. */
  readonly gradMode: boolean;
  readonly next: EntryPoint;
}

/** The function returned. */
export interface ReturnStep {
  readonly kind: 'return';
  readonly segment: Segment;
}

/** See the file header. */
export type Step = OpStep | RegionStep | BreakStep | ReturnStep;

/** A step that makes tensors. */
export type MakingStep = OpStep | RegionStep;

/** Notes what the integers of a matched step were in a recorded call; -1: in none. */
export function observeStep(step: OpStep | RegionStep, call: number, frame: Frame): void {
  if (call < 0 || step.calls.includes(call)) return;
  step.calls.push(call);
  const patterns = step.kind === 'op' ? step.args : step.inputs;
  for (const int of patterns.flatMap(integersOf)) int.values.set(call, int.evaluate(frame.symbols));
}

/** Metadata of a tensor as a result in `slot`. */
export function specOf(tensor: Tensor, slot: number): OutSpec {
  return {
    slot,
    same: false,
    dtype: tensor.dtype,
    device: tensor.device,
    sizes: tensor.sizes,
    strides: tensor.strides,
    offset: tensor.storageOffset,
    requiresGrad: tensor.requiresGradFlag,
  };
}

/** Slots whose memory a step writes to or, with `reads`, reads; and whether it writes. */
export function* accesses(
  step: Step,
  reads = true,
): Iterable<readonly [slot: number, writes: boolean]> {
  if (step.kind !== 'op') return;
  for (const slot of step.written) yield [slot, true];
  if (!reads) return;
  for (const pattern of step.args) for (const slot of slotsOf(pattern)) yield [slot, false];
}

/** Whether a step draws random numbers. */
export function isRandom(step: Step): boolean {
  return step.kind === 'op' && step.op.hasTag('random');
}

/** Whether a matched step, which has not run yet, must do so before memory is read, or written. */
export function isDueBefore(
  step: Step,
  storage: Storage,
  writes: boolean,
  slots: Frame['slots'],
): boolean {
  if (storage === GENERATOR_MEMORY) return isRandom(step);
  for (const [slot] of accesses(step, writes))
    if (slots[slot]?.storageOrNull === storage) return true;
  return false;
}
