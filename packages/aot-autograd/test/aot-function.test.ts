import { type Tensor, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { type GraphCompiler, aotFunction, runEagerly } from '../src/index.js';

/** A compiler that runs eagerly and keeps the printed graphs. */
function recording(): { compiler: GraphCompiler; graphs: string[] } {
  const graphs: string[] = [];
  return {
    graphs,
    compiler(module) {
      module.lint();
      graphs.push(module.print());
      return runEagerly(module);
    },
  };
}

describe('aotFunction', () => {
  it.each<[string, unknown, RegExp]>([
    ['no options', undefined, /fwCompiler\(\) takes a function, not undefined/],
    ['no compiler', {}, /fwCompiler\(\) takes a function, not undefined/],
    ['a misspelt compiler', { fwcompiler: runEagerly }, /Did you mean 'fwCompiler'/],
    ['a compiler in the place of options', runEagerly, /options are an object/],
    ['no partitioner', { fwCompiler: runEagerly, partitionFn: 5 }, /partitionFn\(\) takes/],
  ])('refuses %s', (_, options, told) => {
    expect(() => aotFunction((x: Tensor) => x.mul(2), options as never)).toThrow(told);
  });

  it('compiles a forward and, when needed, a backward graph', () => {
    const { compiler, graphs } = recording();
    const f = aotFunction((x: Tensor, w: Tensor) => x.mm(w).tanh().mul(2), {
      fwCompiler: compiler,
    });
    const x = tensor([
      [1, 2],
      [3, 4],
    ]);
    const w = tensor([
      [0.1, 0.2],
      [0.3, 0.4],
    ]).requiresGrad_();
    const out = f(x, w);
    expect(graphs.length).toBe(1);
    expect(graphs[0]).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2, 2] */, w: Tensor /* f32[2, 2] */) {
        const mm = aten.mm.default(x, w); // f32[2, 2]
        const tanh = aten.tanh.default(mm); // f32[2, 2]
        const mul = aten.mul.Tensor(tanh, 2); // f32[2, 2]
        return [mul, tanh];
      }
      "
    `);
    out.sum().backward();
    expect(graphs[1]).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2, 2] */, tanh: Tensor /* f32[2, 2] */, tangents_0: Tensor /* f32[2, 2] */) {
        const mul_1 = aten.mul.Tensor(tangents_0, 2); // f32[2, 2]
        const tanh_backward = aten.tanh_backward.default(mul_1, tanh); // f32[2, 2]
        const t = aten.t.default(x); // f32[2, 2] strides [1, 2]
        const mm_1 = aten.mm.default(t, tanh_backward); // f32[2, 2]
        return [mm_1];
      }
      "
    `);
    const w2 = w.detach().clone().requiresGrad_();
    const expected = x.mm(w2).tanh().mul(2);
    expected.sum().backward();
    expect(out.toArray()).toEqual(expected.toArray());
    expect(w.grad?.toArray()).toEqual(w2.grad?.toArray());
    f(x, w);
    expect(graphs.length).toBe(2);
  });

  it('runs a function without gradients as the graph itself', () => {
    const { compiler, graphs } = recording();
    const f = aotFunction((x: Tensor, cfg: { scale: number }) => ({ y: x.mul(cfg.scale) }), {
      fwCompiler: compiler,
    });
    expect(f(tensor([1, 2]), { scale: 3 }).y.toArray()).toEqual([3, 6]);
    expect(f(tensor([1, 2]), { scale: 4 }).y.toArray()).toEqual([4, 8]);
    expect(f(tensor([5, 6]), { scale: 3 }).y.toArray()).toEqual([15, 18]);
    expect(graphs.length).toBe(2);
    void ones;
  });
});
