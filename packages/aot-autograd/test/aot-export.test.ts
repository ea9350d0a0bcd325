import { Interpreter, makeFx } from '@tessera/graph';
import { type Tensor, noGrad, ones } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { aotExportJointSimple } from '../src/index.js';
import { op } from './support/compare.js';

const param = (...shape: number[]): Tensor => ones(shape).requiresGrad_();

describe('aotExportJointSimple', () => {
  it('gives (primals, tangents) → (results, gradients)', () => {
    const module = aotExportJointSimple((x, y) => [op('sin', x.mul(y))], [param(2), ones([2])]);
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(primals_0: Tensor /* f32[2] */, primals_1: Tensor /* f32[2] */, tangents_0: Tensor /* f32[2] */) {
        const mul = aten.mul.Tensor(primals_0, primals_1); // f32[2]
        const sin = aten.sin.default(mul); // f32[2]
        const cos = aten.cos.default(mul); // f32[2]
        const mul_1 = aten.mul.Tensor(tangents_0, cos); // f32[2]
        const mul_2 = aten.mul.Tensor(mul_1, primals_1); // f32[2]
        return [sin, mul_2];
      }
      "
    `);
    const [out, grad] = noGrad(() =>
      new Interpreter(module).run(ones([2]), ones([2]), ones([2])),
    ) as Tensor[];
    expect((out.toArray() as number[])[0]).toBeCloseTo(Math.sin(1));
    expect((grad.toArray() as number[])[0]).toBeCloseTo(Math.cos(1));
  });

  it('gives the forward pass alone for inference, of functions and of graphs', () => {
    const fn = (x: Tensor, w: Tensor): Tensor[] => [op('linear', x, w, null)];
    const examples = [ones([2, 3]), param(4, 3)];
    for (const program of [fn, makeFx(fn)(...(examples as [Tensor, Tensor]))]) {
      const module = aotExportJointSimple(program, examples, { traceJoint: false });
      const [out] = module.forward(...examples) as Tensor[];
      expect(out.toArray()).toEqual([
        [3, 3, 3, 3],
        [3, 3, 3, 3],
      ]);
    }
  });

  it.each<[string, (x: Tensor) => Tensor[], Tensor[]]>([
    ['modifies an input', (x) => [x.add_(1).mul(2)], [ones([2])]],
    ['changes the layout of an input', (x) => [x.unsqueeze_(0).mul(2)], [ones([2])]],
    ['returns an input', (x) => [x], [ones([2])]],
    ['returns a view of an input', (x) => [x.view([1, 2])], [ones([2])]],
    ['returns the same memory twice', (x) => ((y) => [y, y.view([1, 2])])(x.mul(2)), [ones([2])]],
  ])('refuses a program that %s', (_, fn, examples) => {
    expect(() => aotExportJointSimple(fn, examples, { traceJoint: false })).toThrow(
      expect.objectContaining({ code: 'aot-unsupported' }),
    );
  });

  it('refuses a joint graph without gradients', () => {
    expect(() => aotExportJointSimple((x) => [x.mul(2)], [ones([2])])).toThrow(
      'no input requires grad',
    );
  });
});
