/**
 * @file What lowering produces: buffers, and the nodes that compute them, before scheduling.
 *
 * A node computes whole buffers at the points of its own loop variables. Every load in a node's
 * expressions has known coordinates in its buffer (`Lowering.coordsOf`), which is what the scheduler
 * matches when it puts several nodes into one kernel. Modelled on inductor's `ComputedBuffer`,
 * `TemplateBuffer` and `ExternKernel`.
 */
import type { Size } from '@tessera/shared';
import type { DType, Tensor } from '@tessera/tensor';
import type { Combine, Expr, ReduceOp } from '../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../ir/index-expr.js';
import type { AttentionKernel, ExternArg, RecurrenceKernel } from '../ir/kernel.js';
import { recurrenceRoots } from '../ir/kernel-parts.js';
import { indexValues } from '../ir/walk.js';
import type { Shape } from './shape-math.js';

/** A run of memory with the layout of the tensor it holds. */
export interface IrBuffer {
  readonly name: string;
  readonly dtype: DType;
  readonly sizes: Shape;
  /** Settled when the buffer is made, or when an output asks for its recorded strides. */
  strides: Shape;
  readonly kind: 'input' | 'computed';
  /** Position among the plan's inputs; -1 for computed buffers. */
  readonly input: number;
  /** Position among the plan's outputs, or -1. */
  output: number;
  /** The memory as it was before the node that writes a part of it (`mutation` with `part`); null: it is new. */
  readonly before: IrBuffer | null;
}

/** The buffer in whose memory a buffer lies: itself, or what it was before all writes of parts. */
export function memoryOf(buffer: IrBuffer): IrBuffer {
  let memory = buffer;
  while (memory.before !== null) memory = memory.before;
  return memory;
}

/** Whose work a node does. */
export interface Work {
  /** Operators whose work is inside, in order. */
  readonly origins: readonly string[];
  /** Nodes of the graph whose work is inside, by name, in order. */
  readonly nodes: readonly string[];
}

/** `out[vars] = value`. The loop variables are the canonical ones of the buffer's sizes, or of a part's. */
export interface PointwiseNode extends Work {
  readonly kind: 'pointwise';
  readonly id: number;
  readonly out: IrBuffer;
  /**
   * Where an element goes if the node fills a part of the buffer; null: all of it. The rest is filled by other nodes, or
   * is what it was before.
   */
  readonly part: readonly IndexExpr[] | null;
  readonly vars: readonly SizedLoop[];
  /** Variables whose points follow each other in order, because several of them may name one place of the part. */
  readonly steps: readonly SizedLoop[];
  /** How points that name one place of the part combine with what was there; null: no two do, or they take steps. */
  readonly combine: Combine | null;
  readonly value: Expr;
  /**
   * The buffer is memory that is overwritten. Without a part, it is an argument, of which every other access reads the
   * old contents; with one, what was there before is the buffer `out.before`, and `out` is read after the write.
   */
  readonly mutation: boolean;
}

/**
 * `outs[vars] = reduce over inner of value`; `welford` and `online_softmax` fill two buffers. A running one fills
 * a buffer at every point: what the points up to it give, in the order of `inner`.
 */
export interface ReductionNode extends Work {
  readonly kind: 'reduction';
  readonly id: number;
  readonly op: ReduceOp;
  readonly running: boolean;
  /** Type of the results. */
  readonly dtype: DType;
  readonly outs: readonly IrBuffer[];
  readonly vars: readonly SizedLoop[];
  readonly inner: readonly SizedLoop[];
  /** All variables in the order of the reduced tensor's dimensions. */
  readonly order: readonly SizedLoop[];
  readonly value: Expr;
}

/** A matrix product over lists of variables; `coords` is where an element of `out` goes. */
export interface MatmulNode extends Work {
  readonly kind: 'matmul';
  readonly id: number;
  readonly out: IrBuffer;
  readonly coords: readonly IndexExpr[];
  readonly batch: readonly SizedLoop[];
  readonly m: readonly SizedLoop[];
  readonly n: readonly SizedLoop[];
  readonly k: readonly SizedLoop[];
  readonly a: Expr;
  readonly b: Expr;
  readonly accDtype: DType;
}

/** What an attention kernel computes, but for its parameters and stores. */
export type AttentionShape = Pick<
  AttentionKernel<Size>,
  | 'batch'
  | 'm'
  | 'j'
  | 'k'
  | 'n'
  | 'scores'
  | 'weights'
  | 'values'
  | 'columnSums'
  | 'softmax'
  | 'triangle'
  | 'accDtype'
>;

/** Where a result of attention goes. */
export interface PlacedResult {
  readonly out: IrBuffer;
  /** Over batch, m and n; of a row, without n. */
  readonly coords: readonly IndexExpr[];
}

/** See `AttentionKernel`: a buffer for each of its values and, with a softmax, one for log Σ exp of each row. */
export interface AttentionNode extends Work, AttentionShape {
  readonly kind: 'attention';
  readonly id: number;
  readonly results: readonly PlacedResult[];
  readonly row: PlacedResult | null;
  /** Of column sums: over batch, j and n. */
  readonly columns: readonly PlacedResult[];
  /** Of weights: over batch, m and j. */
  readonly kept: readonly (PlacedResult & { readonly weight: number })[];
}

