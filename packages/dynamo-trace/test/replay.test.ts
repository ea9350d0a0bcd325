import { describe, expect, it } from 'vitest';
import { type Tensor, add, mm, mul, noGrad, tensor } from '@tessera/tensor';
import { compileEager } from './compile-for-test.js';

describe('replay', () => {
  it('captures once and replays with new inputs', () => {
    const { call, graphs } = compileEager((x: Tensor, y: Tensor) => mul(add(x, y), 2));
    const y = tensor([1, 1]);
    expect(call(tensor([1, 2]), y).toArray()).toEqual([4, 6]);
    expect(call(tensor([3, 4]), y).toArray()).toEqual([8, 10]);
    expect(graphs.length).toBe(1);
    expect(graphs[0]!.print()).toMatchInlineSnapshot(`
      "export function forward(l_x: Tensor /* f32[2] */, l_y: Tensor /* f32[2] */) {
        const add = aten.add.Tensor(l_x, l_y, 1); // f32[2]
        const mul = aten.mul.Tensor(add, 2); // f32[2]
        return [mul];
      }
      "
    `);
  });

  it('sees a closed-over let that changes', () => {
    let scale = 2;
    const { call, function: compiled } = compileEager((x: Tensor) => x.mul(scale));
    expect(call(tensor([1])).toArray()).toEqual([2]);
    expect(call(tensor([1])).toArray()).toEqual([2]);
    scale = 5;
    expect(call(tensor([1])).toArray()).toEqual([5]);
    scale = 7;
    expect(call(tensor([1])).toArray()).toEqual([7]);
    expect(compiled.captures.length).toBe(2);
  });

  it('captures a whole training step', () => {
    const w = tensor(
      [
        [1, 2],
        [3, 4],
      ],
      { requiresGrad: true },
    );
    const step = (x: Tensor): Tensor => {
      w.grad = null;
      const loss = mm(x, w).mul(0.5).sum();
      loss.backward();
      noGrad(() => w.sub_(w.grad!, { alpha: 0.1 }));
      return loss;
    };
    const expected: number[] = [];
    const start = w.detach().clone();
    for (let i = 0; i < 4; i++) expected.push(step(tensor([[1, i]])).item());
    const eagerW = w.toArray();
    noGrad(() => w.copy_(start));
    const { call, graphs } = compileEager(step);
    const losses: number[] = [];
    for (let i = 0; i < 4; i++) losses.push(call(tensor([[1, i]])).item());
    expect(losses).toEqual(expected);
    expect(w.toArray()).toEqual(eagerW);
    expect(graphs.length).toBe(1);
    expect(w.grad!.toArray()).toEqual([
      [0.5, 0.5],
      [1.5, 1.5],
    ]);
  });

  it('computes what a backward pass reads before it is released', () => {
    const w = tensor([1, 2], { requiresGrad: true });
    const { call } = compileEager((x: Tensor, gradient: Tensor) => {
      w.mul(x).backward(gradient);
      gradient.dispose();
      return x.add(1);
    });
    for (let i = 1; i < 4; i++) {
      w.grad = null;
      call(tensor([i, 2]), tensor([1, 2]));
      expect(w.grad!.toArray()).toEqual([i, 4]);
    }
  });

  it('records once for leaves of which some have gradients', () => {
    const [v, w] = [1, 3].map((n) => tensor([n, n + 1], { requiresGrad: true }));
    const { call, function: compiled } = compileEager((x: Tensor) => {
      v!.mul(x).add(w!.mul(x)).sum().backward();
    });
    call(tensor([1, 2]));
    call(tensor([1, 2]));
    for (let i = 0; i < 4; i++) {
      w!.grad = null;
      call(tensor([1, 2]));
    }
    expect(compiled.captures.length).toBe(3);
    expect([v, w].map((leaf) => leaf!.grad!.toArray())).toEqual([
      [6, 12],
      [1, 2],
    ]);
  });

  it('breaks the graph at item() and takes both branches', () => {
    const { call, graphs } = compileEager((x: Tensor) => {
      const y = x.mul(2);
      return y.sum().item() > 0 ? y.add(1) : y.sub(1);
    });
    for (let i = 0; i < 3; i++) {
      expect(call(tensor([1, 2])).toArray()).toEqual([3, 5]);
      expect(call(tensor([-1, -2])).toArray()).toEqual([-3, -5]);
    }
    expect(graphs.length).toBe(3);
  });

  it('keeps intermediates that were pushed out', () => {
    const kept: Tensor[] = [];
    const { call } = compileEager((x: Tensor) => {
      const h = x.add(1);
      kept.push(h);
      return h.mul(3);
    });
    for (let i = 0; i < 3; i++) {
      const x = tensor([i]);
      expect(call(x).toArray()).toEqual([(i + 1) * 3]);
      expect(kept[i]!.toArray()).toEqual([i + 1]);
    }
  });

  it('explains recompiles in words', () => {
    const { call, function: compiled } = compileEager((x: Tensor, y: Tensor) => add(x, y));
    const y = tensor([1, 2]);
    call(tensor([1, 2], { requiresGrad: true }), y);
    call(tensor([1, 2]), y);
    expect(compiled.reasons).toEqual([
      "tensor 'L['x']' requires_grad mismatch. expected requires_grad=1",
    ]);
  });
});
