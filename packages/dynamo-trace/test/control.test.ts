import { describe, expect, it } from 'vitest';
import { type Tensor, add, mul, tensor } from '@tessera/tensor';
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