/** What a recurrence kernel computes, but for its parameters and stores. */
export type RecurrenceShape = Pick<
  RecurrenceKernel<Size>,
  'batch' | 'step' | 'n' | 'k' | 'states' | 'vectors' | 'products' | 'accDtype'
>;

/** A value that a recurrence stores: over batch, step and n. */
export interface RecurrentResult extends PlacedResult {
  readonly value: Expr;
}

/** See `RecurrenceKernel`: buffers for what it stores at each step, and for states after the last one. */
export interface RecurrenceNode extends Work, RecurrenceShape {
  readonly kind: 'recurrence';
  readonly id: number;
  readonly results: readonly RecurrentResult[];
  readonly last: readonly RecurrentResult[];
}

/**
 * When a call with effects runs: in the order of such calls; `starts`: and as soon as it can; `waits`: as late as its
 * readers permit, in any order.
 */
export type EffectKind = 'ordered' | 'starts' | 'waits';

/** A call of a reference kernel. A result may be an argument, which it then overwrites. */
export interface ExternNode extends Work {
  readonly kind: 'extern';
  readonly id: number;
  readonly op: string;
  /** Null for calls that only compute their results. */
  readonly effect: EffectKind | null;
  readonly args: readonly ExternArg<Size>[];
  readonly reads: readonly IrBuffer[];
  readonly outs: readonly IrBuffer[];
}

/** One unit of scheduling. */
export type IrNode =
  PointwiseNode | ReductionNode | MatmulNode | AttentionNode | RecurrenceNode | ExternNode;

/** A runtime scalar of the plan. */
export interface IrScalar {
  readonly name: string;
  readonly dtype: DType;
}

/** How one entry of the graph's output is made. */
export type IrOutput<S extends Size = number> =
  | {
      readonly kind: 'tensor';
      readonly buffer: IrBuffer | null;
      readonly dtype: DType;
      readonly sizes: readonly S[];
      readonly strides: readonly S[];
    }
  /** Not computed: handed through as it is. */
  | { readonly kind: 'value'; readonly value: number | boolean | string | null };

/** A lowered graph. */
export interface LoweredGraph {
  readonly name: string;
  readonly nodes: readonly IrNode[];
  readonly inputs: readonly IrBuffer[];
  readonly scalars: readonly IrScalar[];
  readonly outputs: readonly IrOutput<Size>[];
  /** Constant tensors that the caller must append to the inputs, in order. */
  readonly liftedConstants: readonly Tensor[];
  /** Random operators in the graph: offsets that one run draws from the generator. */
  readonly randomCount: number;
}

/** The buffers that a node fills. */
export function nodeOutputs(node: IrNode): readonly IrBuffer[] {
  if (node.kind === 'attention') return placedResults(node).map(({ out }) => out);
  // Several values of a recurrence may be parts of one buffer.
  if (node.kind === 'recurrence') return [...new Set(placedResults(node).map(({ out }) => out))];
  return node.kind === 'pointwise' || node.kind === 'matmul' ? [node.out] : node.outs;
}

/** All results of attention or of a recurrence. */
export function placedResults(node: AttentionNode | RecurrenceNode): readonly PlacedResult[] {
  if (node.kind === 'recurrence') return [...node.results, ...node.last];
  const row = node.row === null ? [] : [node.row];
  return [...node.results, ...row, ...node.columns, ...node.kept];
}

/** Nodes by what they compute with. */
type Unplaced =
  | Pick<MatmulNode, 'kind' | 'a' | 'b'>
  | Pick<AttentionNode, 'kind' | 'scores' | 'weights' | 'values' | 'columnSums'>
  | Pick<RecurrenceNode, 'kind' | 'states' | 'vectors' | 'products' | 'results' | 'last'>
  | Pick<ExternNode, 'kind'>
  | Pick<PointwiseNode, 'kind' | 'value' | 'part'>
  | Pick<ReductionNode, 'kind' | 'value'>;

/** The expressions that a node computes with. */
export function nodeRoots(node: Unplaced): readonly Expr[] {
  switch (node.kind) {
    case 'extern':
      return [];
    case 'matmul':
      return [node.a, node.b];
    case 'attention':
      return attentionRoots(node);
    case 'recurrence':
      return [
        ...recurrenceRoots(node),
        ...[...node.results, ...node.last].map(({ value }) => value),
      ];
    case 'pointwise':
      return [...placeValues(node), node.value];
    case 'reduction':
      return [node.value];
  }
}

/** Run-time values that say where a node's elements go. */
export function placeValues({ part }: Pick<PointwiseNode, 'part'>): readonly Expr[] {
  return part === null ? [] : part.flatMap((coord) => indexValues(coord));
}

/** The expressions of attention. */
export function attentionRoots({
  scores,
  weights,
  values,
  columnSums,
}: Pick<AttentionShape, 'scores' | 'weights' | 'values' | 'columnSums'>): readonly Expr[] {
  const summed = columnSums.map(({ value }) => value);
  return [...scores.flatMap(({ a, b }) => [a, b]), ...weights, ...values, ...summed];
}
