/**
 * @file A kernel body → a `FusedKernel`: loops settled, variables and parameters named.
 *
 * The final expressions are built in a fresh builder, so that equal kernels of different places come
 * out equal, and so that simplification sees the final loops.
 */
import type { Size } from '@tessera/shared';
import { IrBuilder } from '../ir/build.js';
import type { Expr, Stmt } from '../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../ir/index-expr.js';
import type {
  AttentionKernel,
  RecurrenceKernel,
  ExternArg,
  ExternKernel,
  FusedKernel,
  MatmulKernel,
  Stage,
} from '../ir/kernel.js';
import type { ExternNode, IrBuffer } from '../lower/ir-node.js';
import { indexValues } from '../ir/walk.js';
import { SizesNeeded } from '../lower/shape-math.js';
import { bodyKey } from './body-key.js';
import type { EmitContext } from './emit-context.js';
import {
  type AttentionBody,
  type RecurrenceBody,
  type BodyStore,
  type GroupBody,
  type LoopBody,
  type MatmulBody,
  bodyRoots,
  bodyStores,
} from './group-body.js';
import { rankedIndices } from './kernel-indices.js';
import { mergeLoops, type Nest, orderLoops, splitLoops } from './loop-nest.js';
import { type Parameters, parametersOf } from './parameters.js';

/** A kernel without its name, and the memory of each parameter. */
export interface KernelDraft {
  readonly kernel: FusedKernel<Size>;
  readonly storages: readonly string[];
}

/** Settles lists of loops one by one and renames everything into a fresh builder. */
class Settler {
  readonly target: IrBuilder = new IrBuilder();
  private readonly symbols = new Map<string, IndexExpr>();
  private readonly memo = new Map<Expr, Expr>();

  constructor(
    private readonly context: EmitContext,
    private readonly indices: readonly IndexExpr[],
    private readonly parameters: Parameters,
  ) {}

  /** Splits, orders and merges one list of loops and names them `prefix0`, `prefix1`, … */
  settle(vars: readonly SizedLoop[], prefix: string, reorder: boolean): SizedLoop[] {
    const { ir } = this.context;
    const split = splitLoops(ir, vars, this.indices);
    // One loop has no order and no neighbours.
    const merged = split.vars.length < 2 ? split : this.arranged(split, reorder);
    const names = new Map(
      merged.vars.map((v, i) => [v.name, this.target.sym(`${prefix}${i}`, v.size)]),
    );
    for (const v of vars) {
      const whole = split.old.get(v.name) ?? ir.sym(v.name, v.size);
      const joined = ir.substituteIndex(whole, (name) => merged.old.get(name));
      this.symbols.set(
        v.name,
        this.target.substituteIndex(joined, (name) => names.get(name)),
      );
    }
    return merged.vars.map((v, i) => ({ name: `${prefix}${i}`, size: v.size }));
  }

  /** Orders and merges loops. */
  private arranged({ vars, old }: Nest, reorder: boolean): Nest {
    const { ir } = this.context;
    const indices =
      old.size === 0
        ? this.indices
        : this.indices.map((index) => ir.substituteIndex(index, (name) => old.get(name)));
    return mergeLoops(ir, reorder ? orderLoops(ir, vars, indices) : vars, indices);
  }

  /** Names a list of loops, which stay as they are, `prefix0`, `prefix1`, … */
  rename<S extends Size>(vars: readonly SizedLoop<S>[], prefix: string): SizedLoop<S>[] {
    return vars.map(({ name, size }, i) => {
      const renamed = { name: `${prefix}${i}`, size };
      this.symbols.set(name, this.target.sym(renamed.name, size));
      return renamed;
    });
  }

  /**
   * What a variable is in the kernel.
   *
   * @throws SizesNeeded if no loop binds it: a size was written in two ways that are the same for the example alone
   */
  private variable(name: string): IndexExpr | undefined {
    const found = this.symbols.get(name);
    if (found !== undefined) return found;
    const { ir } = this.context;
    // Either way of writing it may be the symbolic one.
    for (const each of [name, ...this.symbols.keys()]) {
      const size = ir.sizeOf(each);
      if (typeof size === 'object') throw new SizesNeeded(size);
    }
    return undefined;
  }

