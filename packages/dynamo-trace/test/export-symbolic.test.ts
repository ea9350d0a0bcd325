/**
 * @file Exported graphs with symbolic sizes: what they say, where they run, what they refuse.
 */
import { type ExportedGraph, type JsonExport, exportFromJson, exportToJson } from '@tessera/graph';
import {
  type Tensor,
  add,
  cat,
  matmul,
  mul,
  ones,
  softmax,
  sum,
  tensor,
  track,
} from '@tessera/tensor';
import { layerNorm } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { exportGraph, markDynamic, markStatic } from '../src/index.js';
import { numbers } from './numbers.js';

function throughJson(exported: ExportedGraph): ExportedGraph {
  return exportFromJson(JSON.parse(JSON.stringify(exportToJson(exported))) as JsonExport);
}

function violation(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    expect(error).toMatchObject({ code: 'constraint-violation' });
    return (error as Error).message.split('\n')[0]!;
  }
  throw new Error('nothing was thrown');
}

describe('exportGraph with symbolic sizes', () => {
  const weight = tensor(
    [
      [1, 2, 3],
      [3, 4, 5],
    ],
    { dtype: 'float32', requiresGrad: true },
  );
  let calls = 0;
  const project = (x: Tensor, cfg: { bias: Tensor }): { y: Tensor; rows: number } => {
    calls++;
    const [b, t, c] = x.shape as [number, number, number];
    const flat = matmul(x.reshape([b * t, c]), weight).add(cfg.bias);
    return { y: softmax(flat.view([b, t, 3]), -1).mul(b), rows: b * t };
  };

  it('prints symbols, guards them, runs at other sizes and goes through JSON', () => {
    const args = [numbers(4, 5, 2), { bias: tensor([1, 2, 3], { dtype: 'float32' }) }] as const;
    const exported = exportGraph(project, [...args], { dynamicShapes: { x: [true, { max: 64 }] } });
    expect(exported.print()).toMatchInlineSnapshot(`
      "export function forward(l_x: Tensor /* f32[s0, s1, 2] */, l_cfg_bias: Tensor /* f32[3] */) {
        const s0 = l_x.size(0); // 4
        const s1 = l_x.size(1); // 5
        const lifted0 = self.lifted0; // f32[2, 3]
        const reshape = aten.reshape.default(l_x, [s0 * s1, 2]); // f32[s0 * s1, 2]
        const matmul = aten.matmul.default(reshape, lifted0); // f32[s0 * s1, 3]
        const add = aten.add.Tensor(matmul, l_cfg_bias, 1); // f32[s0 * s1, 3]
        const view = aten.view.default(add, [s0, s1, 3]); // f32[s0, s1, 3]
        const softmax = aten.softmax.int(view, -1, null); // f32[s0, s1, 3]
        const mul = aten.mul.Tensor(softmax, s0); // f32[s0, s1, 3]
        return [mul, s0 * s1];
      }
      "
    `);
    expect(exported.guards).toMatchInlineSnapshot(`
      [
        "L['x']: TENSOR_MATCH float32 cpu [s0, s1, 2] strides [2 * s1, 2, 1]",
        "L['cfg'].bias: TENSOR_MATCH float32 cpu [3] strides [1]",
        "2 <= L['x'].size()[0]",
        "2 <= L['x'].size()[1] <= 64",
      ]
    `);
    calls = 0;
    const loaded = throughJson(exported);
    expect(loaded.print()).toBe(exported.print());
    expect(loaded.guards).toEqual(exported.guards);
    for (const graph of [exported, loaded]) {
      for (const [b, t] of [
        [4, 5],
        [2, 64],
        [9, 2],
        [6, 6],
      ] as const) {
        const x = numbers(b, t, 2);
        const got = graph.call(x, args[1]) as ReturnType<typeof project>;
        expect(calls).toBe(0);
        const want = project(x, args[1]);
        calls = 0;
        expect(got.y.toArray()).toEqual(want.y.toArray());
        expect(got.rows).toBe(want.rows);
      }
      const refused = (x: Tensor, words: string): void =>
        expect(() => graph.call(x, args[1])).toThrow(words);
      refused(numbers(1, 5, 2), "2 <= L['x'].size()[0] (it is 1)");
      refused(numbers(4, 65, 2), "2 <= L['x'].size()[1] <= 64 (it is 65)");
      refused(numbers(4, 5, 3), "tensor 'L['x']' size mismatch at index 2. expected 2, actual 3");
      refused(numbers(4, 5), "tensor 'L['x']' rank mismatch. expected 3, actual 2");
      refused(
        numbers(5, 4, 2).transpose(0, 1),
        "tensor 'L['x']' stride mismatch at index 1. expected 2, actual 8",
      );
    }
  });

  it('marks, dynamic: true, equal sizes and names', () => {
    const fn = (x: Tensor, y: Tensor): Tensor => cat([mul(x, 2), y]);
    const bounded = numbers(5);
    markDynamic(bounded, 0, { max: 9 });
    const marked = exportGraph(fn, [bounded, numbers(5)]);
    expect(marked.guards.slice(1)).toEqual([
      "L['y']: TENSOR_MATCH float32 cpu [5] strides [1]",
      "2 <= L['x'].size()[0] <= 9",
    ]);
    const all = exportGraph(fn, [numbers(5), numbers(5)], { dynamic: true });
    expect(all.guards).toEqual([
      "L['x']: TENSOR_MATCH float32 cpu [s0] strides [1]",
      "L['y']: TENSOR_MATCH float32 cpu [s0] strides [1]",
      "L['y'].size()[0] == L['x'].size()[0]",
      "2 <= L['x'].size()[0]",
    ]);
    expect(() => all.call(numbers(3), numbers(4))).toThrow(
      "L['y'].size()[0] == L['x'].size()[0] (it is 4)",
    );
    const named = exportGraph(fn, [numbers(5), numbers(5)], {
      dynamicShapes: [[{ name: 'a' }], [{ name: 'b' }]],
    });
    expect((named.call(numbers(3), numbers(4)) as Tensor).shape).toEqual([7]);
    const fixed = numbers(5);
    markStatic(fixed);
    const some = exportGraph(fn, [fixed, numbers(4)], { dynamic: true });
    expect((some.call(numbers(5), numbers(7)) as Tensor).shape).toEqual([12]);
    expect(() => some.call(numbers(6), numbers(7))).toThrow('size mismatch');
  });

  it('a size that the program fixes is an error where it was declared to vary', () => {
    const four = (x: Tensor): Tensor => (x.shape[0] === 4 ? mul(x, 2) : add(x, 1));
    expect(
      violation(() => exportGraph(four, [numbers(4, 3)], { dynamicShapes: [{ 0: true }] })),
    ).toMatch(
      /^Constraints violated \(L\['x'\]\.size\(\)\[0\]\): it was declared to vary, but the program specialised it to the constant 4: at 2 the program runs `const add = aten\.add\.Tensor\(l_x, 1, 1\);`/,
    );
    const auto = exportGraph(four, [numbers(4, 3)], { dynamic: true });
    expect(auto.guards[0]).toBe("L['x']: TENSOR_MATCH float32 cpu [4, s0] strides [s0, 1]");
    const viewed = (x: Tensor): Tensor => x.view([2, 2]);
    expect(
      violation(() => exportGraph(viewed, [numbers(4)], { dynamicShapes: [[true]] })),
    ).toContain('specialised it to the constant 4');
    const marked = numbers(4, 3);
    markDynamic(marked, 0);
    expect(violation(() => exportGraph(four, [marked]))).toContain('constant 4');
  });

  it('a branch narrows an open range, and violates a declared one', () => {
    const fn = (x: Tensor): Tensor => (x.shape[0]! > 5 ? mul(x, 2) : add(x, 1));
    const open = exportGraph(fn, [numbers(8)], { dynamicShapes: [[true]] });
    expect(open.guards.at(-1)).toBe("6 <= L['x'].size()[0]");
    expect((open.call(numbers(6)) as Tensor).toArray()).toEqual(fn(numbers(6)).toArray());
    expect(() => open.call(numbers(5))).toThrow("6 <= L['x'].size()[0] (it is 5)");
    expect(
      violation(() => exportGraph(fn, [numbers(8)], { dynamicShapes: [[{ min: 3, max: 20 }]] })),
    ).toContain('not all values from 3 to 20 do: at 3 the program runs');
    exportGraph(fn, [numbers(8)], { dynamicShapes: [[{ min: 6, max: 20 }]] });
  });

  it('sizes that must be related need one name', () => {
    const fn = (x: Tensor, y: Tensor): Tensor => add(x, y);
    const options = { dynamicShapes: [[{ name: 'a' }], [{ name: 'b' }]] };
    expect(violation(() => exportGraph(fn, [numbers(5), numbers(5)], options))).toContain(
      'must match',
    );
    const one = { dynamicShapes: [[{ name: 'a' }], [{ name: 'a' }]] };
    exportGraph(fn, [numbers(5), numbers(5)], one);
    expect(() => exportGraph(fn, [numbers(5), numbers(6)], one)).toThrow('have one name');
  });

  it('a constant of an argument at which the program branches is tried', () => {
    const fn = (x: Tensor, cfg: { limit: number }): Tensor =>
      x.shape[0]! < cfg.limit ? mul(x, 2) : add(x, 1);
    const exported = exportGraph(fn, [numbers(4), { limit: 777 }], { dynamic: true });
    expect(exported.guards.at(-1)).toBe("2 <= L['x'].size()[0] <= 776");
  });

  it('a tensor that is only measured is an input', () => {
    const fn = (x: Tensor, y: Tensor): Tensor => x.view([y.shape[0]!, -1]);
    const exported = exportGraph(fn, [numbers(12), numbers(4)], {
      dynamicShapes: { y: [true] },
    });
    expect(exported.print()).toMatchInlineSnapshot(`
      "export function forward(l_x: Tensor /* f32[12] */, l_y: Tensor /* f32[s0] */) {
        const s0 = l_y.size(0); // 4
        const view = aten.view.default(l_x, [s0, -1]); // f32[s0, Math.floor(12 / s0)]
        return [view];
      }
      "
    `);
    expect((exported.call(numbers(12), numbers(6)) as Tensor).shape).toEqual([6, 2]);
  });

  it('computes nothing and leaves parameters and gradients as they are', () => {
    const p = tensor([1, 2], { dtype: 'float32', requiresGrad: true });
    const stats = track({ seen: tensor([0], { dtype: 'float32' }) });
    const fn = (x: Tensor): Tensor => {
      stats.seen.add_(1);
      mul(x, p).sum().backward();
      return p.grad!;
    };
    const exported = exportGraph(fn, [numbers(4, 2)], { dynamic: true });
    expect(p.grad).toBe(null);
    expect(stats.seen.toArray()).toEqual([0]);
    expect((exported.call(numbers(7, 2)) as Tensor).toArray()).toEqual(
      sum(numbers(7, 2), 0).toArray(),
    );
    expect(stats.seen.toArray()).toEqual([1]);
  });

  it('loops over a size and values read from tensors are refused', () => {
    const loop = (x: Tensor): Tensor => {
      let y = x;
      for (let i = 0; i < x.shape[0]!; i++) y = add(y, 1);
      return y;
    };
    expect(violation(() => exportGraph(loop, [numbers(3)], { dynamicShapes: [[true]] }))).toContain(
      'constant 3',
    );
    const read = (x: Tensor): Tensor => mul(x, x.sum().item());
    expect(() => exportGraph(read, [numbers(3)], { dynamic: true })).toThrow('(GB0001)');
  });

  it.each<[string, unknown[], unknown, RegExp]>([
    ['a misspelt option', [numbers(4)], { dynamicShape: [[true]] }, /Did you mean 'dynamicShapes'/],
    ['options by position', [numbers(4)], true, /options are an object/],
    ['a misspelt range', [numbers(4)], { dynamicShapes: [[{ mni: 3 }]] }, /no option 'mni'/],
    ['a parameter that is not there', [numbers(4)], { dynamicShapes: { y: [true] } }, /'y'.*x/],
    ['one argument too many', [numbers(4)], { dynamicShapes: [[true], [true]] }, /argument 1/],
    ['a number', [numbers(4)], { dynamicShapes: 5 }, /neither a list nor a record/],
    ['arguments that are no list', numbers(4) as never, {}, /exportGraph\(fn, \[x, y\]\)/],
  ])('refuses %s', (_, args, options, told) => {
    const refused = (): unknown =>
      exportGraph((x: Tensor) => x.mul(2), args as [Tensor], options as never);
    expect(refused).toThrow(expect.objectContaining({ code: 'invalid-argument' }));
    expect(refused).toThrow(told);
  });

  it('bad declarations are named', () => {
    const fn = (x: Tensor, cfg: { y: Tensor }): Tensor => add(x, cfg.y.sum());
    const args: Parameters<typeof fn> = [numbers(1, 3), { y: numbers(2) }];
    const exporting = (dynamicShapes: object) => () =>
      exportGraph(fn, args, { dynamicShapes: dynamicShapes as never });
    expect(exporting({ x: { 0: true } })).toThrow('dim 0, which has size 1');
    expect(exporting({ x: { 2: true } })).toThrow("has no dim '2'");
    expect(exporting({ cfg: { z: [true] } })).toThrow("has no 'z'");
    expect(exporting({ x: [null, { min: 4 }] })).toThrow(
      'dim 1, which has size 3, is declared to be from 4',
    );
    const nested = exportGraph(fn, args, { dynamicShapes: { cfg: { y: { [-1]: true } } } });
    expect(nested.guards).toContain("2 <= L['cfg'].y.size()[0]");
    expect((nested.call(args[0], { y: numbers(9) }) as Tensor).shape).toEqual([1, 3]);
  });

  it('a transformer block with two symbols', () => {
    const w = tensor(
      Array.from({ length: 8 }, (_, i) =>
        Array.from({ length: 24 }, (_, j) => Math.sin(i * 24 + j)),
      ),
      { dtype: 'float32' },
    );
    const block = (x: Tensor): Tensor => {
      const [b, t, c] = x.shape as [number, number, number];
      const [q, k, v] = matmul(layerNorm(x, [c]), w).split(c, -1) as [Tensor, Tensor, Tensor];
      const heads = (y: Tensor): Tensor => y.view([b, t, 2, c / 2]).transpose(1, 2);
      const scores = matmul(heads(q), heads(k).transpose(-2, -1)).div(Math.sqrt(c / 2));
      const mask = ones([t, t]).tril();
      const weights = softmax(scores.maskedFill(mask.view([1, 1, t, t]).eq(0), -Infinity), -1);
      return add(x, matmul(weights, heads(v)).transpose(1, 2).reshape([b, t, c]));
    };
    const exported = exportGraph(block, [numbers(2, 5, 8)], { dynamicShapes: [[true, true]] });
    for (const [b, t] of [
      [3, 7],
      [2, 2],
      [5, 16],
    ] as const) {
      const x = numbers(b, t, 8);
      expect((exported.call(x) as Tensor).toArray()).toEqual(block(x).toArray());
    }
  });
});
