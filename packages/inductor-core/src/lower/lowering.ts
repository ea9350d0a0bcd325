/**
 * @file `Lowering`: the state of lowering one graph.
 *
 * Holds the builder, buffers and nodes so far: `pointwise` makes a lazy value, `storeValue` and `addReduction` nodes.
 */
import { ProgramOrder } from './program-order.js';
import type { ValueCheck } from '@tessera/tensor/internal';
import type { Size } from '@tessera/shared';
import { type DType } from '@tessera/tensor';
import type { Capabilities } from '../backend/kernel-backend.js';
import { inductorConfig } from '../config.js';
import type { ConditionRule, IrBuilder } from '../ir/build.js';
import type { Expr, ReduceOp } from '../ir/expr.js';
import { isHalf } from '../ir/scalar-eval.js';
import type { IndexExpr, SizedLoop } from '../ir/index-expr.js';
import { REDUCE_RESULTS } from '../ir/verify.js';
import { postorder } from '../ir/walk.js';
import { type ExprCost, exprCost } from './expr-cost.js';
import {
  type AttentionNode,
  type RecurrenceNode,
  type ExternNode,
  type IrBuffer,
  type IrNode,
  type IrScalar,
  type MatmulNode,
  type Work,
  nodeRoots,
} from './ir-node.js';
import { LoweredTensor } from './lowered-tensor.js';
import { type Origin, namesOf } from './origin.js';
import { LoweringBuilder } from './lowering-builder.js';
import { type Shape, isDense, isEmpty, rowMajorStrides } from './shape-math.js';

type Unnumbered<N extends IrNode> = N extends IrNode ? Omit<N, 'id' | keyof Work> : never;
type Made<N extends IrNode> = Omit<Unnumbered<N>, 'kind'>;

/** A loop variable with a name of its own: none where it has one value. */
export interface FreshVar<S extends Size = Size> {
  readonly index: IndexExpr;
  readonly vars: readonly SizedLoop<S>[];
}

/** See the file header. */
export class Lowering {
  readonly ir: IrBuilder = new LoweringBuilder(this);
  readonly nodes: IrNode[] = [];
  readonly inputs: IrBuffer[] = [];
  /** Offset in its storage at which each input begins, for views that count from the storage. */
  readonly inputOffsets: number[] = [];
  readonly scalars: IrScalar[] = [];
  /** Offsets drawn from the random generator so far. */
  randomCount = 0;
  /** The generator's state for a random op that repeats an earlier draw; null draws a new one. */
  replay: { readonly seed: Expr; readonly offset: Expr } | null = null;
  /** What is being lowered. */
  origin: Origin = { op: '', node: null };
  readonly programOrder: ProgramOrder = new ProgramOrder();
  private readonly origins = new Map<Expr, Origin>();
  private readonly loadCoords = new Map<Expr, readonly IndexExpr[]>();
  private readonly varCache = new Map<string, readonly IndexExpr[]>();
  private readonly costs = new Map<Expr, ExprCost>();
  private bufferCount = 0;

  /** Whether kernels refuse what eager refuses at run time. */
  readonly checks: boolean = inductorConfig.checkIndices;

  /** Whether results of 16-bit floats are rounded between the operators of a kernel, as in memory. */
  readonly emulatesPrecisionCasts: boolean = inductorConfig.emulatePrecisionCasts;

  constructor(readonly capabilities: Capabilities) {}

  /** Whether an operator whose lowering declines runs otherwise, on a reference kernel. */
  get hasFallback(): boolean {
    return this.capabilities.fallback ?? this.capabilities.extern;
  }

  /** Canonical coordinates of a shape: one variable per dimension, 0 where the size is 1. */
  vars(sizes: Shape): readonly IndexExpr[] {
    const key = sizes.join(',');
    let found = this.varCache.get(key);
    if (found === undefined) {
      found = sizes.map((size, d) =>
        size === 1 ? this.ir.int(0) : this.ir.sym(`i${d}_${String(size)}`, size),
      );
      this.varCache.set(key, found);
    }
    return found;
  }

  /** The canonical loop variables of a shape, without dimensions of size 1. */
  loopVars(sizes: Shape): SizedLoop[] {
    return sizes.flatMap((size, d) =>
      size === 1 ? [] : [{ name: `i${d}_${String(size)}`, size }],
    );
  }

  /** Declares a loop variable and returns it as an index (0 if its size is 1). */
  freshVar<S extends Size>(name: string, size: S): FreshVar<S> {
    if (size === 1) return { index: this.ir.int(0), vars: [] };
    const unique = `${name}_${String(size)}`;
    return { index: this.ir.sym(unique, size), vars: [{ name: unique, size }] };
  }

  /** `expr` (over the canonical variables of `sizes`) at other coordinates. */
  at(expr: Expr, sizes: Shape, coords: readonly IndexExpr[]): Expr {
    const map = this.symbolMap(sizes, coords);
    if (map.size === 0) return expr;
    return this.substitute(expr, map);
  }

