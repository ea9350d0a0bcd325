/** @file Random products: layouts, loop variables, masks, prologues and epilogues against the interpreter. */
import { describe, expect, it } from 'vitest';
import {
  IrBuilder,
  printKernel,
  type Expr,
  type IndexExpr,
  type LoopVar,
  type MatmulKernel,
  type Stmt,
} from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import { compareWithInterpreter } from './run-kernel.js';

const FIRST = Number(process.env.FUZZ_SEED ?? 1);
const COUNT = Number(process.env.FUZZ_COUNT ?? 240);
const PER_TEST = 40;

/** Small deterministic generator. */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed, 2654435761) >>> 0;
  }

  below(n: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * n);
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)];
  }

  shuffled<T>(items: readonly T[]): T[] {
    const left = [...items];
    return Array.from(items, () => left.splice(this.below(left.length), 1)[0]);
  }
}

interface Case {
  readonly kernel: MatmulKernel;
  readonly sizes: Record<string, number>;
}

function randomCase(seed: number): Case {
  const dice = new Dice(seed);
  const ir = new IrBuilder();
  const sizes: Record<string, number> = {};
  const params: MatmulKernel['params'][number][] = [];
  const dtype = dice.pick<DType>([
    'float32',
    'float32',
    'float32',
    'float64',
    'int32',
    'int64',
    'float16',
    'bfloat16',
  ]);
  const accDtype = dtype.endsWith('16') ? 'float32' : dtype;

  const list = (role: string, count: number, largest: number): LoopVar[] =>
    Array.from({ length: count }, (_, i) => ({
      name: `${role}${i}`,
      size: 1 + dice.below(i === count - 1 ? largest : 3),
    }));
  const m = list('m', dice.below(3), 22);
  const n = list('n', dice.below(4), 22);
  const k = list('k', 1 + dice.below(3), 12);
  const batch = list('b', dice.below(2), 3);
  const all = [...batch, ...m, ...n, ...k];
  for (const { name, size } of all) ir.sym(name, size);

  /** A buffer laid out in a random order of the variables, sometimes with gaps or broadcast. */
  const strided = (
    vars: readonly LoopVar[],
    buf: string,
    constant: number,
    mayBroadcast: boolean,
  ): IndexExpr => {
    let stride = dice.chance(15) ? 2 : 1;
    const terms: IndexExpr[] = [ir.int(constant)];
    const kept = dice.chance(60) ? vars : dice.shuffled(vars);
    for (const { name, size } of kept.toReversed()) {
      if (mayBroadcast && dice.chance(10)) continue;
      terms.push(ir.scale(ir.sym(name), stride));
      stride *= size + (dice.chance(10) ? 1 : 0);
    }
    sizes[buf] = Math.max(sizes[buf] ?? 0, stride + constant);
    return ir.add(...terms);
  };

  const operand = (buf: string, lines: readonly LoopVar[]): Expr => {
    params.push({ name: buf, dtype, access: 'read' });
    const vars = [...batch, ...(dice.chance(50) ? [...lines, ...k] : [...k, ...lines])];
    let expr: Expr;
    if (dice.chance(20) && lines.length > 0) {
      // A sliding window: the last line and the last k variable share a dimension, with padding.
      const [line, step] = [lines[lines.length - 1], k[k.length - 1]];
      const pad = dice.below(3);
      const stride = 1 + dice.below(2);
      const extent = Math.max(1, line.size * stride + step.size - pad - dice.below(3));
      const position = ir.add(ir.scale(ir.sym(line.name), stride), ir.sym(step.name), ir.int(-pad));
      const value = ir.index('int32', position);
      const inside = ir.op('and', [
        ir.op('ge', [value, ir.const('int32', 0)]),
        ir.op('lt', [value, ir.const('int32', extent)]),
      ]);
      let rowStride = extent;
      const terms: IndexExpr[] = [position];
      for (const { name, size } of [...batch, ...lines.slice(0, -1), ...k.slice(0, -1)]) {
        terms.push(ir.scale(ir.sym(name), rowStride));
        rowStride *= size;
      }
      sizes[buf] = rowStride;
      expr = ir.masked(inside, ir.load(dtype, buf, ir.add(...terms)), dice.pick([0, 1]));
    } else {
      expr = ir.load(dtype, buf, strided(vars, buf, dice.below(3), true));
    }
    if (dice.chance(25)) expr = ir.op('maximum', [expr, ir.const(dtype, 0)]);
    if (dice.chance(15) && lines.length > 0)
      expr = ir.op('mul', [expr, ir.cast(ir.index('int32', ir.sym(lines[0].name)), dtype)]);
    return ir.cast(expr, accDtype);
  };

  const a = operand('A', m);
  const b = operand('B', n);
  const product = ir.acc(accDtype, 0);
  const epilogue: Stmt[] = [];
  const outs = [...batch, ...m, ...n];
  for (const buf of dice.chance(25) ? ['C', 'D'] : ['C']) {
    const index = strided(dice.chance(70) ? outs : dice.shuffled(outs), buf, dice.below(3), false);
    let value: Expr = product;
    if (dice.chance(30)) value = ir.op('neg', [value]);
    let access: 'write' | 'readwrite' = 'write';
    if (dice.chance(25)) {
      value = ir.op('add', [value, ir.cast(ir.load(dtype, buf, index), accDtype)]);
      access = 'readwrite';
    }
    if (dice.chance(25) && n.length > 0) {
      const bias = `bias_${buf}`;
      params.push({ name: bias, dtype, access: 'read' });
      value = ir.op('add', [
        value,
        ir.cast(ir.load(dtype, bias, strided(n, bias, 0, false)), accDtype),
      ]);
    }
    params.push({ name: buf, dtype, access });
    epilogue.push({ kind: 'store', buf, index, value: ir.cast(value, dtype) });
  }
  return {
    kernel: {
      kind: 'matmul',
      name: `random_${seed}`,
      params,
      scalars: [],
      batch,
      m,
      n,
      k,
      a,
      b,
      accDtype,
      epilogue,
    },
    sizes,
  };
}

const TOLERANCE: Partial<Record<DType, number>> = {
  float32: 1e-5,
  float64: 1e-12,
  float16: 2e-3,
  bfloat16: 1.6e-2,
};

describe('random matrix products', () => {
  for (let start = FIRST; start < FIRST + COUNT; start += PER_TEST) {
    it(`agree with the interpreter, seeds ${start} to ${start + PER_TEST - 1}`, () => {
      for (let seed = start; seed < start + PER_TEST; seed++) {
        const { kernel, sizes } = randomCase(seed);
        const error = compareWithInterpreter(kernel, sizes);
        const bound = TOLERANCE[kernel.params[0].dtype] ?? 0;
        if (!(error <= bound))
          expect.fail(`seed ${seed}: differs by ${error}\n${printKernel(kernel)}`);
      }
    });
  }
});
