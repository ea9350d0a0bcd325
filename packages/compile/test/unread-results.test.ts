/**
 * @file What an operator gives besides what the program uses: the indices of a maximum. Compiled code does not return it,
 * until somebody is seen to have kept it. States of recurrent layers are kept from the first call on.
 */
import { LSTM, Linear, functional as F, optim } from '@tessera/nn';
import { type Tensor, manualSeed, noGrad, randn, tensor } from '@tessera/tensor';
import { beforeEach, describe, expect, it } from 'vitest';
import { compile, explain } from '../src/index.js';

/** Values that each graph returns. */
const returned = (told: { readonly graphs: readonly { readonly code: string }[] }): number[] =>
  told.graphs.map(({ code }) => /return \[(.*)\];/.exec(code)![1]!.split(', ').length);

beforeEach(() => {
  manualSeed(0);
});

describe.each(['eager', 'aot_eager', 'inductor'])('results that nobody uses (%s)', (backend) => {
  it.each<[string, (x: Tensor) => Tensor]>([
    ['max', (x) => x.max(1)[0].mul(2)],
    ['a minimum that is returned', (x) => x.min(1)[0]],
    ['topk', (x) => x.topk(2)[1].add(1)],
  ])('of %s are not returned', (_, fn) => {
    const x = randn([3, 4]);
    const compiled = compile(fn, { backend });
    for (let i = 0; i < 2; i++) expect(compiled(x).toArray()).toEqual(fn(x).toArray());
    expect(returned(explain(compiled)(x))).toEqual([1]);
  });

  it('are there where all are unused: the operator was called for one of them', () => {
    const kept: Tensor[][] = [];
    const weight = tensor([1, 1, 1, 1]);
    const compiled = compile(
      (x: Tensor) => {
        kept.push(x.mul(weight).max(1));
        weight.mul_(-1);
      },
      { backend },
    );
    for (let i = 0; i < 2; i++) compiled(tensor([[3, 1, 4, 1]]));
    expect(kept.map((pair) => pair.map((t) => t.toArray()))).toEqual([
      [[4], [2]],
      [[-1], [1]],
    ]);
  });

  it('and were kept are computed again, and returned by the next calls', () => {
    const kept: Tensor[] = [];
    const compiled = compile(
      (x: Tensor) => {
        const [most, at] = x.max(1);
        kept.push(at);
        return most.mul(2);
      },
      { backend },
    );
    const inputs = [tensor([[3, 1, 4, 1]]), tensor([[5, 9, 2, 6]]), tensor([[5, 3, 5, 8]])];
    inputs.forEach((x, i) => {
      expect(compiled(x).item()).toBe([8, 18, 16][i]);
      expect(kept[i]!.toArray()).toEqual([[2], [1], [3]][i]);
    });
    expect(returned(explain(compiled)(inputs[0]!))).toEqual([2]);
  });

  it.each<[string, (x: Tensor) => Tensor]>([
    ['a view', (x) => x.select(0, 1)],
    ['a view of a view', (x) => x.narrow(0, 0, 1).t()],
  ])('are an error once where %s was kept whose base got another layout', (_, view) => {
    const kept: Tensor[] = [];
    const compiled = compile(
      (x: Tensor) => {
        const base = x.mul(2);
        kept.push(view(base));
        kept.at(-1)!.argmax(0);
        base.transpose_(0, 1);
      },
      { backend },
    );
    // The same sizes both ways: to look at the base as it is now would give other numbers.
    const x = tensor([
      [1, 2],
      [3, 4],
    ]);
    const numbers = (): unknown => {
      compiled(x);
      return kept.at(-1)!.toArray();
    };
    const expected = view(x.mul(2)).toArray();
    expect(numbers()).toEqual(expected);
    expect(numbers).toThrow(
      expect.objectContaining({
        code: 'trace-escape',
        message: expect.stringContaining('was given another layout since') as string,
      }),
    );
    for (let i = 0; i < 2; i++) expect(numbers()).toEqual(expected);
  });

  it('of a step that trains are an error where somebody kept them, once', () => {
    const make = (): { found: Tensor[]; step: (x: Tensor) => Tensor } => {
      manualSeed(1);
      const linear = new Linear(4, 3);
      const optimizer = new optim.SGD(linear.parameters(), { lr: 0.1 });
      const found: Tensor[] = [];
      const step = (x: Tensor): Tensor => {
        optimizer.zeroGrad();
        const [best, at] = linear.call(x).max(1);
        found.push(at);
        const loss = F.mseLoss(best, x.select(1, 0));
        loss.backward();
        optimizer.step();
        return loss.detach();
      };
      return { found, step };
    };
    const [there, here] = [make(), make()];
    const compiled = compile(there.step, { backend });
    const x = randn([5, 4]);
    for (let i = 0; i < 4; i++) {
      expect(compiled(x).item()).toBeCloseTo(here.step(x).item() as number, 5);
      if (i === 0)
        expect(() => there.found[0]!.toArray()).toThrow(
          expect.objectContaining({ code: 'trace-escape' }),
        );
      else expect(there.found[i]!.toArray()).toEqual(here.found[i]!.toArray());
    }
  });

  it('are no states: those of a recurrent layer go on in a closure, whatever becomes of the inputs', () => {
    const lstm = new LSTM(4, 3);
    const make = (): ((x: Tensor) => Tensor) => {
      let state: [Tensor, Tensor] | undefined;
      return (x) => {
        const [out, next] = lstm.call(x, state);
        state = next;
        return out;
      };
    };
    const [eager, compiled] = [make(), compile(make(), { backend })];
    noGrad(() => {
      for (let i = 0; i < 5; i++) {
        const x = randn([2, 4]);
        const wanted = eager(x).toArray() as number[][];
        const got = compiled(x).toArray() as number[][];
        got.forEach((row, r) => row.forEach((v, c) => expect(v).toBeCloseTo(wanted[r]![c]!, 5)));
        x.zero_();
        x.dispose();
      }
    });
  });
});
