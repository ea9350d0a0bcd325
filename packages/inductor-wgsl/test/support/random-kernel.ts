/**
 * @file Seeded random loop kernels over every feature of the IR: many dtypes, strided, gathered and masked
 * loads, casts, reductions of every kind, stages that use results.
 */
import {
  IrBuilder,
  type BufferParam,
  type Expr,
  type IndexExpr,
  type LoopKernel,
  type LoopVar,
  type MatmulKernel,
  type ReduceOp,
  type ScalarOp,
  type Stage,
  type Stmt,
} from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';

/** Small generator of reproducible numbers. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = (seed * 2654435761) >>> 0;
  }

  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)];
  }

  chance(p: number): boolean {
    return this.next() < p;
  }
}

/** A kernel with data for it. */
export interface RandomCase {
  readonly kernel: LoopKernel;
  readonly buffers: Record<string, number[]>;
  readonly scalars: number[];
}

const DTYPES: readonly DType[] = [
  'float32',
  'float32',
  'float32',
  'int32',
  'int64',
  'bool',
  'uint8',
  'int8',
  'int16',
  'float16',
  'bfloat16',
];
/** Types of intermediate values: the interpreter does not round casts to 16-bit floats, the device does. */
const INNER_DTYPES = DTYPES.filter((dtype) => dtype !== 'float16' && dtype !== 'bfloat16');
const SIZES = [1, 2, 3, 4, 5, 8, 12, 16, 20, 33, 64];

const isFloat = (dtype: DType): boolean => dtype.includes('float');

class Generator {
  readonly b = new IrBuilder();
  readonly params: BufferParam[] = [];
  readonly buffers: Record<string, number[]> = {};
  readonly scalars: { name: string; dtype: DType }[] = [];
  readonly scalarValues: number[] = [];
  private readonly outer: LoopVar[];
  private readonly inner: LoopVar[];
  private accs: Expr[] = [];

  constructor(
    private readonly r: Random,
    reduction: boolean,
  ) {
    const vars = (prefix: string, count: number): LoopVar[] =>
      Array.from({ length: count }, (_, d) => ({ name: `${prefix}${d}`, size: r.pick(SIZES) }));
    this.outer = vars('i', r.below(3) + (reduction ? 0 : 1));
    this.inner = reduction ? vars('r', 1 + r.below(2)) : [];
    if (reduction && r.chance(0.3))
      this.inner[0] = { name: 'r0', size: r.pick([100, 256, 1000, 2051]) };
    if (r.chance(0.2) && !reduction)
      this.outer.splice(0, 9, { name: 'i0', size: 1 + r.below(2000) });
  }

  private data(dtype: DType, count: number): number[] {
    return Array.from({ length: count }, () => {
      if (dtype === 'bool') return this.r.below(2);
      if (dtype === 'uint8') return this.r.below(256);
      if (isFloat(dtype)) return (this.r.below(129) - 64) / 16;
      return this.r.below(101) - 50;
    });
  }

  private addBuffer(
    dtype: DType,
    count: number,
    access: BufferParam['access'],
    values = this.data(dtype, count),
  ): string {
    const name = `${access === 'read' ? 'in' : 'out'}${this.params.length}`;
    this.params.push({ name, dtype, access });
    this.buffers[name] = values;
    return name;
  }

  /** A random index over variables and the number of elements it reaches. */
  private index(vars: readonly LoopVar[], unique: boolean): { index: IndexExpr; count: number } {
    const { b, r } = this;
    const order = unique && r.chance(0.7) ? [...vars] : [...vars].sort(() => r.next() - 0.5);
    const used = unique ? order : order.filter(() => r.chance(0.75));
    let index = b.int(0);
    let count = 1;
    for (const v of [...used].reverse()) {
      index = b.add(index, b.scale(b.sym(v.name, v.size), count));
      count *= v.size;
    }
    if (unique) return { index, count };
    if (r.chance(0.15)) {
      const offset = r.below(7);
      return { index: b.add(index, b.int(offset)), count: count + offset };
    }
    if (r.chance(0.15)) {
      const by = r.pick([2, 3, 4]);
      return { index: b.div(index, by), count: Math.ceil(count / by) };
    }
    if (r.chance(0.15)) {
      const by = r.pick([2, 3, 4, 8]);
      return { index: b.mod(index, by), count: by };
    }
    return { index, count };
  }