  /** Index expressions over the canonical variables of `sizes`, at other coordinates. */
  indicesAt(
    indices: readonly IndexExpr[],
    sizes: Shape,
    coords: readonly IndexExpr[],
  ): IndexExpr[] {
    const map = this.symbolMap(sizes, coords);
    if (map.size === 0) return [...indices];
    const values = new Map<Expr, Expr>();
    return indices.map((index) => this.substituteCoord(index, map, values));
  }

  private symbolMap(sizes: Shape, coords: readonly IndexExpr[]): Map<string, IndexExpr> {
    const own = this.vars(sizes);
    const map = new Map<string, IndexExpr>();
    own.forEach((v, d) => {
      if (v.kind === 'sym' && coords[d] !== v) map.set(v.name, coords[d]!);
    });
    return map;
  }

  /** Rebuilds an expression with symbols replaced; coordinates of loads follow. */
  substitute(
    expr: Expr,
    map: ReadonlyMap<string, IndexExpr>,
    memo: Map<Expr, Expr> = new Map(),
    check: ConditionRule = (ok) => ok,
  ): Expr {
    const [made] = this.ir.rewrite(
      [expr],
      {
        symbol: (name) => map.get(name),
        check,
        load: (load, index) => {
          const made = this.ir.load(load.dtype, load.buf, index);
          // Loads of kernels that are being made have no coordinates any more.
          const known = this.loadCoords.get(load);
          if (known === undefined) return made;
          const coords = known.map((coord) => this.substituteCoord(coord, map, memo));
          return this.recordLoad(made, coords);
        },
      },
      memo,
    );
    for (const [old, moved] of memo) {
      const origin = this.origins.get(old);
      if (origin !== undefined && !this.origins.has(moved)) this.origins.set(moved, origin);
    }
    this.programOrder.noteMoved(memo);
    return made;
  }

  /** A value that is refused where `ok` is false. */
  check(check: ValueCheck<Size>, subject: Expr, ok: Expr, value: Expr): Expr {
    return this.programOrder.noteCheck(this.ir.check(check, subject, ok, value));
  }

  /**
   * Operators and nodes whose work is in the expressions. Where nothing is known of them, and for nodes that compute
   * something of their `own` with them, also what is being lowered.
   */
  workOf(roots: readonly Expr[], own: boolean): Work {
    const found = new Set<Origin>();
    for (const expr of postorder(roots)) {
      const origin = this.origins.get(expr);
      if (origin !== undefined) found.add(origin);
    }
    const list = [...found];
    const unknown = found.size === 0 || !roots.some((root) => this.origins.has(root));
    return {
      origins: namesOf(unknown ? [...list, this.origin] : list, 'op'),
      nodes: namesOf(own || unknown ? [...list, this.origin] : list, 'node'),
    };
  }

  private substituteCoord(
    coord: IndexExpr,
    map: ReadonlyMap<string, IndexExpr>,
    memo: Map<Expr, Expr>,
  ): IndexExpr {
    return this.ir.substituteIndex(
      coord,
      (name) => map.get(name),
      (value) => memo.get(value) ?? this.substitute(value, map, memo),
    );
  }

  /** A load of a buffer at coordinates. Of one without elements, which a mask keeps from happening, it is a zero. */
  loadBuffer(buffer: IrBuffer, coords: readonly IndexExpr[]): Expr {
    if (buffer.sizes.includes(0)) return this.ir.const(buffer.dtype, 0);
    return this.recordLoad(
      this.ir.load(buffer.dtype, buffer.name, this.address(buffer, coords)),
      coords,
    );
  }

  /** Element offset of coordinates in a buffer. */
  address(buffer: IrBuffer, coords: readonly IndexExpr[]): IndexExpr {
    return this.ir.add(
      ...coords.map((coord, d) =>
        buffer.sizes[d] === 1 ? this.ir.int(0) : this.ir.scale(coord, buffer.strides[d]!),
      ),
    );
  }

  /** Coordinates of a load within its buffer. */
  coordsOf(load: Expr): readonly IndexExpr[] {
    return this.loadCoords.get(load)!;
  }

  recordLoad(load: Expr, coords: readonly IndexExpr[]): Expr {
    if (!this.loadCoords.has(load)) this.loadCoords.set(load, coords);
    return load;
  }

  /** A lazy value: `expr` over the canonical variables of `sizes`. */
  pointwise(sizes: Shape, expr: Expr): LoweredTensor {
    if (expr.kind === 'op' && !this.origins.has(expr)) this.origins.set(expr, this.origin);
    return new LoweredTensor(this, expr.dtype, sizes, { kind: 'expr', expr });
  }

  /** The value as memory of its type would hold it. */
  asStored(tensor: LoweredTensor): LoweredTensor {
    const { dtype, shape, layout, isView } = tensor;
    if (isView || !isHalf(dtype)) return tensor;
    const { ir } = this;
    const stored = this.pointwise(shape, ir.cast(ir.cast(tensor.expr, 'float32'), dtype));
    stored.layout = layout;
    return stored;
  }

