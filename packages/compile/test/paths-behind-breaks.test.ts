/**
 * @file Programs that read values at several places, branch on them, and have sizes that depend on values: what follows a
 * break is recorded once per place of the program, so traces and graphs add up instead of multiplying.
 */
import { Linear } from '@tessera/nn';
import {
  type Tensor,
  cat,
  full,
  manualSeed,
  maskedSelect,
  noGrad,
  rand,
  randn,
} from '@tessera/tensor';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { compile, compiledFunctionOf } from '../src/index.js';

afterEach(() => void vi.restoreAllMocks());

/** Four selections of value-dependent sizes, one behind another. */
function picks(x: Tensor, y: Tensor): Tensor[] {
  const a = maskedSelect(x, x.gt(0)).mul(2).add(1);
  const b = maskedSelect(y, y.gt(0.3)).mul(3).exp();
  const c = maskedSelect(x, x.lt(-0.5)).add(1).relu();
  const d = maskedSelect(y, y.lt(-1)).square();
  return [a.sum().add(b.sum()).add(c.mean()).add(d.sum()), a, d];
}

/** Non-maximum suppression: of boxes that overlap those of higher scores are kept. */
function suppress(boxes: Tensor, scores: Tensor): number[] {
  let order = scores.argsort(0, { descending: true });
  const kept: number[] = [];
  const area = (box: Tensor): Tensor =>
    box
      .slice(-1, 2, 4)
      .sub(box.slice(-1, 0, 2))
      .prod(-1);
  while (order.numel > 0) {
    const best = Number(order.select(0, 0).item());
    kept.push(best);
    if (order.numel === 1) break;
    const rest = order.slice(0, 1);
    const box = boxes.select(0, best);
    const others = boxes.indexSelect(0, rest);
    const from = others.slice(1, 0, 2).maximum(box.slice(0, 0, 2));
    const to = others.slice(1, 2, 4).minimum(box.slice(0, 2, 4));
    const shared = to.sub(from).clampMin(0).prod(1);
    const overlap = shared.div(area(others).add(area(box)).sub(shared));
    order = maskedSelect(rest, overlap.le(0.5));
  }
  return kept;
}

/** A training step that clips the gradient of each parameter by its norm. */
function clippedStep(): (x: Tensor) => Tensor[] {
  manualSeed(3);
  const layers = Array.from({ length: 6 }, (_, i) => new Linear(8 + (i % 2) * 4, 12 - (i % 2) * 4));
  const parameters = layers.flatMap((layer) => layer.parameters());
  return (x) => {
    const loss = layers
      .reduce((z, layer) => layer.call(z).tanh(), x)
      .square()
      .sum();
    loss.backward();
    const norms: Tensor[] = [];
    for (const p of parameters) {
      const norm = p.grad!.norm();
      if (Number(norm.item()) > 0.7) p.grad!.mul_(norm.reciprocal());
      noGrad(() => p.sub_(p.grad!.mul(0.1)));
      norms.push(norm);
      p.grad = null;
    }
    return [loss.detach(), ...norms];
  };
}

const numbers = (values: readonly (Tensor | number)[]): number[][] =>
  values.map((value) =>
    typeof value === 'number' ? [value] : [value.reshape([-1]).toArray()].flat().map(Number),
  );

/** Calls that give what eager gives; the compiled function. */
function compare<A extends unknown[]>(
  make: () => (...args: A) => readonly (Tensor | number)[],
  calls: number,
  inputs: (call: number) => A,
): NonNullable<ReturnType<typeof compiledFunctionOf>> {
  const [eager, compiled] = [make(), compile(make())];
  for (let call = 0; call < calls; call++) {
    const args = inputs(call);
    const want = numbers(eager(...args));
    numbers(compiled(...args)).forEach((got, i) => {
      expect(got.length).toBe(want[i]!.length);
      got.forEach((value, k) =>
        expect(Math.abs(value - want[i]![k]!)).toBeLessThan(1e-4 * (1 + Math.abs(want[i]![k]!))),
      );
    });
  }
  return compiledFunctionOf(compiled)!;
}

const graphsOf = ({ captures }: ReturnType<typeof compare>): number =>
  new Set(captures.flatMap(({ segments }) => segments)).size;

