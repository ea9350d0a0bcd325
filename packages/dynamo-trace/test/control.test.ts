import { describe, expect, it } from 'vitest';
import { type Tensor, add, mul, noGrad, nonzero, tensor } from '@tessera/tensor';
import { disable, explainFunction, graphBreak, isCompiling } from '../src/index.js';
import { compileEager } from './compile-for-test.js';

const x = tensor([1, 2]);

describe('control over tracing', () => {
  it('graphBreak() splits the graph', () => {
    const { call, graphs } = compileEager((t: Tensor) => {
      const y = mul(t, 2);
      graphBreak();
      return add(y, 1);
    });
    for (let i = 0; i < 3; i++) expect(call(x).toArray()).toEqual([3, 5]);
    expect(graphs.length).toBe(2);
  });

  describe('before the first operator', () => {
    const opaque = disable((t: Tensor) => mul(t, 3));
    const w = tensor([3], { requiresGrad: true });
    const loss = mul(w, 2).sum();
    const breaks: Record<string, readonly [code: string, fn: (t: Tensor) => Tensor]> = {
      'graphBreak()': ['GB0003', (t) => (graphBreak(), add(t, 1))],
      'a disabled function': ['GB0004', (t) => add(opaque(t), 1)],
      'an operator whose shape depends on values': ['GB0002', (t) => add(nonzero(t), 1)],
      'a backward of older history': [
        'GB0005',
        (t) => (loss.backward(null, { retainGraph: true }), add(t, 1)),
      ],
      'graphBreak() with another grad mode': [
        'GB0003',
        (t) => noGrad(() => (graphBreak(), add(t, 1))),
      ],
    };
    for (const [name, [code, fn]] of Object.entries(breaks)) {
      it(`${name} is told as later in the function`, () => {
        const { call, function: compiled, graphs } = compileEager(fn);
        for (let i = 0; i < 4; i++) expect(call(x).toArray()).toEqual(fn(x).toArray());
        expect(compiled.captures).toHaveLength(1);
        expect(graphs).toHaveLength(1);
        const { breakReasons, graphCount } = explainFunction(compiled);
        expect(breakReasons.map((reason) => reason.code)).toEqual([code]);
        expect(breakReasons[0]!.location).toContain('control.test.ts');
        expect(graphCount).toBe(1);
        const full = compileEager(fn, { fullgraph: true });
        for (let i = 0; i < 2; i++)
          expect(() => full.call(x)).toThrow(
            expect.objectContaining({ code: 'trace-full-graph', context: { code } }),
          );
        expect(full.graphs).toHaveLength(0);
        const pure = compileEager(fn, { pure: true });
        expect(() => pure.call(x)).toThrow(expect.objectContaining({ code: 'pure-side-effect' }));
      });
    }

    it('graphBreak() on a path that was not recorded is an error under fullgraph', () => {
      const fn = (t: Tensor, breaks: boolean): Tensor => {
        if (breaks) graphBreak();
        return add(t, 1);
      };
      const full = compileEager(fn, { fullgraph: true });
      expect(full.call(x, false).toArray()).toEqual([2, 3]);
      expect(() => full.call(x, true)).toThrow('graphBreak() was called (GB0003)');
      expect(full.call(x, false).toArray()).toEqual([2, 3]);
      const { call, function: compiled } = compileEager(fn);
      for (const breaks of [false, true, false]) expect(call(x, breaks).toArray()).toEqual([2, 3]);
      expect(compiled.captures).toHaveLength(1);
    });

    it('breaks one behind the other are all listed, and only those', () => {
      const {
        call,
        function: compiled,
        graphs,
      } = compileEager((t: Tensor) => {
        graphBreak();
        const y = mul(t, 2);
        graphBreak();
        graphBreak();
        return add(y, 1);
      });
      for (let i = 0; i < 3; i++) expect(call(x).toArray()).toEqual([3, 5]);
      expect(compiled.captures).toHaveLength(1);
      expect(graphs).toHaveLength(2);
      expect(explainFunction(compiled).graphBreakCount).toBe(3);
    });

    it('what only looks at a tensor, or switches grad mode, is replayed', () => {
      const { call, function: compiled } = compileEager((t: Tensor) => {
        const y = t.contiguous();
        graphBreak();
        return [y, noGrad(() => (t.contiguous(), add(y, 1)))];
      });
      for (let i = 0; i < 4; i++)
        expect(call(x).map((y) => y.toArray())).toEqual([
          [1, 2],
          [2, 3],
        ]);
      expect(compiled.captures).toHaveLength(1);
    });
  });

  it('isCompiling() is true only inside', () => {
    const seen: boolean[] = [];
    const { call } = compileEager((t: Tensor) => {
      seen.push(isCompiling());
      return mul(t, 2);
    });
    call(x);
    call(x);
    expect(seen).toEqual([true, true]);
    expect(isCompiling()).toBe(false);
  });

  it('a disabled function runs eagerly on computed values', () => {
    const seen: unknown[] = [];
    const opaque = disable((t: Tensor): Tensor => {
      seen.push(t.toArray(), isCompiling());
      return mul(t, 10);
    });
    const { call, graphs } = compileEager((t: Tensor) => add(opaque(add(t, 1)), 5));
    for (let i = 0; i < 3; i++) expect(call(x).toArray()).toEqual([25, 35]);
    expect(seen).toEqual([[2, 3], false, [2, 3], false, [2, 3], false]);
    expect(graphs.length).toBe(2);
  });

  it('a compiled function inside another is part of its graph', () => {
    const inner = compileEager((t: Tensor) => mul(t, 3));
    const outer = compileEager((t: Tensor) => add(inner.call(t), 1));
    for (let i = 0; i < 3; i++) expect(outer.call(x).toArray()).toEqual([4, 7]);
    expect(inner.graphs.length).toBe(0);
    expect(outer.graphs.length).toBe(1);
  });

  it('printing a tensor computes it', () => {
    const texts: string[] = [];
    const { call, graphs } = compileEager((t: Tensor) => {
      const y = mul(t, 2);
      texts.push(String(y));
      return add(y, 1);
    });
    for (let i = 0; i < 2; i++) call(x);
    expect(texts).toEqual(['tensor([2., 4.])', 'tensor([2., 4.])']);
    expect(graphs.length).toBe(2);
  });

  it('explains graphs, breaks and guards', () => {
    const { call, function: compiled } = compileEager(function f(t: Tensor, n: number): Tensor {
      return t.sum().item() > 0 ? mul(t, n) : t;
    });
    call(x, 2);
    const explanation = explainFunction(compiled);
    expect(explanation.graphCount).toBe(2);
    expect(explanation.graphBreakCount).toBe(1);
    expect(explanation.guardCounts).toEqual({
      GLOBAL_STATE: 1,
      CONSTANT_MATCH: 1,
      TENSOR_MATCH: 1,
    });
    expect(explanation.breakReasons[0]!.location).toContain('control.test.ts');
    expect(String(explanation)).toContain('f: 2 graph(s), 1 graph break(s), 2 ops, 1 trace(s)');
  });
});
