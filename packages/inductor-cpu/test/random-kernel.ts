/**
 * @file Random loop kernels for fuzzing: any mix of dtypes, layouts, gathers, masks and reductions.
 *
 * Values stay small and expressions smooth where rounding could matter, so that both sides of a
 * comparison agree to a small tolerance: floats are only compared with each other as loaded, and
 * transcendental results are never rounded to integers.
 */
import {
  IrBuilder,
  verifyKernel,
  type Expr,
  type IndexExpr,
  type LoopKernel,
  type LoopVar,
  type Stage,
  type Stmt,
} from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import type { Buffers } from './load-kernel.js';

/** A kernel with matching initial memory. */
export interface RandomKernel {
  readonly kernel: LoopKernel;
  readonly buffers: Buffers;
  readonly scalars: Record<string, number>;
}

const SIZES = [1, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24, 33];
const FLOATS: DType[] = ['float32', 'float32', 'float32', 'float64', 'float16', 'bfloat16'];
const INTS: DType[] = ['int64', 'int32', 'int16', 'int8', 'uint8'];

/** Small deterministic generator of numbers. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 2654435761 + 12345) >>> 0;
  }

  /** A number in [0, 1). */
  next(): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    const mixed = Math.imul(this.#state ^ (this.#state >>> 15), 0x2c1b3c6d);
    return ((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 32;
  }

  /** An integer in [0, n). */
  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  chance(p: number): boolean {
    return this.next() < p;
  }
}

class Maker {
  readonly ir = new IrBuilder();
  readonly params: { name: string; dtype: DType; access: 'read' | 'write' | 'readwrite' }[] = [];
  readonly scalars: { name: string; dtype: DType }[] = [];
  readonly buffers: Buffers = {};
  readonly scalarValues: Record<string, number> = {};
  /** Loads of the same place can be shared by later expressions. */
  readonly loads: { scope: string; expr: Expr }[] = [];

  constructor(readonly dice: Dice) {}

  value(dtype: DType): number {
    const { dice } = this;
    if (dtype === 'bool') return dice.below(2);
    if (INTS.includes(dtype)) return dtype === 'uint8' ? dice.below(20) : dice.below(21) - 10;
    const x = dice.next() * 4 - 2;
    return dtype === 'float64' ? x : Math.round(x * 64) / 64;
  }

  buffer(
    dtype: DType,
    access: 'read' | 'write' | 'readwrite',
    length: number,
    fill: () => number = () => this.value(dtype),
  ): string {
    const name = `b${this.params.length}`;
    this.params.push({ name, dtype, access });
    this.buffers[name] = Array.from({ length: Math.max(1, length) }, fill);
    return name;
  }

  /** Variables in random order, some possibly left out, laid out contiguously. */
  layout(vars: readonly LoopVar[], dropping: boolean): { index: IndexExpr; length: number } {
    const { dice, ir } = this;
    let kept = vars.filter(() => !dropping || !dice.chance(0.25));
    if (dice.chance(0.35)) kept = [...kept].sort(() => dice.next() - 0.5);
    let stride = 1;
    const terms: IndexExpr[] = [];
    for (const { name, size } of [...kept].reverse()) {
      const sym = ir.sym(name, size);
      const flipped = dropping && dice.chance(0.07);
      terms.push(ir.scale(flipped ? ir.sub(ir.int(size - 1), sym) : sym, stride));
      stride *= size * (dropping && dice.chance(0.1) ? 2 : 1);
    }
    const offset = dropping && dice.chance(0.15) ? dice.below(5) : 0;
    return { index: ir.add(...terms, ir.int(offset)), length: stride + offset };
  }

  load(vars: readonly LoopVar[], dtype: DType): Expr {
    const { dice, ir } = this;
    const way = dice.next();
    if (way < 0.08) {
      // Gather of rows at loaded positions.
      const rows = 3 + dice.below(6);
      const where = this.layout(vars, true);
      const indices = this.buffer(dice.chance(0.7) ? 'int64' : 'int32', 'read', where.length, () =>
        dice.below(rows),
      );
      const row = ir.load(this.params.at(-1)?.dtype as DType, indices, where.index);
      const inner = this.layout(vars, true);
      return ir.load(
        dtype,
        this.buffer(dtype, 'read', rows * inner.length),
        ir.add(ir.scale(ir.value(row), inner.length), inner.index),
      );
    }
    if (way < 0.18 && vars.length > 0) {
      // A shifted load inside its bounds, as padding makes.
      const { name, size } = dice.pick(vars);
      const shift = dice.below(5) - 2;
      const sym = ir.sym(name, size);
      const moved = ir.add(sym, ir.int(shift));
      const at = ir.index('int32', moved);
      const mask = ir.op('and', [
        ir.op('ge', [at, ir.const('int32', 0)]),
        ir.op('lt', [at, ir.const('int32', size)]),
      ]);
      const rest = this.layout(
        vars.filter((v) => v.name !== name),
        true,
      );
      const body = ir.load(
        dtype,
        this.buffer(dtype, 'read', rest.length * size),
        ir.add(ir.scale(moved, dice.chance(0.7) ? 1 : 1), ir.scale(rest.index, size)),
      );
      return ir.masked(
        mask,
        dice.chance(0.5) ? ir.op('mul', [body, this.constant(dtype, 2)]) : body,
        1,
      );
    }
    if (way < 0.26 && vars.length > 0) {
      // A view that needs division.
      const { name, size } = dice.pick(vars);
      const by = 2 + dice.below(9);
      const sym = ir.sym(name, size);
      const index = dice.chance(0.5)
        ? ir.div(sym, by)
        : ir.add(ir.scale(ir.mod(sym, by), Math.ceil(size / by)), ir.div(sym, by));
      return ir.load(dtype, this.buffer(dtype, 'read', by * Math.ceil(size / by) + by), index);
    }
    const { index, length } = this.layout(vars, true);
    return ir.load(dtype, this.buffer(dtype, 'read', length), index);
  }

  constant(dtype: DType, value: number): Expr {
    return this.ir.const(dtype, value);
  }

  /** A fresh leaf of a dtype. */
  leaf(vars: readonly LoopVar[], dtype: DType): Expr {
    const { dice, ir } = this;
    const scope = vars.map((v) => v.name).join();
    const known = this.loads.filter((load) => load.scope === scope && load.expr.dtype === dtype);
    const way = dice.next();
    if (known.length > 0 && way < 0.35) return dice.pick(known).expr;
    if (way < 0.45) return this.constant(dtype, this.value(dtype));
    if (way < 0.5 && dtype !== 'bool') {
      const name = `s${this.scalars.length}`;
      this.scalars.push({ name, dtype });
      this.scalarValues[name] = this.value(dtype);
      return ir.scalar(dtype, name);
    }
    if (way < 0.56 && vars.length > 0 && (dtype === 'int64' || dtype === 'int32')) {
      return ir.index(
        dtype,
        ir.add(ir.scale(ir.sym(dice.pick(vars).name), 1 + dice.below(3)), ir.int(dice.below(3))),
      );
    }
    if (way < 0.58 && dtype === 'float32') {
      return ir.random(
        'float32',
        dice.chance(0.5) ? 'uniform' : 'normal',
        ir.const('int64', dice.below(2 ** 31)),
        ir.const('int64', dice.below(100)),
        this.layout(vars, false).index,
      );
    }
    const expr = this.load(vars, dtype);
    this.loads.push({ scope, expr });
    return expr;
  }

  expr(vars: readonly LoopVar[], dtype: DType, depth: number): Expr {
    const { dice, ir } = this;
    if (depth <= 0) return this.leaf(vars, dtype);
    const sub = (type: DType = dtype): Expr => this.expr(vars, type, depth - 1 - dice.below(2));
    if (dtype === 'bool') {
      const way = dice.below(6);
      if (way === 0) return this.leaf(vars, 'bool');
      if (way === 1) return ir.op('not', [sub()]);
      if (way === 2) return ir.op(dice.pick(['and', 'or', 'xor'] as const), [sub(), sub()]);
      if (way === 3)
        return ir.op(dice.pick(['eq', 'ne', 'lt', 'le', 'gt', 'ge'] as const), [sub(), sub()]);
      // Comparisons of numbers that rounding cannot have touched.
      const type = dice.pick([...INTS, 'float32', 'float64', 'float16'] as const);
      return ir.op(
        dice.pick(['eq', 'ne', 'lt', 'le', 'gt', 'ge'] as const),
        [this.leaf(vars, type), this.leaf(vars, type)].map((e) =>
          e.kind === 'random' ? this.constant(type, 0) : e,
        ),
      );
    }
    if (INTS.includes(dtype)) {
      const way = dice.below(10);
      if (way === 0) return ir.cast(this.leaf(vars, dice.pick([...INTS, 'bool'] as const)), dtype);
      if (way === 1) return ir.op('where', [sub('bool'), sub(), sub()]);
      if (way === 2)
        return this.wrapped(
          ir.op(dice.pick(['floordiv', 'truncdiv', 'remainder', 'fmod'] as const), [sub(), sub()]),
        );
      if (way === 3)
        return this.wrapped(
          ir.op(dice.pick(['neg', 'abs', 'sign', 'square', 'not'] as const), [sub()]),
        );
      if (way === 4)
        return ir.op(dice.pick(['maximum', 'minimum', 'and', 'or', 'xor'] as const), [
          sub(),
          sub(),
        ]);
      if (way === 5)
        return this.wrapped(
          ir.op(dice.pick(['shl', 'shr'] as const), [sub(), this.constant(dtype, dice.below(4))]),
        );
      if (way === 6) return this.leaf(vars, dtype);
      return this.wrapped(ir.op(dice.pick(['add', 'sub', 'mul'] as const), [sub(), sub()]));
    }
    const small = (): Expr => ir.op('tanh', [sub()]);
    const positive = (): Expr => ir.op('add', [ir.op('abs', [sub()]), this.constant(dtype, 0.5)]);
    switch (dice.below(14)) {
      case 0:
        return ir.op('where', [sub('bool'), sub(), sub()]);
      case 1:
        return ir.op(dice.pick(['maximum', 'minimum'] as const), [sub(), sub()]);
      case 2:
        return ir.op('div', [sub(), positive()]);
      case 3:
        return ir.op(dice.pick(['exp', 'exp2', 'expm1', 'sinh', 'cosh', 'atan'] as const), [
          small(),
        ]);
      case 4:
        return ir.op(dice.pick(['sigmoid', 'tanh', 'erf', 'sin', 'cos'] as const), [sub()]);
      case 5:
        return ir.op(dice.pick(['log', 'log2', 'log1p', 'sqrt', 'rsqrt', 'reciprocal'] as const), [
          positive(),
        ]);
      case 6:
        return ir.op(dice.pick(['floor', 'ceil', 'round', 'trunc', 'sign'] as const), [
          this.numberLeaf(vars, dtype),
        ]);
      case 7:
        return ir.cast(this.leaf(vars, dice.pick([...INTS, ...FLOATS, 'bool'] as const)), dtype);
      case 8:
        return ir.op(dice.pick(['neg', 'abs'] as const), [sub()]);
      case 9:
        return ir.op('pow', [positive(), small()]);
      case 10:
        return ir.op('atan2', [small(), positive()]);
      case 11:
        return ir.op('fma', [small(), small(), sub()]);
      default:
        return ir.op(dice.pick(['add', 'sub', 'mul'] as const), [sub(), small()]);
    }
  }

  /** A leaf whose value no rounding has touched. */
  numberLeaf(vars: readonly LoopVar[], dtype: DType): Expr {
    const leaf = this.leaf(vars, dtype);
    return leaf.kind === 'random' ? this.constant(dtype, 1.5) : leaf;
  }

  /** Narrow integers wrap explicitly, as lowering does. */
  wrapped(expr: Expr): Expr {
    if (expr.dtype === 'int64' || expr.dtype === 'int32') return expr;
    return this.ir.op('cast', [this.ir.op('cast', [expr], 'int32')], expr.dtype);
  }

  store(vars: readonly LoopVar[], value: Expr): Stmt {
    const { index, length } = this.layout(vars, false);
    if (this.dice.chance(0.15)) {
      const name = this.buffer(value.dtype, 'readwrite', length);
      const old = this.ir.load(value.dtype, name, index);
      const float = !INTS.includes(value.dtype) && value.dtype !== 'bool';
      return {
        kind: 'store',
        buf: name,
        index,
        value: float
          ? this.ir.op('sub', [value, old])
          : value.dtype === 'bool'
            ? this.ir.op('xor', [value, old])
            : this.wrapped(this.ir.op('add', [value, old])),
      };
    }
    return { kind: 'store', buf: this.buffer(value.dtype, 'write', length), index, value };
  }

  dtype(): DType {
    const { dice } = this;
    return dice.chance(0.7) ? dice.pick(FLOATS) : dice.chance(0.8) ? dice.pick(INTS) : 'bool';
  }
}

/** The random kernel of a seed. */
export function randomKernel(seed: number): RandomKernel {
  const dice = new Dice(seed);
  const make = new Maker(dice);
  const { ir } = make;
  const vars = (prefix: string, count: number): LoopVar[] =>
    Array.from({ length: count }, (_, i) => ({ name: `${prefix}${i}`, size: dice.pick(SIZES) }));
  const shrink = (list: LoopVar[], limit: number): LoopVar[] => {
    let total = 1;
    return list.map((v) => {
      const size =
        total * v.size > limit ? Math.min(v.size, Math.max(1, Math.floor(limit / total))) : v.size;
      total *= size;
      return { ...v, size };
    });
  };
  let outer = shrink(vars('i', dice.below(4)), 600);
  const inner = dice.chance(0.6) ? shrink(vars('r', 1 + dice.below(2)), 300) : [];
  if (inner.length === 0 && dice.chance(0.2))
    outer = [{ name: 'i0', size: dice.pick([4097, 5000, 9001]) }];
  if (inner.length > 0 && dice.chance(0.1))
    inner[0] = { name: 'r0', size: dice.pick([700, 2050, 4096]) };
  const rows = inner.reduce((n, { size }) => n * size, 1);
  outer = shrink(outer, Math.max(1, Math.floor((inner.length > 0 ? 12_000 : 10_000) / rows)));
  const all = [...outer, ...inner];
  const stages: Stage[] = [];
  if (inner.length > 0) {
    const accs: Expr[] = [];
    for (let stage = 1 + dice.below(2); stage > 0; stage--) {
      const body: Stmt[] = [];
      const fresh: Expr[] = [];
      for (let count = 1 + dice.below(2); count > 0; count--) {
        const op = dice.pick([
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
        ] as const);
        const dtype: DType =
          op === 'any' || op === 'all'
            ? 'bool'
            : op === 'welford' || op === 'online_softmax'
              ? dice.pick(['float32', 'float32', 'float64'] as const)
              : dice.pick(['float32', 'float32', 'float64', 'int64', 'int32'] as const);
        let value = make.expr(
          all,
          dtype,
          op === 'argmax' || op === 'argmin' ? 0 : 1 + dice.below(3),
        );
        if (value.kind === 'random') value = make.constant(dtype, 1);
        if (accs.length > 0 && dice.chance(0.4)) {
          const acc = dice.pick(
            accs.filter((a) => a.dtype === dtype).concat(make.constant(dtype, 1)),
          );
          if (op !== 'argmax' && op !== 'argmin' && dtype !== 'bool')
            value = ir.op('sub', [value, acc]);
        }
        if (op === 'prod')
          value =
            dtype === 'int64' || dtype === 'int32'
              ? ir.op('maximum', [
                  ir.op('minimum', [value, make.constant(dtype, 1)]),
                  make.constant(dtype, -1),
                ])
              : ir.op('add', [
                  ir.op('mul', [ir.op('tanh', [value]), make.constant(dtype, 0.01)]),
                  make.constant(dtype, 1),
                ]);
        const isTwo = op === 'welford' || op === 'online_softmax';
        const first = 10 * stages.length + fresh.length;
        const ids = isTwo ? [first, first + 1] : [first];
        const result: DType = op === 'argmax' || op === 'argmin' ? 'int64' : dtype;
        body.push({ kind: 'reduce', op, ids, dtype: result, value });
        for (const id of ids) fresh.push(ir.acc(result, id));
        if (op === 'online_softmax' && dice.chance(0.5)) {
          make.loads.push({
            scope: 'softmax',
            expr: ir.op('exp', [ir.op('sub', [value, ir.acc(dtype, first)])]),
          });
        }
      }
      if (dice.chance(0.2)) body.push(make.store(all, make.expr(all, make.dtype(), 2)));
      if (dice.chance(0.3)) {
        // Half a pair: the second scan is of what the first gives.
        const dtype = dice.pick(['float32', 'float32', 'float64', 'int64', 'int32'] as const);
        let value: Expr = ir.op('maximum', [make.expr(all, dtype, 1), make.constant(dtype, -2)]);
        for (const id of [100 * (stages.length + 1), 100 * (stages.length + 1) + 1]) {
          const op = dice.pick(['sum', 'max', 'min'] as const);
          body.push({ kind: 'reduce', op, ids: [id], dtype, value, running: true });
          body.push(make.store(all, ir.acc(dtype, id)));
          value = ir.op('sub', [ir.acc(dtype, id), value]);
          if (dice.chance(0.5)) break;
        }
      }
      stages.push({ kind: 'inner', body });
      accs.push(...fresh);
    }
    for (const acc of accs) stages.push({ kind: 'outer', body: [make.store(outer, acc)] });
    if (dice.chance(0.6)) {
      const exponential = make.loads
        .filter((load) => load.scope === 'softmax')
        .map((load) => load.expr);
      const acc = dice.pick(accs);
      const base = exponential.length > 0 ? dice.pick(exponential) : make.expr(all, acc.dtype, 2);
      const value =
        base.dtype === acc.dtype && acc.dtype !== 'bool' ? ir.op('sub', [base, acc]) : base;
      stages.push({ kind: 'inner', body: [make.store(all, value)] });
    }
  } else {
    const body = Array.from({ length: 1 + dice.below(3) }, () =>
      make.store(outer, make.expr(outer, make.dtype(), 1 + dice.below(4))),
    );
    stages.push({ kind: 'outer', body });
  }
  const kernel: LoopKernel = {
    kind: 'loop',
    name: `fuzz_${seed}`,
    params: usedOnly(make, stages),
    scalars: make.scalars.filter(({ name }) => JSON.stringify(stages).includes(`"${name}"`)),
    outer,
    inner,
    stages,
  };
  verifyKernel(kernel);
  const buffers = Object.fromEntries(
    kernel.params.map(({ name }) => [name, make.buffers[name] as number[]]),
  );
  return { kernel, buffers, scalars: make.scalarValues };
}

/** Simplification may drop loads; a kernel lists only the buffers it uses. */
function usedOnly(make: Maker, stages: readonly Stage[]): LoopKernel['params'] {
  const text = JSON.stringify(stages);
  return make.params.filter(({ name }) => text.includes(`"${name}"`));
}