  private load(vars: readonly LoopVar[], dtype: DType): Expr {
    const { b, r } = this;
    const { index, count } = this.index(vars, false);
    if (r.chance(0.1)) {
      const table = this.addBuffer(dtype, 10, 'read');
      const chosen = this.addBuffer(
        r.pick(['int32', 'int64']),
        count,
        'read',
        Array.from({ length: count }, () => r.below(10)),
      );
      const dtypeOfIndex = this.params.find((p) => p.name === chosen)!.dtype;
      return b.load(dtype, table, b.value(b.load(dtypeOfIndex, chosen, index)));
    }
    if (r.chance(0.12) && vars.length > 0) {
      // A shifted window: out of range where the mask is false.
      const v = r.pick(vars);
      const shift = 1 + r.below(3);
      const at = b.add(b.sym(v.name, v.size), b.int(-shift));
      const mask = b.op('ge', [b.index('int32', at), b.const('int32', 0)]);
      const buffer = this.addBuffer(dtype, v.size, 'read');
      return b.masked(mask, b.load(dtype, buffer, at), dtype === 'bool' ? 1 : 3);
    }
    return b.load(dtype, this.addBuffer(dtype, count, 'read'), index);
  }

  private leaf(vars: readonly LoopVar[], dtype: DType): Expr {
    const { b, r } = this;
    const loads = this.params.filter((p) => p.access === 'read').length;
    const roll = r.next();
    if (roll < 0.6 && loads < 5) return this.load(vars, dtype);
    if (roll < 0.7 && vars.length > 0) {
      const v = r.pick(vars);
      return b.cast(b.index('int32', b.sym(v.name, v.size)), dtype);
    }
    if (roll < 0.8 && this.accs.length > 0) return b.cast(r.pick(this.accs), dtype);
    if (roll < 0.87) {
      const name = `s${this.scalars.length}`;
      this.scalars.push({ name, dtype });
      this.scalarValues.push(
        dtype === 'bool' ? r.below(2) : isFloat(dtype) ? r.below(9) / 4 : r.below(9),
      );
      return b.scalar(dtype, name);
    }
    return b.const(
      dtype,
      isFloat(dtype) ? (r.below(17) - 8) / 4 : dtype === 'bool' ? r.below(2) : r.below(9),
    );
  }

  private expr(vars: readonly LoopVar[], dtype: DType, depth: number): Expr {
    const { b, r } = this;
    if (depth === 0) return this.leaf(vars, dtype);
    const sub = (type: DType): Expr => this.expr(vars, type, depth - 1);
    const roll = r.next();
    if (roll < 0.12) return b.cast(sub(r.pick(INNER_DTYPES)), dtype);
    if (roll < 0.22) return b.op('where', [sub('bool'), sub(dtype), sub(dtype)]);
    if (dtype === 'bool') {
      if (roll < 0.6) {
        const type = r.pick(INNER_DTYPES);
        return b.op(r.pick<ScalarOp>(['eq', 'ne', 'lt', 'le', 'gt', 'ge']), [sub(type), sub(type)]);
      }
      return roll < 0.9
        ? b.op(r.pick<ScalarOp>(['and', 'or', 'xor']), [sub('bool'), sub('bool')])
        : b.op('not', [sub('bool')]);
    }
    if (isFloat(dtype)) {
      if (roll < 0.5)
        return b.op(
          r.pick<ScalarOp>([
            'neg',
            'abs',
            'tanh',
            'sigmoid',
            'floor',
            'ceil',
            'trunc',
            'square',
            'sign',
            'sin',
            'erf',
          ]),
          [sub(dtype)],
        );
      if (roll < 0.55) return b.op('fma', [sub(dtype), sub(dtype), sub(dtype)]);
      return b.op(r.pick<ScalarOp>(['add', 'sub', 'mul', 'maximum', 'minimum']), [
        sub(dtype),
        sub(dtype),
      ]);
    }
    if (roll < 0.45) return b.op(r.pick<ScalarOp>(['neg', 'abs', 'sign', 'not']), [sub(dtype)]);
    return b.op(
      r.pick<ScalarOp>([
        'add',
        'sub',
        'mul',
        'maximum',
        'minimum',
        'floordiv',
        'truncdiv',
        'remainder',
        'fmod',
        'and',
        'or',
        'xor',
      ]),
      [sub(dtype), sub(dtype)],
    );
  }