  /** Expressions in the final variables and parameters. */
  expr(root: Expr): Expr {
    return this.target.rewrite(
      [root],
      {
        symbol: (name) => this.variable(name),
        load: (load, index) =>
          this.target.load(
            load.dtype,
            this.parameters.nameOf(this.context.bufferOf(load.buf)),
            index,
          ),
      },
      this.memo,
    )[0]!;
  }

  store(store: BodyStore): Stmt {
    for (const value of indexValues(store.index)) this.expr(value);
    const index = this.target.substituteIndex(
      store.index,
      (name) => this.variable(name),
      (value) => this.memo.get(value)!,
    );
    return {
      kind: 'store',
      buf: this.parameters.nameOf(store.buffer),
      index,
      value: this.expr(store.value),
      ...(store.combine !== undefined && { combine: store.combine }),
    };
  }
}

function settlerFor(
  context: EmitContext,
  body: GroupBody,
): { readonly settler: Settler; readonly parameters: Parameters } {
  const bufferOf = (name: string): IrBuffer => context.bufferOf(name);
  const [stores, roots] = [bodyStores(body), bodyRoots(body)];
  const parameters = parametersOf(
    roots,
    stores.map((store) => store.buffer),
    bufferOf,
    context.storageOf,
  );
  return {
    settler: new Settler(context, rankedIndices(stores, roots, bufferOf), parameters),
    parameters,
  };
}

function buildLoop(body: LoopBody, context: EmitContext): KernelDraft {
  const { settler, parameters } = settlerFor(context, body);
  const outer = settler.settle(body.outer, 'i', true);
  // The place that argmax reports counts points in order, and a scan meets them in order; so do stores that may meet.
  const reduces = body.stages.flatMap((stage) => stage.reduces);
  const positional =
    reduces.length === 0 ||
    reduces.some((r) => r.running || r.op === 'argmax' || r.op === 'argmin');
  const inner = settler.settle(body.inner, 'r', !positional);
  const stages = body.stages.map((stage): Stage => ({
    kind: stage.kind,
    body: [
      ...stage.reduces.map((r): Stmt => ({
        kind: 'reduce',
        op: r.op,
        ids: r.ids,
        dtype: r.dtype,
        value: settler.expr(r.value),
        ...(r.running ? { running: true } : {}),
      })),
      ...stage.stores.map((s) => settler.store(s)),
    ],
  }));
  return {
    kernel: {
      kind: 'loop',
      name: '',
      params: parameters.params,
      scalars: parameters.scalars,
      outer,
      inner,
      stages,
    },
    storages: parameters.storages,
  };
}

function buildMatmul(body: MatmulBody, context: EmitContext): KernelDraft {
  const { settler, parameters } = settlerFor(context, body);
  const batch = settler.settle(body.batch, 'b', false);
  const m = settler.settle(body.m, 'm', false);
  const n = settler.settle(body.n, 'n', false);
  const k = settler.settle(body.k, 'k', false);
  const kernel: MatmulKernel<Size> = {
    kind: 'matmul',
    name: '',
    params: parameters.params,
    scalars: parameters.scalars,
    batch,
    m,
    n,
    k,
    a: settler.expr(body.a),
    b: settler.expr(body.b),
    accDtype: body.accDtype,
    epilogue: body.stores.map((s) => settler.store(s)),
  };
  return { kernel, storages: parameters.storages };
}

function buildAttention(body: AttentionBody, context: EmitContext): KernelDraft {
  const { settler, parameters } = settlerFor(context, body);
  const [batch, m, j, k, n] = [
    settler.rename(body.batch, 'b'),
    settler.rename(body.m, 'm'),
    settler.rename(body.j, 'j'),
    settler.rename(body.k, 'k'),
    settler.rename(body.n, 'n'),
  ] as const;
  const { softmax, triangle, accDtype } = body;
  const kernel: AttentionKernel<Size> = {
    kind: 'attention',
    name: '',
    params: parameters.params,
    scalars: parameters.scalars,
    batch,
    m,
    j,
    k,
    n,
    scores: body.scores.map(({ a, b }) => ({ a: settler.expr(a), b: settler.expr(b) })),
    weights: body.weights.map((weight) => settler.expr(weight)),
    values: body.values.map((value) => settler.expr(value)),
    columnSums: body.columnSums.map((sum) => ({ ...sum, value: settler.expr(sum.value) })),
    softmax,
    triangle,
    accDtype,
    epilogue: body.stores.map((s) => settler.store(s)),
    rowStores: body.rowStores.map((s) => settler.store(s)),
    columnStores: body.columnStores.map((s) => settler.store(s)),
    weightStores: body.weightStores.map((s) => settler.store(s)),
  };
  return { kernel, storages: parameters.storages };
}

