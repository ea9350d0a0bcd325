/**
 * @file Writes of parts of inputs: stored where they lie, not as new contents of the whole input.
 */
import type { GraphModule, Node } from '@tessera/graph';
import { type Tensor, fromTypedArray, isTensor } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { type ExecutionPlan, compileToExecutable, printKernel } from '../src/index.js';
import { GraphBuilder } from './graph-builder.js';
import { interpreterBackend } from './interpreter-backend.js';
import { storedIntoInputs } from './stored-elements.js';

/** Inputs of a graph, the same at each call; integers are `indices` in order. */
function inputsOf(module: GraphModule, indices: readonly (readonly number[])[]): Tensor[] {
  const given = [...indices];
  return module.graph.placeholders.map(({ meta: { val } }, k) => {
    if (!isTensor(val)) throw new Error('only tensors');
    const { dtype, numel, sizes } = val;
    if (dtype === 'int64')
      return fromTypedArray(BigInt64Array.from(given.shift()!, BigInt), [...sizes]);
    const data = Float32Array.from({ length: numel }, (_, i) => Math.fround(Math.sin(i + 7 * k)));
    return fromTypedArray(data, [...sizes]);
  });
}

/** Outputs of a graph, and new contents of inputs. */
interface Program {
  readonly outputs?: readonly Node[];
  readonly updates: readonly (readonly [input: Node, contents: Node])[];
}

/** Compiles a graph, runs it beside the graph itself, and gives the plan. */
function run(
  build: (b: GraphBuilder) => Program,
  indices: readonly (readonly number[])[] = [],
): ExecutionPlan {
  const b = new GraphBuilder();
  const { outputs = [], updates } = build(b);
  for (const [input, contents] of updates) b.mutate(input, contents);
  const module = b.done(...outputs);
  const [eager, compiled] = [inputsOf(module, indices), inputsOf(module, indices)];
  const expected = module.forward(...eager) as Tensor[];
  const fn = compileToExecutable(module, interpreterBackend(), { name: 'writes' });
  const actual = fn(compiled) as Tensor[];
  const text = fn.plan.kernels.map(printKernel).join('\n');
  expected.forEach((tensor, i) =>
    close(readNumbers(actual[i]!), readNumbers(tensor), `output ${i}\n${text}`),
  );
  eager.forEach((tensor, i) =>
    close(readNumbers(compiled[i]!), readNumbers(tensor), `input ${i}\n${text}`),
  );
  return fn.plan;
}

function close(actual: ArrayLike<number>, expected: ArrayLike<number>, what: string): void {
  for (let i = 0; i < expected.length; i++)
    if (!(Math.abs(actual[i]! - expected[i]!) <= 1e-4 * (1 + Math.abs(expected[i]!))))
      throw new Error(`${what}\nelement ${i} is ${actual[i]}, not ${expected[i]}`);
}

const SIZES = [2, 64, 32] as const;
const cache = (b: GraphBuilder): Node => b.input(SIZES);
const rows = (b: GraphBuilder, count: number): Node => b.input([2, count, 32]);