  private store(vars: readonly LoopVar[], depth: number): Stmt {
    const dtype = this.r.pick(DTYPES);
    const { index, count } = this.index(vars, true);
    const half = dtype === 'float16' || dtype === 'bfloat16';
    const value = half
      ? this.b.cast(this.expr(vars, 'float32', depth), dtype)
      : this.expr(vars, dtype, depth);
    // Narrow integers are stored as they are computed: wrap, as lowering does.
    const wrapped = this.b.cast(this.b.cast(value, 'int32'), dtype);
    const name = this.addBuffer(dtype, count, 'write', new Array<number>(count).fill(0));
    return {
      kind: 'store',
      buf: name,
      index,
      value: isFloat(dtype) || dtype === 'bool' ? value : wrapped,
    };
  }

  private reduce(id: number): { stmt: Stmt; results: Expr[] } {
    const { b, r } = this;
    const vars = [...this.outer, ...this.inner];
    const op = r.pick<ReduceOp>([
      'sum',
      'sum',
      'max',
      'min',
      'prod',
      'any',
      'all',
      'argmax',
      'argmin',
      'welford',
      'online_softmax',
    ]);
    if (op === 'any' || op === 'all') {
      return {
        stmt: { kind: 'reduce', op, ids: [id], dtype: 'bool', value: this.expr(vars, 'bool', 1) },
        results: [b.acc('bool', id)],
      };
    }
    if (op === 'welford' || op === 'online_softmax') {
      const value = this.expr(vars, 'float32', 1);
      return {
        stmt: { kind: 'reduce', op, ids: [id, id + 1], dtype: 'float32', value },
        results: [b.acc('float32', id), b.acc('float32', id + 1)],
      };
    }
    if (op === 'argmax' || op === 'argmin') {
      const value = this.expr(vars, r.pick<DType>(['float32', 'int32', 'bool']), 1);
      return {
        stmt: { kind: 'reduce', op, ids: [id], dtype: 'int64', value },
        results: [b.acc('int64', id)],
      };
    }
    const dtype: DType = r.chance(0.3) ? 'int32' : 'float32';
    let value = this.expr(vars, dtype, op === 'prod' ? 1 : 2);
    // Keeps products in range.
    if (op === 'prod')
      value = b.op('minimum', [b.op('maximum', [value, b.const(dtype, -1)]), b.const(dtype, 1)]);
    return { stmt: { kind: 'reduce', op, ids: [id], dtype, value }, results: [b.acc(dtype, id)] };
  }

