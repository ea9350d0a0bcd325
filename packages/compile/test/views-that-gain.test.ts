/**
 * @file A write that gives gradients to a tensor gives them to its views, and not to others with its memory: what was
 * recorded for the one is not played for the other.
 */
import { type Tensor, arange, noGrad, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

/** The second argument: a view of the first, and tensors that only share its memory. */
const SECOND: Readonly<Record<string, (a: Tensor) => Tensor>> = {
  slice: (a) => a.slice(0, 0, null, 1),
  detached: (a) => a.detach(),
  view: (a) => a.view([1, 3]),
  'view of a detached one': (a) => a.detach().view([1, 3]),
};

const PROGRAMS: Readonly<Record<string, (a: Tensor, b: Tensor, w: Tensor) => Tensor>> = {
  'read after the write': (a, b, w) => {
    a.copy_(w);
    return b.mul(2).sum();
  },
  'read before the write and after it': (a, b, w) => {
    const before = b.add(1);
    a.copy_(w);
    return b.mul(2).add(before).sum();
  },
  'asked for while it is not there yet': (a, b, w) => {
    a.mul_(w);
    const loss = b.sum();
    if (loss.requiresGrad) loss.backward(null, { retainGraph: true });
    return loss;
  },
};

describe.each(['eager', 'aot_eager', 'inductor'] as const)('views that gain, %s', (backend) => {
  for (const [name, program] of Object.entries(PROGRAMS))
    for (const first of Object.keys(SECOND))
      it(`${name}, ${first} first`, () => {
        const kinds = [first, ...Object.keys(SECOND), first];
        const play = (fn: typeof program): unknown[] =>
          kinds.map((kind) => {
            const w = tensor([1, 2, 3]).requiresGrad_();
            const a = tensor([[4, 5, 6]]);
            const loss = fn(a, SECOND[kind]!(a), w.mul(1));
            const { requiresGrad } = loss;
            if (requiresGrad) loss.backward();
            return [kind, loss.item(), requiresGrad, w.grad?.toArray() ?? null];
          });
        expect(play(compile(program, { backend }))).toEqual(play(program));
      });

  it('of which there are as many as the size says', () => {
    const rows = (a: Tensor): Tensor[] => {
      const views = a.unbind(0);
      a.add_(a);
      return [...views.map((view) => (view.requiresGrad ? view.mul(2) : view.mul(3))), ...views];
    };
    const play = (fn: typeof rows): unknown[] =>
      [4, 5, 4, 6, 4, 7].map((n, i) => {
        const leaf = arange(n * 3)
          .to('float32')
          .view([n, 3])
          .requiresGrad_(i > 0);
        const a = i > 0 ? leaf.mul(1) : leaf;
        const made = noGrad(() => fn(a));
        return made.map((row) => [row.requiresGrad, row.detach().toArray()]);
      });
    expect(play(compile(rows, { backend }))).toEqual(play(rows));
  });
});

it('a write that gives gradients is part of one graph, as in PyTorch', () => {
  const fn = (buffer: Tensor, w: Tensor): Tensor => {
    buffer.add_(w);
    return buffer.mul(2);
  };
  const run = compile(fn, { fullgraph: true });
  for (let i = 0; i < 3; i++) {
    const [buffer, w] = [tensor([0, 0]), tensor([1, 2]).requiresGrad_()];
    const result = run(buffer, w);
    expect([buffer.requiresGrad, result.requiresGrad]).toEqual([true, true]);
    result.sum().backward();
    expect(w.grad!.toArray()).toEqual([2, 2]);
  }
});
