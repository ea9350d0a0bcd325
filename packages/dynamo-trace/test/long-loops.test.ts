/**
 * @file A call with many graph breaks: it holds no segments that nothing can ask for any more.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { type Tensor, tensor } from '@tessera/tensor';
import { compileEager } from './compile-for-test.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Passes of a loop that reads a value, and what is left of the tensors that they make. */
async function passes(t: Tensor, count: number): Promise<[Tensor, WeakRef<Tensor>[]]> {
  let y = t;
  const made: WeakRef<Tensor>[] = [];
  for (let i = 0; i < count; i++) {
    y = y.mul(0.5).add(1);
    made.push(new WeakRef(y));
    expect(y.sum().item()).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  collect();
  await new Promise((resolve) => setTimeout(resolve, 0));
  collect();
  return [y, made];
}

describe('a loop with a graph break', () => {
  it('holds the tensors of its last passes alone, in every call', async () => {
    const { call } = compileEager(passes);
    for (let i = 0; i < 3; i++) {
      const [, made] = await call(tensor([1, 2]), 40);
      expect(made.filter((ref) => ref.deref() !== undefined).length).toBeLessThan(20);
    }
  });

  it('returns what later passes, and the caller, take from early ones', () => {
    const fn = (t: Tensor): Tensor[] => {
      const first = t.mul(2);
      let y = first.add(1);
      const early = y.mul(3);
      const kept: Tensor[] = [];
      for (let i = 0; i < 30; i++) {
        y = y.mul(0.5).add(1);
        if (y.sum().item() > 1e6) throw new Error('never');
        if (i % 10 === 3) kept.push(y.mul(2));
      }
      return [first.add(y), early, ...kept];
    };
    const { call, function: compiled } = compileEager(fn);
    for (let i = 0; i < 4; i++) {
      const x = tensor([i, 2]);
      expect(call(x).map((r) => r.toArray())).toEqual(fn(x).map((r) => r.toArray()));
    }
    expect(compiled.captures.length).toBe(1);
  });

  it('says that the gradient of a value of an early pass is watched too late', () => {
    let watch = false;
    const fn = (t: Tensor): Tensor => {
      const early = t.mul(2);
      let y = early.add(1);
      for (let i = 0; i < 20; i++) {
        y = y.mul(0.5).add(early);
        void y.sum().item();
      }
      if (watch) early.registerHook((g) => g.mul(10));
      return y.sum();
    };
    const { call } = compileEager(fn);
    const gradient = (run: typeof fn): number[] => {
      const x = tensor([1, 2]).requiresGrad_();
      run(x).backward();
      return x.grad!.toArray() as number[];
    };
    for (let i = 0; i < 2; i++) expect(gradient(call)).toEqual(gradient(fn));
    watch = true;
    const expected = gradient(fn);
    expect(() => gradient(call)).toThrow(expect.objectContaining({ code: 'trace-late-watch' }));
    for (let i = 0; i < 3; i++) expect(gradient(call)).toEqual(expected);
  });
});