describe('behind graph breaks', () => {
  it('value-dependent sizes of several selections are symbols each: no graph per combination', () => {
    const warn = vi.spyOn(console, 'warn');
    manualSeed(1);
    const made = vi.spyOn(WebAssembly, 'Module');
    const inputs = (): [Tensor, Tensor] => [randn([40, 8]), randn([30, 6])];
    let before = 0;
    const compiled = compare(
      () => picks,
      60,
      (call) => {
        if (call === 45) before = made.mock.calls.length;
        return inputs();
      },
    );
    expect(compiled.captures.length).toBe(1);
    expect(graphsOf(compiled)).toBe(5);
    expect(made.mock.calls.length).toBe(before);
    expect(warn).not.toHaveBeenCalled();
  });

  it('sizes that vary in too many ways to be known run eagerly in the end, with a warning', () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    const joined = (x: Tensor): Tensor[] => {
      const parts = [0, 0.2, 0.4, 0.6, 0.8, 1].map((least) => maskedSelect(x, x.gt(least)).mul(2));
      return [cat(parts).cumprod(0).sum()];
    };
    manualSeed(4);
    const compiled = compare(
      () => joined,
      100,
      (): [Tensor] => [randn([400]).mul(0.5)],
    );
    expect(compiled.captures.length).toBeLessThanOrEqual(4);
    expect(warn.mock.calls).toEqual([[expect.stringContaining('is called with many sizes')]]);
  });

  it('a loop over ever smaller selections is a handful of graphs', () => {
    const warn = vi.spyOn(console, 'warn');
    manualSeed(2);
    const compiled = compare(
      () => suppress,
      30,
      (): [Tensor, Tensor] => {
        const corner = rand([20, 2]).mul(60);
        return [cat([corner, corner.add(rand([20, 2]).mul(40).add(5))], 1), rand([20])];
      },
    );
    expect(compiled.captures.length).toBeLessThanOrEqual(4);
    expect(graphsOf(compiled)).toBeLessThanOrEqual(12);
    expect(warn).not.toHaveBeenCalled();
  });

  it('branches for each parameter add up: 2 for each shape, not 2 to the power of parameters', () => {
    const warn = vi.spyOn(console, 'warn');
    const compiled = compare(clippedStep, 40, (call): [Tensor] => [
      randn([4, 8]).mul((call % 7) / 3),
    ]);
    expect(compiled.captures.length).toBeLessThanOrEqual(6);
    expect(graphsOf(compiled)).toBeLessThanOrEqual(24);
    expect(warn).not.toHaveBeenCalled();
  });

  const readsLargest = (x: Tensor): boolean => Number(x.abs().max().item()) > 1;
  it.each([
    ['a helper', readsLargest],
    ['a compiled helper', compile(readsLargest)],
  ])('%s that reads serves all places that call it', (_, isLarge) => {
    const warn = vi.spyOn(console, 'warn');
    const compiled = compare(
      () => (x: Tensor) => {
        const results: Tensor[] = [];
        let y = x.mul(2);
        if (isLarge(y)) results.push((y = y.tanh()));
        if (isLarge(y.add(0.5))) results.push((y = y.sin()));
        if (isLarge(y.sub(0.5))) results.push((y = y.exp()));
        if (isLarge(y)) results.push(y.sum());
        return [...results, y];
      },
      40,
      (call): [Tensor] => [randn([5]).mul(call / 20)],
    );
    expect(compiled.captures.length).toBeLessThanOrEqual(8);
    expect(warn).not.toHaveBeenCalled();
  });

  it('who calls the function is no place of its own', () => {
    const compiled = compile((x: Tensor) => {
      const y = readsLargest(x) ? x.mul(2) : x.mul(3);
      return (readsLargest(y) ? y.exp() : y.sin()).add(1);
    });
    compiled(full([3], 2.5));
    [0.5].forEach((value) => compiled(full([3], value)));
    // One before the first read, two branches behind it, one behind the second.
    expect(graphsOf(compiledFunctionOf(compiled)!)).toBe(4);
  });

  it('inputs of a later segment are told apart by what they are, not by what made them', () => {
    // Which of the values is written to, and shares memory with another, depends on the branch.
    const branch = (x: Tensor, y: Tensor): Tensor[] => {
      const a = Number(x.sum().item()) > 0 ? x.mul(1) : y.mul(1);
      const b = Number(y.sum().item()) > 0 ? a.view([-1]) : x.mul(3);
      if (Number(a.max().item()) > 1) a.add_(1);
      a.mul_(b.sum());
      return [a, b, a.add(b)];
    };
    manualSeed(5);
    compare(
      () => (x: Tensor, y: Tensor) => branch(x.clone(), y.clone()),
      40,
      (): [Tensor, Tensor] => [randn([6]), randn([6])],
    );
  });

  it('leaves and results that take gradients are told apart', () => {
    const run = (x: Tensor, w: Tensor): Tensor[] => {
      const z = Number(x.sum().item()) > 0 ? w : w.mul(2);
      if (Number(x.max().item()) > 1) return [z.detach().sum()];
      const loss = z.mul(x).sum();
      loss.backward();
      const grad = w.grad!.clone();
      w.grad = null;
      return [loss.detach(), grad];
    };
    manualSeed(6);
    const w = randn([3]).requiresGrad_();
    compare(
      () => run,
      40,
      (): [Tensor, Tensor] => [randn([3]), w],
    );
  });
});
