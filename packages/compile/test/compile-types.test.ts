/**
 * @file What TypeScript infers of compiled functions. The types are the test: `tsc` checks this file.
 */
import { describe, expect, expectTypeOf, it } from 'vitest';
import { Linear, ReLU, Sequential } from '@tessera/nn';
import { type Tensor, ones } from '@tessera/tensor';
import { compile } from '../src/index.js';

describe('compile infers', () => {
  it('tensors, where a parameter has no type', () => {
    const double = compile((x) => x.mul(2));
    expectTypeOf(double).parameters.toEqualTypeOf<[x: Tensor]>();
    expectTypeOf(double).returns.toEqualTypeOf<Tensor>();
    expect(double(ones([2])).toArray()).toEqual([2, 2]);
    // @ts-expect-error a number is no tensor
    expect(() => double(1)).toThrow('mul');
  });

  it('the parameters that a function names', () => {
    const scale = compile((batch: { readonly x: Tensor }, by: number) => batch.x.mul(by));
    expectTypeOf(scale).toEqualTypeOf<(batch: { readonly x: Tensor }, by: number) => Tensor>();
    expect(scale({ x: ones([1]) }, 3).item()).toBe(3);
  });

  it('the type of a function of any type', () => {
    function timed<F extends (...args: never[]) => unknown>(fn: F): F {
      return compile(fn);
    }
    const scale = timed((x: Tensor, by: number) => x.mul(by));
    expectTypeOf(scale).toEqualTypeOf<(x: Tensor, by: number) => Tensor>();
    expect(scale(ones([1]), 3).item()).toBe(3);
  });

  it('optional parameters, promises and several results', () => {
    const both = compile((a: Tensor, b?: Tensor): [Tensor, Tensor] => [a, b ?? a.add(1)]);
    expectTypeOf(both(ones([1]))).toEqualTypeOf<[Tensor, Tensor]>();
    expect(both(ones([1]))[1].item()).toBe(2);
    const read = compile(async (x: Tensor) => await x.sum().item());
    expectTypeOf(read).returns.resolves.toEqualTypeOf<number>();
  });

  it('what a module computes', () => {
    const model = new Sequential(new Linear(2, 2), new ReLU());
    expectTypeOf(model.call(ones([1, 2]))).toEqualTypeOf<Tensor>();
    expectTypeOf(compile(model)).returns.toEqualTypeOf<Tensor>();
    // @ts-expect-error options are an object
    expect(() => new Linear(3, 2, false)).toThrow('options are an object');
  });
});
