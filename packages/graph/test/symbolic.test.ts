/**
 * @file Graphs with symbolic sizes: what they print, where they run, and what they refuse.
 */
import { type Tensor, add, arange, cat, matmul, mul, ones, zeros } from '@tessera/tensor';
import { conv2d, maxPool2d } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { Interpreter, graphFromJson, GraphModule, graphToJson, makeFx } from '../src/index.js';

function numbers(...sizes: number[]): Tensor {
  return arange(
    sizes.reduce((a, b) => a * b, 1),
    { dtype: 'float32' },
  )
    .add(1)
    .view(sizes);
}

const symbolic = { tracingMode: 'symbolic', stackTraces: false } as const;

describe('makeFx with symbolic sizes', () => {
  it('prints sizes as expressions and runs at others', () => {
    const fn = (x: Tensor, w: Tensor): Tensor =>
      matmul(x, w)
        .view([x.shape[0]! * w.shape[1]!])
        .mul(x.shape[0]!);
    const module = makeFx(fn, symbolic)(numbers(4, 3), numbers(3, 5));
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[s0, s1] */, w: Tensor /* f32[s1, s2] */) {
        const s0 = x.size(0); // 4
        const s1 = x.size(1); // 3
        const s2 = w.size(1); // 5
        const mm = aten.mm.default(x, w); // f32[s0, s2]
        const view = aten.view.default(mm, [s0 * s2]); // f32[s0 * s2]
        const mul = aten.mul.Tensor(view, s0); // f32[s0 * s2]
        return mul;
      }
      "
    `);
    for (const [a, b, c] of [
      [4, 3, 5],
      [7, 2, 9],
      [30, 11, 2],
    ] as const) {
      const [x, w] = [numbers(a, b), numbers(b, c)];
      expect((module.forward(x, w) as Tensor).toArray()).toEqual(fn(x, w).toArray());
    }
  });

  it('sizes behind convolutions and pools are floor expressions', () => {
    const w = ones([2, 1, 3, 3]);
    const fn = (x: Tensor): Tensor => {
      const y = maxPool2d(conv2d(x, w, { stride: 2, padding: 1 }), 2);
      return y.view([y.shape[0]!, y.shape[1]! * y.shape[2]! * y.shape[3]!]);
    };
    const module = makeFx(fn, symbolic)(numbers(1, 1, 16, 16));
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1, 1, s0, s0] */) {
        const s0 = x.size(2); // 16
        const _tensor_constant0 = self._tensor_constant0; // f32[2, 1, 3, 3]
        const convolution = aten.convolution.default(x, _tensor_constant0, null, [2, 2], [1, 1], [1, 1], false, [0, 0], 1); // f32[1, 2, Math.floor((s0 + 1) / 2), Math.floor((s0 + 1) / 2)]
        const max_pool2d_with_indices = aten.max_pool2d_with_indices.default(convolution, [2, 2], [], [0, 0], [1, 1], false); // [f32[1, 2, Math.floor((s0 + 1) / 4), Math.floor((s0 + 1) / 4)], i64[1, 2, Math.floor((s0 + 1) / 4), Math.floor((s0 + 1) / 4)]]
        const getitem = getItem(max_pool2d_with_indices, 0); // f32[1, 2, Math.floor((s0 + 1) / 4), Math.floor((s0 + 1) / 4)]
        const view = aten.view.default(getitem, [1, 2 * Math.floor((s0 + 1) / 4) * Math.floor((s0 + 1) / 4)]); // f32[1, 2 * Math.floor((s0 + 1) / 4) * Math.floor((s0 + 1) / 4)]
        return view;
      }
      "
    `);
    for (const size of [16, 9, 21, 40]) {
      const x = numbers(1, 1, size, size);
      expect((module.forward(x) as Tensor).toArray()).toEqual(fn(x).toArray());
    }
  });

  it('a divisor that a view needs is a guard', () => {
    const fn = (x: Tensor): Tensor => x.view([-1, 4]).sum(1);
    const module = makeFx(fn, symbolic)(numbers(12));
    expect(module.graph.symbols!.guards(module.graph.placeholders)).toEqual([
      '4 <= x.size()[0]',
      's0 % 4 == 0',
    ]);
    expect((module.forward(numbers(20)) as Tensor).toArray()).toEqual(fn(numbers(20)).toArray());
    expect(() => module.forward(numbers(10))).toThrow('s0 % 4 == 0 (s0 = 10)');
  });

  it('a branch on a size bounds it, to one value if need be', () => {
    const above = (x: Tensor): Tensor => (x.shape[0]! > 300 ? mul(x, 2) : add(x, 1));
    const module = makeFx(above, symbolic)(numbers(8));
    expect((module.forward(numbers(300)) as Tensor).toArray()).toEqual(
      above(numbers(300)).toArray(),
    );
    expect(() => module.forward(numbers(301))).toThrow('2 <= x.size()[0] <= 300 (it is 301)');
    const seven = (x: Tensor): Tensor => (x.shape[0] === 7 ? mul(x, 2) : add(x, 1));
    const hole = makeFx(seven, symbolic)(numbers(8));
    expect(() => hole.forward(numbers(7))).toThrow('s0 != 7');
    const eight = (x: Tensor): Tensor => (x.shape[0] === 8 ? mul(x, 2) : add(x, 1));
    const fixed = makeFx(eight, symbolic)(numbers(8, 3));
    expect(fixed.print()).toContain('f32[8, s0]');
    expect(() => fixed.forward(numbers(9, 3))).toThrow('x.size()[0] == 8 (it is 9)');
  });

  it('sizes that no symbol has are guarded too', () => {
    const module = makeFx((x: Tensor, w: Tensor) => matmul(x, w.view([3, 2])), symbolic)(
      numbers(4, 3),
      numbers(6),
    );
    expect(() => module.forward(numbers(5, 3), numbers(9))).toThrow('w.size()[0] == 6 (it is 9)');
    const loop = makeFx((x: Tensor) => x.unbind(0).reduce((a, b) => add(a, b)), symbolic);
    expect(() => loop(numbers(3)).forward(numbers(4))).toThrow('x.size()[0] == 3 (it is 4)');
  });

  it('equal sizes share a symbol, and must stay equal', () => {
    const module = makeFx((x: Tensor, y: Tensor) => cat([x, y]), symbolic)(numbers(5), numbers(5));
    expect(module.print()).toContain('// f32[2 * s0]');
    expect(() => module.forward(numbers(4), numbers(6))).toThrow(
      'y.size()[0] == x.size()[0] (it is 6)',
    );
    expect(() => module.forward(numbers(1), numbers(1))).toThrow('2 <= x.size()[0] (it is 1)');
    expect(() => module.forward(numbers(2, 2), numbers(2))).toThrow('x.dim() == 1 (it is 2)');
    expect(() => module.forward(2, numbers(2))).toThrow('type(x) is Tensor');
  });

  it('numbers that are no expression of a size fix it', () => {
    const fn = (x: Tensor): Tensor => x.narrow(0, 0, Math.round(Math.sqrt(x.shape[0]!)));
    const module = makeFx(fn, symbolic)(numbers(9, 3));
    expect(module.print()).toContain('f32[9, s0]');
    expect((module.forward(numbers(9, 5)) as Tensor).shape).toEqual([3, 5]);
  });

  it('factories, scalars and backward follow the sizes', () => {
    const fn = (x: Tensor): Tensor => {
      const mask = arange(x.shape[0]!).view([x.shape[0]!, 1]);
      return x
        .mul(mask)
        .add(zeros([x.shape[0]! + 1]).sum())
        .div(x.shape[1]!);
    };
    const module = makeFx(fn, symbolic)(numbers(4, 3));
    expect((module.forward(numbers(6, 7)) as Tensor).toArray()).toEqual(
      fn(numbers(6, 7)).toArray(),
    );
    const loss = (x: Tensor): Tensor => {
      const y = x.detach().requiresGrad_(true);
      mul(y, y).mean().backward();
      return y.grad!;
    };
    const backward = makeFx(loss, symbolic)(numbers(4, 3));
    expect((backward.forward(numbers(6, 7)) as Tensor).toArray()).toEqual(
      loss(numbers(6, 7)).toArray(),
    );
  });

  it('goes through JSON and the interpreter', () => {
    const fn = (x: Tensor): Tensor => x.view([-1, 2]).narrow(0, 1, x.shape[0]! / 2 - 1);
    const module = makeFx(fn, symbolic)(numbers(8));
    const text = JSON.stringify(graphToJson(module.graph));
    const read = new GraphModule(
      [],
      graphFromJson(JSON.parse(text) as ReturnType<typeof graphToJson>),
    );
    expect(read.print()).toBe(module.print());
    for (const run of [read, new Interpreter(read)]) {
      const call = (x: Tensor): unknown =>
        run instanceof GraphModule ? run.forward(x) : run.run(x);
      expect((call(numbers(6)) as Tensor).toArray()).toEqual(fn(numbers(6)).toArray());
      expect(() => call(numbers(7))).toThrow(expect.objectContaining({ code: 'symbolic-guard' }));
    }
  });

  it('a result of other sizes than expected is an error', () => {
    // A branch that no probed size took: the text of the function does not show the number.
    const limit = Number('1001');
    const fn = (x: Tensor): Tensor => x.narrow(0, 0, x.size(0) === limit ? 5 : x.size(0));
    const module = makeFx(fn, symbolic)(numbers(8));
    const [narrow] = module.graph.nodes.filter((node) => node.op === 'call_function');
    narrow!.updateArg(3, 4);
    expect(() => module.forward(numbers(9))).toThrow(
      "'slice' has the shape [4], and [s0] would be [9]",
    );
  });
});