describe('a write of a part', () => {
  it('stores the part alone, and readers of the whole follow it', () => {
    const plan = run((b) => {
      const [x, row] = [cache(b), rows(b, 1)];
      const written = b.op('slice_scatter', x, row, 1, 5, 6);
      return { outputs: [b.op('sum.dim_IntList', written, [1])], updates: [[x, written]] };
    });
    expect(storedIntoInputs(plan)).toEqual({ 0: 64 });
    expect(plan.kernels.map(printKernel).join('\n')).toMatchInlineSnapshot(`
      "loop fused_slice_scatter_0(in0: f32, write out0: f32)
        for [i0:2, i1:32]
        outer:
          t0: f32 = in0[32*i0 + i1]
          out0[2048*i0 + i1 + 160] = t0
      loop fused_sum_1(in0: f32, write out0: f32)
        for [i0:2, i1:32] inner [r0:64]
        inner:
          t0: f32 = in0[2048*i0 + 32*r0 + i1]
          acc0: f32 = sum(t0)
        outer:
          out0[32*i0 + i1] = acc0"
    `);
  });

  it('follows readers of the old contents', () => {
    const plan = run((b) => {
      const [x, row] = [cache(b), b.input([2, 32])];
      const before = b.op('sum.dim_IntList', x, [1]);
      const twice = b.op('mul.Tensor', b.op('select.int', x, 1, 9), 2);
      const written = b.op('select_scatter', x, row, 1, 9);
      const sum = b.op('add.Tensor', written, b.op('unsqueeze', twice, 1));
      return { outputs: [before, twice, sum], updates: [[x, written]] };
    });
    expect(storedIntoInputs(plan)).toEqual({ 0: 64 });
  });

  it('may be computed of what it overwrites', () => {
    const plan = run((b) => {
      const [x, more] = [cache(b), rows(b, 3)];
      const sum = b.op('add.Tensor', b.op('slice.Tensor', x, 1, 4, 7), more);
      return { updates: [[x, b.op('slice_scatter', x, sum, 1, 4, 7)]] };
    });
    expect(storedIntoInputs(plan)).toEqual({ 0: 192 });
    expect(plan.launches).toHaveLength(1);
  });

  it('goes through other memory where it is computed of its neighbours', () => {
    const plan = run((b) => {
      const x = cache(b);
      const moved = b.op('slice.Tensor', x, 1, 1, 9);
      return { updates: [[x, b.op('slice_scatter', x, moved, 1, 0, 8)]] };
    });
    expect(storedIntoInputs(plan)).toEqual({ 0: 512 });
    expect(plan.launches).toHaveLength(2);
  });

  it('reaches the whole through views, and what the views show is read from there', () => {
    const plan = run((b) => {
      const [x, row] = [b.input([3, 4, 16, 32]), b.input([4, 1, 32])];
      const layer = b.op('select.int', x, 0, 1);
      const inner = b.op('slice_scatter', layer, row, 1, 7, 8);
      const sum = b.op('sum.dim_IntList', inner, [1]);
      return { outputs: [sum], updates: [[x, b.op('select_scatter', x, inner, 0, 1)]] };
    });
    expect(storedIntoInputs(plan)).toEqual({ 0: 128 });
    expect(plan.launches).toHaveLength(2);
  });

  it('reaches the whole through rearranged views', () => {
    const plan = run((b) => {
      const [x, row] = [b.input([8, 16, 32]), b.input([128])];
      const turned = b.op('permute', b.op('view', x, [128, 32]), [1, 0]);
      const before = b.op('sum.dim_IntList', turned, [1]);
      const written = b.op('select_scatter', turned, row, 0, 3);
      const whole = b.op('view', b.op('permute', written, [1, 0]), [8, 16, 32]);
      const after = b.op('sum.dim_IntList', whole, [2]);
      return { outputs: [before, after], updates: [[x, whole]] };
    });
    expect(storedIntoInputs(plan)).toEqual({ 0: 128 });
  });

  it('is not taken for one through a view that it is not made of', () => {
    run((b) => {
      const [x, row] = [b.input([4, 4, 16, 32]), b.input([4, 1, 32])];
      const inner = b.op('slice_scatter', b.op('select.int', x, 0, 1), row, 1, 7, 8);
      const turned = b.op('permute', b.op('permute', x, [1, 0, 2, 3]), [0, 1, 2, 3]);
      return {
        outputs: [b.op('clone', turned)],
        updates: [[x, b.op('select_scatter', x, inner, 0, 2)]],
      };
    });
  });

  it('is one of several, in order, with readers between them', () => {
    const plan = run((b) => {
      const [x, four, line] = [cache(b), rows(b, 4), b.input([32, 2])];
      const first = b.op('slice_scatter', x, four, 1, 0, 4);
      const between = b.op('sum.dim_IntList', first, [2]);
      const second = b.op('slice_scatter', first, b.op('neg', four), 1, 2, 6);
      const largest = b.op('amax', second, [1]);
      const third = b.op('diagonal_scatter', second, line, 0, 0, 1);
      return {
        outputs: [between, largest, b.op('mul.Tensor', third, 2)],
        updates: [[x, third]],
      };
    });
    expect(storedIntoInputs(plan)).toEqual({ 0: 256 + 256 + 64 });
  });

  it('is of several inputs, each of which may be computed of another', () => {
    const plan = run((b) => {
      const [x, y] = [cache(b), cache(b)];
      const row = b.op('select.int', x, 1, 0);
      const a = b.op('select_scatter', x, b.op('select.int', y, 1, 63), 1, 3);
      const c = b.op('select_scatter', y, row, 1, 3);
      const scores = b.op('bmm', a, b.op('permute', c, [0, 2, 1]));
      return {
        outputs: [scores],
        updates: [
          [x, a],
          [y, c],
        ],
      };
    });
    expect(storedIntoInputs(plan)).toEqual({ 1: 64, 0: 64 });
  });

  it('leaves a returned copy of the contents alone', () => {
    const plan = run((b) => {
      const [x, row] = [cache(b), rows(b, 1)];
      const written = b.op('slice_scatter', x, row, 1, 63, 64);
      return { outputs: [written], updates: [[x, written]] };
    });
    expect(storedIntoInputs(plan)).toEqual({ 0: 64 });
  });

  it('is not made where old contents are needed whole', () => {
    const plan = run((b) => {
      const [x, row] = [cache(b), rows(b, 1)];
      const written = b.op('slice_scatter', x, row, 1, 8, 9);
      return { outputs: [b.op('add.Tensor', x, written)], updates: [[x, written]] };
    });
    expect(storedIntoInputs(plan)).toEqual({ 0: 4096 });
    expect(plan.launches).toHaveLength(1);
  });

  it('is not worth a kernel of its own where little is left alone', () => {
    const plan = run((b) => {
      const [x, row] = [b.input([4, 8]), b.input([8])];
      const written = b.op('select_scatter', x, row, 0, 2);
      return { outputs: [b.op('mul.Tensor', written, 2)], updates: [[x, written]] };
    });
    expect(storedIntoInputs(plan)).toEqual({ 0: 32 });
    expect(plan.launches).toHaveLength(1);
  });
});

