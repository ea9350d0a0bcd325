import { type TesseraError, isTesseraError } from '@tessera/shared';
import { type Tensor, ones, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  type ExecutionPlan,
  compileGraph,
  hostBackend,
  interpretPlan,
  planFromJson,
  planToJson,
} from '../src/index.js';
import { GraphBuilder, target } from './graph-builder.js';

/** Parsed JSON that tests change at will. */
type Loose = { [key: string]: Loose } & Loose[] & { value: unknown };

function pointwise(): ExecutionPlan {
  const b = new GraphBuilder();
  const product = b.op('mul.Tensor', b.input([3, 4]), 2);
  return compileGraph(b.done(b.op('tanh', b.op('add.Tensor', product, b.input([4])))), {
    backend: target(),
  });
}

/** The plan after a change of its JSON. */
function changed(plan: ExecutionPlan, change: (json: Loose) => void): ExecutionPlan {
  const json = JSON.parse(planToJson(plan)) as Loose;
  change(json);
  return planFromJson(JSON.stringify(json));
}

/** The first line of the error that a change gives. */
function refusal(change: (json: Loose) => void, plan = pointwise()): string {
  try {
    changed(plan, change);
  } catch (error) {
    return isTesseraError(error, 'plan-invalid') ? error.message.split('\n')[0]! : String(error);
  }
  return 'accepted';
}

function exprOf(json: Loose, kind: string): Loose {
  return [...json.kernels![0]!.exprs!].find((expr) => (expr.kind as unknown) === kind)!;
}

const set = (at: Loose, key: string, value: unknown): void => {
  (at as Record<string, unknown>)[key] = value;
};