  kernel(name: string): LoopKernel {
    const { r } = this;
    const stages: Stage[] = [];
    const all = [...this.outer, ...this.inner];
    if (this.inner.length === 0) {
      stages.push({
        kind: 'outer',
        body: Array.from({ length: 1 + r.below(2) }, () => this.store(this.outer, 2 + r.below(3))),
      });
    } else {
      let id = 0;
      for (let pass = 0; pass < 1 + r.below(2); pass++) {
        const made = Array.from({ length: 1 + r.below(2) }, () => {
          const reduction = this.reduce(id);
          id += reduction.results.length;
          return reduction;
        });
        stages.push({ kind: 'inner', body: made.map(({ stmt }) => stmt) });
        this.accs.push(...made.flatMap(({ results }) => results));
        if (r.chance(0.5)) stages.push({ kind: 'outer', body: [this.store(this.outer, 1)] });
      }
      stages.push(
        r.chance(0.5)
          ? { kind: 'inner', body: [this.store(all, 2)] }
          : { kind: 'outer', body: [this.store(this.outer, 2)] },
      );
    }
    const used = new Set(JSON.stringify(stages).match(/(?:in|out)\d+|s\d+/g));
    return {
      kind: 'loop',
      name,
      params: this.params.filter((p) => used.has(p.name)),
      scalars: this.scalars,
      outer: this.outer,
      inner: this.inner,
      stages,
    };
  }
}

/** A random product: each of batch, m, n and k is several variables in any order in memory. */
export function randomMatmul(seed: number): {
  kernel: MatmulKernel;
  buffers: Record<string, number[]>;
} {
  const r = new Random(seed + 1_000_000);
  const b = new IrBuilder();
  const vars = (prefix: string, most: number): LoopVar[] =>
    Array.from({ length: r.below(most + 1) }, (_, d) => ({
      name: `${prefix}${d}`,
      size: r.pick([1, 2, 3, 4, 5, 8, 12, 17]),
    }));
  const [batch, m, n, k] = [vars('b', 1), vars('m', 2), vars('n', 2), vars('k', 2)];
  const buffers: Record<string, number[]> = {};
  const place = (over: readonly LoopVar[]): { index: IndexExpr; count: number } => {
    let index = b.int(0);
    let count = 1;
    const order = r.chance(0.5) ? [...over].reverse() : [...over].sort(() => r.next() - 0.5);
    for (const v of order) {
      index = b.add(index, b.scale(b.sym(v.name, v.size), count));
      count *= v.size;
    }
    return { index, count };
  };
  const load = (name: string, over: readonly LoopVar[]): Expr => {
    const { index, count } = place(over);
    buffers[name] = Array.from({ length: count }, () => (r.below(33) - 16) / 8);
    return b.load('float32', name, index);
  };
  let a = load('a', [...batch, ...m, ...k]);
  if (r.chance(0.3)) a = b.op('maximum', [a, b.const('float32', 0)]);
  const right = load('b', [...batch, ...k, ...n]);
  let value = b.acc('float32', 0);
  const bias = r.chance(0.5);
  if (bias) value = b.op('add', [value, load('bias', r.chance(0.5) ? n : [...m, ...n])]);
  if (r.chance(0.3))
    value = b.op('mul', [value, b.cast(b.index('int32', place(n).index), 'float32')]);
  const out = place([...batch, ...m, ...n]);
  buffers.out = new Array<number>(out.count).fill(0);
  return {
    kernel: {
      kind: 'matmul',
      name: `matmul_${seed}`,
      params: [
        { name: 'a', dtype: 'float32', access: 'read' },
        { name: 'b', dtype: 'float32', access: 'read' },
        ...(bias ? [{ name: 'bias', dtype: 'float32' as const, access: 'read' as const }] : []),
        { name: 'out', dtype: 'float32', access: 'write' },
      ],
      scalars: [],
      batch,
      m,
      n,
      k,
      a,
      b: right,
      accDtype: 'float32',
      epilogue: [{ kind: 'store', buf: 'out', index: out.index, value }],
    },
    buffers,
  };
}

/** The random kernel of a seed. */
export function randomKernel(seed: number, reduction: boolean): RandomCase {
  const generator = new Generator(new Random(seed), reduction);
  const kernel = generator.kernel(`${reduction ? 'reduction' : 'pointwise'}_${seed}`);
  return { kernel, buffers: generator.buffers, scalars: generator.scalarValues };
}