  /** A tensor that is a buffer. */
  fromBuffer(buffer: IrBuffer): LoweredTensor {
    return new LoweredTensor(this, buffer.dtype, buffer.sizes, { kind: 'buffer', buffer });
  }

  addInput(dtype: DType, sizes: Shape, strides: Shape): IrBuffer {
    const buffer: IrBuffer = {
      name: `arg${this.inputs.length}`,
      dtype,
      sizes,
      strides,
      kind: 'input',
      input: this.inputs.length,
      output: -1,
      before: null,
    };
    this.inputs.push(buffer);
    return buffer;
  }

  newBuffer(dtype: DType, sizes: Shape, layout: Shape | null): IrBuffer {
    const strides = layout !== null && isDense(sizes, layout) ? layout : rowMajorStrides(sizes);
    return {
      name: `buf${this.bufferCount++}`,
      dtype,
      sizes,
      strides,
      kind: 'computed',
      input: -1,
      output: -1,
      before: null,
    };
  }

  /** Adds a node that stores `expr` to a new buffer. */
  storeValue(expr: Expr, dtype: DType, sizes: Shape, layout: Shape | null): IrBuffer {
    const out = this.newBuffer(dtype, sizes, layout);
    this.addPointwise(out, expr, false);
    return out;
  }

  /** Adds a node that stores `expr` to `out` at the canonical variables of its sizes. */
  addPointwise(out: IrBuffer, expr: Expr, mutation: boolean): void {
    if (isEmpty(out.sizes)) return;
    this.nodes.push({
      kind: 'pointwise',
      id: this.nodes.length,
      out,
      part: null,
      vars: this.loopVars(out.sizes),
      steps: [],
      combine: null,
      value: this.ir.cast(expr, out.dtype),
      mutation,
      ...this.workOf([expr], false),
    });
  }

  /** Adds a reduction node over `inner`, giving one tensor per result. */
  addReduction(
    op: ReduceOp,
    dtype: DType,
    sizes: Shape,
    inner: readonly SizedLoop[],
    order: readonly SizedLoop[],
    value: Expr,
  ): LoweredTensor[] {
    const outs = Array.from({ length: REDUCE_RESULTS[op] }, () =>
      this.newBuffer(dtype, sizes, null),
    );
    this.nodes.push({
      kind: 'reduction',
      id: this.nodes.length,
      op,
      running: false,
      dtype,
      outs,
      vars: this.loopVars(sizes),
      inner,
      order,
      value,
      ...this.workOf([value], true),
    });
    return outs.map((out) => this.fromBuffer(out));
  }

  /** Adds a scan of `value`, over the canonical variables of `sizes`, along dimension `at`. */
  addScan(
    op: ReduceOp,
    sizes: Shape,
    at: number,
    value: Expr,
    layout: Shape | null,
  ): LoweredTensor {
    const out = this.newBuffer(value.dtype, sizes, layout);
    const order = this.loopVars(sizes);
    const along = `i${at}_${String(sizes[at]!)}`;
    this.nodes.push({
      kind: 'reduction',
      id: this.nodes.length,
      op,
      running: true,
      dtype: value.dtype,
      outs: [out],
      vars: order.filter((v) => v.name !== along),
      inner: order.filter((v) => v.name === along),
      order,
      value,
      ...this.workOf([value], true),
    });
    return this.fromBuffer(out);
  }

  /** Adds a matrix product. */
  addMatmul(node: Made<MatmulNode>): void {
    this.addNode({ kind: 'matmul', ...node });
  }

  addAttention(node: Made<AttentionNode>): void {
    this.addNode({ kind: 'attention', ...node });
  }

  addRecurrence(node: Made<RecurrenceNode>): void {
    this.addNode({ kind: 'recurrence', ...node });
  }

  /** Adds a call of a reference kernel. */
  addExtern(node: Made<ExternNode>): void {
    this.addNode({ kind: 'extern', ...node });
  }

  private addNode(
    node: Unnumbered<MatmulNode | AttentionNode | RecurrenceNode | ExternNode>,
  ): void {
    this.nodes.push({ id: this.nodes.length, ...this.workOf(nodeRoots(node), true), ...node });
  }

  /** A runtime scalar by name, declared on first use. */
  scalar(name: string, dtype: DType): Expr {
    if (!this.scalars.some((s) => s.name === name)) this.scalars.push({ name, dtype });
    return this.ir.scalar(dtype, name);
  }

  /** Cost of computing an expression again; distinct operations count once. */
  costOf(expr: Expr): ExprCost {
    let cost = this.costs.get(expr);
    if (cost === undefined) {
      cost = exprCost(expr);
      this.costs.set(expr, cost);
    }
    return cost;
  }

  /** Names of the buffers that computing an expression loads. */
  buffersOf(expr: Expr): Set<string> {
    return new Set(postorder([expr]).flatMap((e) => (e.kind === 'load' ? [e.buf] : [])));
  }
}