describe('a plan from a file', () => {
  it('loads as it was written', () => {
    expect(changed(pointwise(), () => undefined)).toEqual(pointwise());
  });

  it('cannot read or write beyond its buffers', () => {
    expect(
      refusal((j) => set(exprOf(j, 'load'), 'index', ['+', exprOf(j, 'load').index, 100])),
    ).toMatch(/load at 'in0\[.*\]' may reach elements 100 to 111, and there are 12/);
    expect(
      refusal((j) => {
        const store = j.kernels![0]!.stages![0]!.body![0]!;
        set(store, 'index', ['+', store.index, -1]);
      }),
    ).toMatch(/store at 'out0\[.*\]' may reach elements -1 to 10/);
    expect(refusal((j) => set(j.buffers![0]!, 'numel', 11))).toMatch(/may reach elements 0 to 11/);
    expect(refusal((j) => set(j.kernels![0]!.outer![0]!, 'size', 2 ** 20))).toMatch(/may reach/);
  });

  it('cannot hide a distance in numbers that are not exact, or in a quotient of what is negative', () => {
    const load = (index: (own: unknown) => unknown): string =>
      refusal((j) => {
        const expr = exprOf(j, 'load');
        set(expr, 'index', index(expr.index));
      });
    const far = ['*', 2 ** 32, 2 ** 32];
    expect(load((own) => ['+', own, far, 1000, ['*', far, -1]])).toMatch(/may reach/);
    // Kernels divide unsigned numbers: the quotient of -8 and 8 is 2^29 - 1, not -1.
    expect(load((own) => ['+', own, ['/', -8, 8], 1])).toMatch(/may reach/);
    expect(load((own) => ['+', own, ['/', ['+', 'i0', -16], 16], 1])).toMatch(/may reach/);
    expect(load((own) => ['+', own, ['/', ['+', 'i0', 16], 16], -1])).toBe('accepted');
  });

  it('cannot bring code into generated kernels', () => {
    const loop = (name: string) => (j: Loose) => {
      const { name: old } = j.kernels![0]!.outer![0]!;
      const text = JSON.stringify(j).replaceAll(JSON.stringify(old), JSON.stringify(name));
      Object.assign(j, JSON.parse(text));
    };
    expect(refusal(loop('a=(globalThis.PWNED=1),b'))).toMatch(/'kernels\[0\].*' is no name/);
    expect(refusal((j) => set(j.kernels![0]!, 'name', 'x){}('))).toMatch(/is no name/);
    expect(refusal((j) => set(j.kernels![0]!.params![0]!, 'name', 'in0,x=1'))).toMatch(
      /is no name/,
    );
    expect(refusal((j) => set(exprOf(j, 'const'), 'value', ['(globalThis.PWNED=1)']))).toMatch(
      /is no number/,
    );
    expect(refusal((j) => set(exprOf(j, 'op'), 'op', 'constructor'))).toMatch(
      /is none of the known/,
    );
    expect(refusal((j) => set(exprOf(j, 'op'), 'op', '__proto__'))).toMatch(/is none of the known/);
    expect('PWNED' in globalThis).toBe(false);
  });

  it('is refused as a whole where a part has the wrong kind, is missing or is out of range', () => {
    for (const text of ['null', '[]', '7', '"x"', '{"format":"tessera-plan","version":1}'])
      expect(() => planFromJson(text)).toThrow(/^Cannot read this execution plan/);
    expect(() => planFromJson(7 as never)).toThrow(/it is no text/);
    expect(refusal((j) => delete (j as Record<string, unknown>).launches)).toMatch(/'launches' is/);
    expect(refusal((j) => set(j.buffers![0]!, 'numel', -5))).toMatch(/'buffers\[0\].numel' is no/);
    expect(refusal((j) => set(j, 'arenaBytes', 2 ** 52))).toMatch(/'arenaBytes' is no integer/);
    expect(refusal((j) => set(j.buffers![0]!, 'dtype', 'float7'))).toMatch(/is none of the known/);
    expect(refusal((j) => set(j.launches![0]!, 'buffers', ['length']))).toMatch(/is no integer/);
    expect(refusal((j) => set(j.kernels![0]!.outer![0]!, 'size', 2 ** 31))).toMatch(
      /is no integer/,
    );
  });

  it('is refused where it is nested deeply, at once', () => {
    const adds = '["+",1,'.repeat(100_000) + '1' + ']'.repeat(100_000);
    const sums = planToJson(pointwise()).replace(
      '"buf":"in0","index":',
      `"buf":"in0","index":${adds},"old":`,
    );
    expect(() => planFromJson(sums)).toThrow(/nested more than 200 levels/);
  });

  it('checks where an extern call reads and writes, and that it only computes', () => {
    const plan = (op: string, strides: number[], args = 1): ExecutionPlan => ({
      version: 1,
      name: 'call',
      device: 'cpu',
      buffers: [
        { name: 'x', dtype: 'float32', numel: 4, source: { kind: 'input', index: 0 } },
        { name: 'y', dtype: 'float32', numel: 4, source: { kind: 'output', index: 0 } },
      ],
      numInputs: 1,
      outputs: [{ dtype: 'float32', sizes: [4], strides: [1] }],
      scalars: [],
      constants: [],
      kernels: [
        {
          kind: 'extern',
          name: 'extern_0',
          op,
          params: [
            { name: 'in0', dtype: 'float32', access: 'read' },
            { name: 'out0', dtype: 'float32', access: 'write' },
          ],
          scalars: [],
          args: [
            { kind: 'buffer' as const, name: 'in0', sizes: [4], strides, offset: 0 },
            { kind: 'value' as const, value: -Infinity },
            { kind: 'value' as const, value: 'NaN' },
          ].slice(0, args),
          outputs: [{ kind: 'buffer', name: 'out0', sizes: [4], strides: [1], offset: 0 }],
        },
      ],
      launches: [{ kernel: 0, buffers: [0, 1], scalars: [] }],
      arenaBytes: 0,
    });
    const same = (): void => undefined;
    expect(refusal(same, plan('aten::neg', [1]))).toBe('accepted');
    expect(refusal(same, plan('aten::neg', [2]))).toMatch(/reaches beyond the buffer 'in0'/);
    expect(refusal(same, plan('aten::neg_', [1]))).toMatch(/does not only compute/);
    expect(refusal(same, plan('aten::no_such', [1]))).toMatch(/no operator 'aten::no_such'/);
    expect(refusal(same, plan('aten::neg', [1], 3))).toMatch(/takes 1 arguments, not 3/);
    const clamp = plan('aten::clamp', [1], 3);
    expect(changed(clamp, same)).toEqual(clamp);
  });

  it('keeps special and large numbers', () => {
    for (const value of [NaN, Infinity, -Infinity, -0, 2 ** 62, -(2 ** 63), 2 ** 53 + 2, 5e-324]) {
      const b = new GraphBuilder();
      const dtype = Number.isInteger(value) && Math.abs(value) > 1 ? 'int64' : 'float64';
      const fill = b.op('full_like', b.input([2], dtype), value);
      const plan = compileGraph(b.done(fill), { backend: target() });
      const again = planFromJson(planToJson(plan));
      expect(again).toEqual(plan);
      if (dtype === 'float64')
        expect([...interpretPlan(again, [new Float64Array(2)])[0]!]).toEqual([value, value]);
    }
  });
});

describe('a plan from a file that runs', () => {
  const backend = hostBackend({
    name: 'interpreter',
  });

  it('takes tensors of its dtypes and sizes only', () => {
    const loaded = backend.load(planFromJson(planToJson(pointwise())));
    const [x, y] = [ones([3, 4]), ones([4])];
    const out = zeros([3, 4]);
    loaded.run([x, y], [out], []);
    expect(out.toArray()).toEqual(x.mul(2).add(y).tanh().toArray());
    const run =
      (inputs: Tensor[], outputs = [out]) =>
      () =>
        loaded.run(inputs, outputs, []);
    expect(run([x])).toThrow(/takes 2, 1, 0 inputs, outputs and scalars, not 1, 1, 0/);
    expect(run([ones([2, 4]), y])).toThrow(/input 0 has 8 elements.*, not 12/);
    expect(run([ones([3, 4], { dtype: 'float64' }), y])).toThrow(/input 0 is float64/);
    expect(run([x, y], [zeros([2, 4])])).toThrow(/output 0 is to be float32 \[3, 4\]/);
    expect(run([x, y], [zeros([3, 4], { dtype: 'int32' })])).toThrow(/output 0 is to be float32/);
  });
});

describe('errors of plans', () => {
  it("have the code 'plan-invalid' and say what to do", () => {
    try {
      planFromJson('[]');
    } catch (error) {
      expect((error as TesseraError).code).toBe('plan-invalid');
      expect((error as TesseraError).hints).not.toEqual([]);
      return;
    }
    throw new Error('nothing was thrown');
  });
});
