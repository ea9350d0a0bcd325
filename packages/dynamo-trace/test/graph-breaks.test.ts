/**
 * @file Graph breaks: each kind has a code, is told with a hint and the user's line, and is documented.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { isTesseraError } from '@tessera/shared';
import {
  type Tensor,
  add,
  autocast,
  maskedSelect,
  mm,
  mul,
  nonzero,
  ones,
  tensor,
} from '@tessera/tensor';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { GRAPH_BREAKS, disable, explainFunction, graphBreak } from '../src/index.js';
import { compileEager } from './compile-for-test.js';
import { graphBreaksPage } from './graph-breaks-page.js';

const x = tensor([1, 2]);

afterEach(() => vi.restoreAllMocks());

// eslint-disable-next-line @typescript-eslint/no-explicit-any
function codesOf(fn: (...args: any[]) => unknown, ...args: unknown[]): string[] {
  const { call, function: compiled } = compileEager(fn);
  for (let i = 0; i < 2; i++) {
    const result = call(...args);
    if (result !== null && typeof result === 'object' && Symbol.iterator in result)
      Array.from(result as Iterable<unknown>);
  }
  for (const { location } of compiled.captures[0]!.breaks)
    expect(location).toContain('graph-breaks.test.ts');
  return compiled.captures[0]!.breaks.map(({ code }) => code);
}

describe('graph breaks', () => {
  it('reading a value', () => {
    expect(codesOf((t: Tensor) => mul(t, t.sum().item()), x)).toEqual(['GB0001']);
  });

  it('sizes that depend on data say so', () => {
    const fn = (t: Tensor): Tensor => add(nonzero(mul(t, 2)), 1);
    const { call, function: compiled } = compileEager(fn);
    for (const values of [
      [1, 0, 2],
      [0, 0, 2],
      [3, 4, 5],
    ])
      expect(call(tensor(values)).toArray()).toEqual(fn(tensor(values)).toArray());
    expect(compiled.captures[0]!.breaks[0]).toMatchObject({
      code: 'GB0002',
      reason: 'the shape of aten::nonzero depends on values',
    });
    expect(codesOf((t: Tensor) => maskedSelect(mul(t, 2), t.gt(1)).sum(), x)).toEqual(['GB0002']);
  });

  it('compiles the graphs on both sides of a break in the first call', () => {
    const fn = (t: Tensor): Tensor => {
      const y = mul(t, 2);
      return y.sum().item() > 0 ? add(y, 1) : add(y, -1);
    };
    const { call, graphs } = compileEager(fn);
    expect(call(x).toArray()).toEqual([3, 5]);
    expect(graphs).toHaveLength(2);
    expect(call(x).toArray()).toEqual([3, 5]);
    expect(graphs).toHaveLength(2);
  });

  it('compiles a graph before a break later if its inputs have become others meanwhile', () => {
    const fn = (t: Tensor): Tensor => {
      const y = t.unsqueeze_(0).mul(2);
      graphBreak();
      return add(y, 1);
    };
    const { call, graphs } = compileEager(fn);
    for (let i = 0; i < 3; i++) {
      const t = tensor([1, 2]);
      expect(call(t).toArray()).toEqual([[3, 5]]);
      expect(t.shape).toEqual([1, 2]);
    }
    expect(graphs).toHaveLength(2);
  });

  it('graphBreak() and disabled functions', () => {
    const opaque = disable((t: Tensor) => mul(t, 3));
    const fn = (t: Tensor): Tensor => {
      const y = add(t, 1);
      graphBreak();
      return opaque(mul(y, 2));
    };
    expect(codesOf(fn, x)).toEqual(['GB0003', 'GB0004']);
  });

  it('a generator', () => {
    function* fn(t: Tensor): Generator<Tensor> {
      yield mul(t, 2);
    }
    const { call, function: compiled } = compileEager(fn);
    expect([...call(x)][0]!.toArray()).toEqual([2, 4]);
    expect(compiled.captures[0]!.breaks.map(({ code }) => code)).toEqual(['GB0006']);
  });

  it('backward through what happened before', () => {
    const w = tensor([3], { requiresGrad: true });
    const outside = w.mul(2);
    const fn = (t: Tensor): void => mul(outside, t).sum().backward(null, { retainGraph: true });
    expect(codesOf(fn, x)).toEqual(['GB0005']);
    expect(w.grad!.item()).toBe(12);
    const { call, function: compiled } = compileEager(fn);
    for (let i = 0; i < 4; i++) call(x);
    expect(compiled.captures.length).toBe(1);
    expect(w.grad!.item()).toBe(36);
  });

  it('fullgraph errors carry code, line and hint', () => {
    const { call } = compileEager((t: Tensor) => mul(t, t.sum().item()), { fullgraph: true });
    let error: unknown;
    try {
      call(x);
    } catch (caught) {
      error = caught;
    }
    if (!isTesseraError(error)) throw new Error('expected an error');
    expect(error.code).toBe('trace-full-graph');
    expect(error.message).toContain('(GB0001)');
    expect(error.context).toMatchObject({ code: 'GB0001' });
    expect(error.hints[0]).toBe(GRAPH_BREAKS.GB0001.hint);
    expect(error.location).toContain('graph-breaks.test.ts');
  });

  it('explain() lists them with hints', () => {
    const { call, function: compiled } = compileEager((t: Tensor) => mul(t, t.sum().item()));
    call(x);
    const text = String(explainFunction(compiled));
    expect(text).toMatch(/Break 1: the value of a tensor was read \(GB0001\) at .*graph-breaks/);
    expect(text).toContain(`hint: ${GRAPH_BREAKS.GB0001.hint}`);
  });

  it('are all documented in docs/graph-breaks.md', () => {
    const page = new URL('../../../docs/graph-breaks.md', import.meta.url);
    if (process.env.UPDATE_DOCS === '1') writeFileSync(page, graphBreaksPage());
    expect(readFileSync(page, 'utf8')).toBe(graphBreaksPage());
  });
});

it('computes in a scope of autocast what was recorded before it as it was recorded', () => {
  const w = tensor([
    [1.001, 2.003],
    [3.007, 4.009],
  ]);
  const f = (x: Tensor): Tensor => {
    const h = mm(x, w);
    return autocast({}, () => h.add(h.sum().item() as number));
  };
  const expected = f(ones([2, 2])).toArray();
  const { call } = compileEager(f);
  for (let i = 0; i < 3; i++) expect(call(ones([2, 2])).toArray()).toEqual(expected);
});
