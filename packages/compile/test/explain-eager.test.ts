/**
 * @file What `explain()` says of a call that ran eagerly: beyond a limit, or inside a mode.
 */
import { config } from '@tessera/shared';
import { makeFx } from '@tessera/graph';
import { type Tensor, detectAnomaly, inferenceMode, noGrad, randn } from '@tessera/tensor';
import { grad, vmap } from '@tessera/tensor/func';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { compile, explain, reset } from '../src/index.js';
import { explainTree } from '../src/exploration.js';

vi.spyOn(console, 'warn').mockReturnValue();

describe('explain() of a call that ran eagerly', () => {
  afterEach(reset);

  it('beyond trace.recompileLimit: why, and what to do, at each such call', () => {
    let outer = 0;
    const fn = compile((x: Tensor) => {
      let y = x;
      for (let i = 0; i < outer; i++) y = y.add(i).sin();
      return y.sum();
    });
    for (outer = 0; outer < 12; outer++) fn(randn([4]));
    // Replayed and found to fit nothing, or not even tried.
    for (outer of [30, 31, 32, 33]) {
      const told = explain(fn)(randn([4]));
      expect(told.eager?.option).toBe('trace.recompileLimit');
      expect(String(told)).toMatch(
        /^This call ran eagerly.*: anonymous function hit trace\.recompileLimit \(8\) and runs eagerly from where it diverges\. Last reason: .+\n {2}hint: .*raise config trace\.recompileLimit/m,
      );
      expect(explainTree(told)).toContain('this call ran eagerly');
    }
    outer = 2;
    const traced = [1, 2, 3, 4, 5, 6, 7, 8].map(() => explain(fn)(randn([4])).eager);
    expect(traced.at(-1)).toBeNull();
  });

  it('at sizes beyond trace.sizeLimit', () => {
    config.patch({ 'trace.sizeLimit': 2 }, () => {
      const fn = compile((x: Tensor) => x.mul(2).sum(), { backend: 'eager' });
      for (const n of [3, 4, 5, 6]) fn(randn([n]));
      const told = explain(fn)(randn([7]));
      expect(told.eager?.option).toBe('trace.sizeLimit');
      expect(String(told)).toMatch(
        /^This call ran eagerly.*: .*called with many sizes.*code is kept for 2\.\n {2}hint: .*trace\.sizeLimit/m,
      );
      expect(explain(fn)(randn([4])).eager).toBeNull();
    });
  });

  const double = compile(function double(x: Tensor) {
    return x.mul(2).sum();
  });

  it('in anomaly detection', () => {
    const told = detectAnomaly(() => explain(double)(randn([3])));
    expect(told).toMatchObject({ graphCount: 0, eager: { option: null } });
    expect(String(told)).toMatch(
      /^This call ran eagerly: anomaly detection is on, which notes where each operator of double is called\.\n {2}hint: Turn it off: setDetectAnomaly\(false\)/m,
    );
    expect(explainTree(told)).toContain('this call ran eagerly');
  });

  it('inside vmap', () => {
    let told: string | undefined;
    vmap((x: Tensor) => {
      told = String(explain(double)(x));
      return x;
    })(randn([2, 3]));
    expect(told).toMatch(
      /^This call ran eagerly: double was called inside vmap, which must see its operators\.\n {2}hint: Compile the function around vmap instead, or call double outside of it\./m,
    );
  });

  it('inside a trace of operators before dispatch', () => {
    let told: string | undefined;
    const fn = (x: Tensor): Tensor => {
      told = String(explain(double)(x));
      return x.add(1);
    };
    makeFx(fn, { preDispatch: true })(randn([3]));
    expect(told).toContain('double was called inside pre-dispatch proxy');
  });

  it('inside another compiled function it is traced as a part of that', () => {
    let told: unknown;
    compile((x: Tensor) => {
      const y = double(x);
      told = explain(double)(x).eager;
      return y;
    })(randn([3]));
    expect(told).toBeNull();
  });

  it('modes in which calls are traced are none: inference, no gradients, and grad() around it', () => {
    for (const scope of [inferenceMode, noGrad]) {
      const told = scope(() => explain(double)(randn([3])));
      expect(told).toMatchObject({ graphCount: 1, eager: null });
      reset();
    }
    let told: unknown;
    grad((x: Tensor) => {
      told = explain(double)(x).eager;
      return double(x);
    })(randn([3]));
    expect(told).toBeNull();
  });

  it('says nothing of calls that were traced', () => {
    const told = explain((x: Tensor) => x.add(1))(randn([3]));
    expect(told.eager).toBeNull();
    expect(String(told)).not.toContain('eagerly');
  });
});