describe('a write at an index', () => {
  it('stores the rows that are named', () => {
    const plan = run(
      (b) => {
        const [x, at, row] = [cache(b), b.input([1], 'int64'), rows(b, 1)];
        const written = b.op('index_copy', x, 1, at, row);
        return { outputs: [b.op('sum.dim_IntList', written, [1])], updates: [[x, written]] };
      },
      [[41]],
    );
    expect(storedIntoInputs(plan)).toEqual({ 0: 64 });
    expect(plan.kernels.map(printKernel).join('\n')).toMatchInlineSnapshot(`
      "loop fused_index_copy_0(in0: i64, in1: f32, readwrite io0: f32)
        for [i0:2, i1:32]
        outer:
          t0: i64 = in0[0]
          t1: bool = within(t0, 64)
          t2: i32 = i32(t0)
          t3: i32 = t2 checked t1 (index_copy index < 64: t0)
          t4: f32 = in1[32*i0 + i1]
          t5: f32 = io0[2048*i0 + 32*t3 + i1]
          t6: f32 = where(t1, t4, t5)
          io0[2048*i0 + 32*t3 + i1] = t6
      loop fused_sum_1(in0: f32, write out0: f32)
        for [i0:2, i1:32] inner [r0:64]
        inner:
          t0: f32 = in0[2048*i0 + 32*r0 + i1]
          acc0: f32 = sum(t0)
        outer:
          out0[32*i0 + i1] = acc0"
    `);
  });

  it.each([
    ['different', [3, 60, 0, 17]],
    ['the same', [9, 4, 9, 9]],
  ])('stores the last of several rows for one place: %s places', (_, indices) => {
    const plan = run(
      (b) => {
        const [x, at, four] = [cache(b), b.input([4], 'int64'), rows(b, 4)];
        return { updates: [[x, b.op('index_copy', x, 1, at, four)]] };
      },
      [indices],
    );
    expect(storedIntoInputs(plan)).toEqual({ 0: 256 });
  });

  it('needs no search where places are neighbours', () => {
    const plan = run(
      (b) => {
        const [x, at, four] = [cache(b), b.input([1], 'int64'), rows(b, 4)];
        const places = b.op('add.Tensor', at, b.op('arange', 4));
        return { updates: [[x, b.op('index_copy', x, 1, places, four)]] };
      },
      [[30]],
    );
    expect(storedIntoInputs(plan)).toEqual({ 0: 256 });
    expect(plan.launches).toHaveLength(2);
  });

  it('takes indices of several dimensions, negative ones and values that broadcast', () => {
    const plan = run(
      (b) => {
        const x = cache(b);
        const [i, j, k] = [b.input([3], 'int64'), b.input([1], 'int64'), b.input([1, 1], 'int64')];
        const [one, many, few] = [b.input([1]), b.input([3, 32]), b.input([3, 64])];
        const first = b.op('index_put', x, [null, i, j], one);
        const second = b.op('index_put', first, [k, i], many);
        const third = b.op('index_put', second, [k, null, i], few);
        return { updates: [[x, third]] };
      },
      [[-1, 1, -1], [-32], [1]],
    );
    expect(storedIntoInputs(plan)).toEqual({ 0: 2 * 3 + 3 * 32 + 3 * 64 });
  });

  it('takes an index for each element', () => {
    const plan = run(
      (b) => {
        const [x, at, value] = [cache(b), b.input([2, 3, 32], 'int64'), rows(b, 3)];
        const one = b.input([1, 1, 1], 'int64');
        const written = b.op('scatter.src', x, 1, at, value);
        return { updates: [[x, b.op('scatter.value', written, 1, one, 5)]] };
      },
      [Array.from({ length: 192 }, (_, i) => (i * 7) % 5), [63]],
    );
    expect(storedIntoInputs(plan)).toEqual({ 0: 193 });
  });

  it('does not happen where the index is refused', () => {
    const b = new GraphBuilder();
    const [x, at, row] = [cache(b), b.input([1], 'int64'), rows(b, 1)];
    b.mutate(x, b.op('index_copy', x, 1, at, row));
    const module = b.done();
    const fn = compileToExecutable(module, interpreterBackend(), { name: 'refused' });
    for (const index of [64, -1]) {
      const inputs = inputsOf(module, [[index]]);
      const before = [...readNumbers(inputs[0]!)];
      expect(() => fn(inputs)).toThrow(expect.objectContaining({ code: 'index-out-of-range' }));
      expect([...readNumbers(inputs[0]!)]).toEqual(before);
    }
  });
});
