/**
 * @file Each kind of event: what fits a recorded step, and the words for what does not.
 */
import { type Tensor, add, enableGrad, mul, noGrad, ones, tensor } from '@tessera/tensor';
import { trustedRegion } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { Tracing } from './tracing-parts.js';

const x = tensor([1, 2]);

class Scale {
  constructor(
    public weight: Tensor,
    public bias = 1,
  ) {}

  forward(input: Tensor): Tensor {
    const { weight, bias } = this;
    return trustedRegion(this, 'forward', { input, weight, bias: String(bias) }, () =>
      add(mul(input, weight), bias),
    );
  }
}

describe('a region', () => {
  it('is jumped over: its body does not run again', () => {
    const tracing = new Tracing();
    let bodies = 0;
    const body = (): Tensor =>
      trustedRegion({}, 'forward', { x }, (inputs) => {
        bodies++;
        return mul(inputs.x, 2);
      });
    for (let i = 0; i < 3; i++) expect(tracing.run(body).result.toArray()).toEqual([2, 4]);
    expect(bodies).toBe(1);
  });

  it('serves every owner of the class whose inputs are alike', () => {
    const tracing = new Tracing();
    const owners = [2, 3, 4].map((value) => new Scale(tensor([value, value])));
    const results = owners.map((owner) => tracing.run(() => owner.forward(x)).result.toArray());
    expect(results).toEqual([
      [3, 5],
      [4, 7],
      [5, 9],
    ]);
    expect([tracing.compiled, tracing.reasons]).toEqual([1, []]);
  });

  it('keeps owners apart that were apart', () => {
    const tracing = new Tracing();
    const [a, b] = [new Scale(tensor([2, 2])), new Scale(tensor([3, 3]))];
    const both = (one: Scale, two: Scale): number[] =>
      tracing.run(() => two.forward(one.forward(x))).result.toArray() as number[];
    expect([both(a, b), both(b, a), both(a, a)]).toEqual([
      [10, 16],
      [9, 15],
      [7, 11],
    ]);
    expect(tracing.reasons).toHaveLength(1);
  });

  it('says which text changed', () => {
    const tracing = new Tracing();
    const owner = new Scale(ones([2]));
    tracing.run(() => owner.forward(x));
    owner.bias = 5;
    expect(tracing.run(() => owner.forward(x)).result.toArray()).toEqual([6, 7]);
    expect(tracing.reasons).toEqual(["G['Scale'].bias == '1'"]);
  });
});

describe('a switch of grad mode', () => {
  it('is part of the path', () => {
    const tracing = new Tracing();
    const w = tensor([1, 1]).requiresGrad_();
    const run = (scope: typeof noGrad): boolean =>
      tracing.run(() => scope(() => mul(w, 2))).result.requiresGrad;
    expect([run(noGrad), run(enableGrad), run(noGrad), run(enableGrad)]).toEqual([
      false,
      true,
      false,
      true,
    ]);
    expect(tracing.reasons).toHaveLength(1);
  });
});

describe('backward()', () => {
  it('gives leaves lazy gradients, and fits while they have none', () => {
    const tracing = new Tracing();
    const w = tensor([1, 1]).requiresGrad_();
    const body = (): void => mul(mul(w, x), 2).sum().backward();
    for (let i = 0; i < 3; i++) {
      w.grad = null;
      tracing.run(body);
      expect(w.grad!.toArray()).toEqual([2, 4]);
    }
    expect(tracing.reasons).toEqual([]);
    tracing.run(body);
    expect(w.grad!.toArray()).toEqual([4, 8]);
    expect(tracing.reasons).toEqual([
      'backward() was called where the recorded call did not, or gradients were set differently',
    ]);
  });
});

describe('an operator', () => {
  it('is told from those that symbols reach', () => {
    const tracing = new Tracing(true, true);
    const body = (a: Tensor): Tensor => {
      const [fixed, reached] = [mul(x, 3), mul(a, 2)];
      const sum = fixed.sum();
      return add(sum, add(reached.sum(), sum));
    };
    const results = [4, 5, 6, 7].map((n) => {
      const a = ones([n]);
      const { result, fitted } = tracing.run(() => body(a));
      return [result.item(), fitted];
    });
    expect(results).toEqual([
      [26, false],
      [28, false],
      [30, true],
      [32, true],
    ]);
    const isStatic: boolean[] = [];
    for (let [step] = tracing.start.steps; step?.kind === 'op'; [step] = step.next.steps)
      isStatic.push(step.isStatic);
    expect(isStatic).toEqual([true, false, true, false, false, false]);
  });
});

describe('the return', () => {
  it('says that a call ended early', () => {
    const tracing = new Tracing();
    tracing.run(() => add(mul(x, 2), 1));
    tracing.run(() => mul(x, 2));
    expect(tracing.reasons).toEqual(['the function returned earlier than the recorded call']);
  });
});

describe('a watched gradient', () => {
  it('ends the graph behind the value from the next call on', () => {
    const tracing = new Tracing();
    const w = tensor([1, 2]).requiresGrad_();
    const seen: unknown[] = [];
    const body = (): Tensor => {
      const h = mul(w, 3);
      const loss = mul(h, h).sum();
      h.registerHook((grad) => void seen.push(grad.toArray()));
      return loss;
    };
    for (let i = 0; i < 4; i++) tracing.run(body).result.backward();
    expect(seen).toEqual([
      [6, 12],
      [6, 12],
      [6, 12],
      [6, 12],
    ]);
    const [made] = tracing.start.steps;
    expect(made).toMatchObject({ kind: 'op', isWatched: true });
    expect(made?.kind === 'op' && made.next.steps[0]?.kind).toBe('break');
  });
});
