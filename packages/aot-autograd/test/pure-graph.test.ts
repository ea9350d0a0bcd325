import { ones, type Tensor } from '@tessera/tensor';
import { makeFx } from '@tessera/graph';
import { describe, expect, it } from 'vitest';
import { pureGraph } from '../src/functionalize/pure-graph.js';
import { aotFunction, runEagerly } from '../src/index.js';
import { expectClose } from './support/compare.js';

const isFunctional = (fn: (x: Tensor) => unknown): boolean => {
  const module = makeFx(fn)(ones([2, 3]));
  return pureGraph(module, {})?.module === module;
};

describe('pureGraph', () => {
  it('takes a graph that writes nothing as it is', () => {
    expect(isFunctional((x) => x.mul(2).permute([1, 0]).add(1))).toBe(true);
    expect(isFunctional((x) => [x.mul(2), x.add(1)])).toBe(true);
    expect(isFunctional((x) => x.mul(2).split(1, 1)[0]!.add(1))).toBe(true);
  });

  it('leaves one that writes, or returns shared memory, to be made functional', () => {
    expect(isFunctional((x) => x.mul(2).add_(1))).toBe(false);
    expect(isFunctional((x) => x.permute([1, 0]))).toBe(false);
    expect(isFunctional((x) => x)).toBe(false);
    expect(isFunctional((x) => ((y) => [y, y.permute([1, 0])])(x.mul(2)))).toBe(false);
    expect(isFunctional((x) => x.mul(2).asStrided([2], [1], 1).add(1))).toBe(false);
  });

  it('notes the places of calls in the program', () => {
    const module = makeFx((x: Tensor) => x.mul(2).add(1))(ones([2]));
    pureGraph(module, {});
    expect(module.graph.nodes.map(({ meta }) => meta.programOrder)).toEqual([
      undefined,
      2,
      3,
      undefined,
    ]);
  });

  it('gives what eager gives, forward and backward', () => {
    const fn = (x: Tensor): Tensor => x.mul(2).permute([1, 0]).tanh().sum();
    const [a, b] = [ones([2, 3]).requiresGrad_(), ones([2, 3]).requiresGrad_()];
    const compiled = aotFunction(fn, { fwCompiler: runEagerly });
    const [x, y] = [compiled(a) as Tensor, fn(b)];
    expectClose(x.toArray(), y.toArray());
    x.backward();
    y.backward();
    expectClose(a.grad!.toArray(), b.grad!.toArray());
  });
});