function buildRecurrence(body: RecurrenceBody, context: EmitContext): KernelDraft {
  const { settler, parameters } = settlerFor(context, body);
  const [batch, step, n, k] = [
    settler.rename(body.batch, 'b'),
    settler.rename(body.step, 't'),
    settler.rename(body.n, 'n'),
    settler.rename(body.k, 'k'),
  ] as const;
  const kernel: RecurrenceKernel<Size> = {
    kind: 'recurrence',
    name: '',
    params: parameters.params,
    scalars: parameters.scalars,
    batch,
    step,
    n,
    k,
    states: body.states.map(({ initial, next }) => ({
      initial: settler.expr(initial),
      next: settler.expr(next),
    })),
    vectors: body.vectors.map((vector) => settler.expr(vector)),
    products: body.products.map((terms) =>
      terms.map(({ vector, weight }) => ({ vector, weight: settler.expr(weight) })),
    ),
    accDtype: body.accDtype,
    stores: body.stores.map((s) => settler.store(s)),
    lastStores: body.lastStores.map((s) => settler.store(s)),
  };
  return { kernel, storages: parameters.storages };
}

function built(body: GroupBody, context: EmitContext): KernelDraft {
  switch (body.kind) {
    case 'loop':
      return buildLoop(body, context);
    case 'matmul':
      return buildMatmul(body, context);
    case 'attention':
      return buildAttention(body, context);
    case 'recurrence':
      return buildRecurrence(body, context);
  }
}

/** Builds kernels of bodies; those that differ in their buffers alone get one kernel. */
export class KernelBuilder {
  private readonly known = new Map<string, KernelDraft['kernel']>();
  /** The first of them, whose key is found when another one comes: most graphs of one operator have one kernel. */
  private first: { readonly body: GroupBody; readonly kernel: KernelDraft['kernel'] } | null = null;

  constructor(private readonly context: EmitContext) {}

  build(body: GroupBody): KernelDraft {
    const { first, known, context } = this;
    if (first === null) {
      const draft = built(body, context);
      this.first = { body, kernel: draft.kernel };
      return draft;
    }
    if (known.size === 0) known.set(bodyKey(first.body, context).text, first.kernel);
    const { text, storages } = bodyKey(body, context);
    const kernel = known.get(text);
    if (kernel !== undefined) return { kernel, storages };
    const draft = built(body, context);
    known.set(text, draft.kernel);
    return draft;
  }
}

function renamed(arg: ExternArg<Size>, nameOf: (buffer: string) => string): ExternArg<Size> {
  if (arg.kind === 'buffer') return { ...arg, name: nameOf(arg.name) };
  if (arg.kind === 'list') return { ...arg, items: arg.items.map((item) => renamed(item, nameOf)) };
  return arg;
}

function externScalars(args: readonly ExternArg<Size>[]): string[] {
  return args.flatMap((arg) =>
    arg.kind === 'scalar' ? [arg.name] : arg.kind === 'list' ? externScalars(arg.items) : [],
  );
}

/** Builds the kernel of an extern call. */
export function buildExtern(
  node: ExternNode,
  context: EmitContext,
  scalarDtype: (name: string) => ExternKernel['scalars'][number]['dtype'],
): KernelDraft {
  const loads = node.reads.map((buffer) =>
    context.ir.load(buffer.dtype, buffer.name, context.ir.int(0)),
  );
  const parameters = parametersOf(
    loads,
    node.outs,
    (name) => context.bufferOf(name),
    context.storageOf,
  );
  const nameOf = (name: string): string => parameters.nameOf(context.bufferOf(name));
  const outputs = node.outs.map((out) => ({
    kind: 'buffer' as const,
    name: nameOf(out.name),
    sizes: out.sizes,
    strides: out.strides,
    offset: 0,
  }));
  const scalars = [...new Set(externScalars(node.args))].map((name) => ({
    name,
    dtype: scalarDtype(name),
  }));
  return {
    kernel: {
      kind: 'extern',
      name: '',
      params: parameters.params,
      scalars,
      op: node.op,
      args: node.args.map((arg) => renamed(arg, nameOf)),
      outputs,
    },
    storages: parameters.storages,
  };
}
