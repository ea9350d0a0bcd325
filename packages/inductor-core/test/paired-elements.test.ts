/**
 * Buffers that are read in pairs: what lies beside what, and which buffers are.
 */
import { describe, expect, it } from 'vitest';
import { IrBuilder } from '../src/ir/build.js';
import type { IndexExpr } from '../src/ir/index-expr.js';
import { printIndex } from '../src/ir/print.js';
import { LaneContext } from '../src/schedule/threads/lane-context.js';
import { choosePairedBuffers, pairedPlace } from '../src/schedule/threads/paired-elements.js';

const ir = new IrBuilder();
const i = ir.sym('i', 64);
const r = ir.sym('r', 4);
const at = (...terms: IndexExpr[]): IndexExpr => terms.reduce((a, b) => ir.add(a, b));
const times = (index: IndexExpr, by: number): IndexExpr => ir.mul(index, ir.int(by));

describe('pairedPlace', () => {
  const place = (index: IndexExpr, width: 1 | 4 = 1, still: string | null = null): string => {
    const found = pairedPlace(index, width, still);
    return found === null ? 'unknown' : `${printIndex(found.first)}: ${found.part}`;
  };

  it('of single elements', () => {
    expect(place(times(i, 2))).toBe('2*i: 0');
    expect(place(at(times(i, 2), ir.int(1)))).toBe('2*i: 1');
    expect(place(at(times(i, 6), ir.int(3)))).toBe('6*i + 2: 1');
    expect(place(at(times(i, 2), ir.int(-1)))).toBe('2*i - 2: 1');
    expect(place(ir.int(1))).toBe('0: 1');
    expect(place(i)).toBe('unknown');
    expect(place(times(i, 3))).toBe('unknown');
  });

  it('of vectors, along a variable that is always 0', () => {
    expect(place(at(times(i, 8), r), 4, 'r')).toBe('8*i: 0');
    expect(place(at(times(i, 8), r, ir.int(4)), 4, 'r')).toBe('8*i: 1');
    expect(place(at(times(i, 8), r), 4)).toBe('unknown');
    expect(place(at(times(i, 4), r), 4, 'r')).toBe('unknown');
    expect(place(at(times(i, 8), r, ir.int(2)), 4, 'r')).toBe('unknown');
  });
});

describe('choosePairedBuffers', () => {
  const facts = { vectors: new Set<string>(), halves: new Set<string>(), still: null };
  const load = (name: string, index: IndexExpr) => ir.load('float32', name, index);
  const chosen = (...indices: IndexExpr[]): boolean => {
    const exprs = indices.map((index) => load('x', index));
    const group = { context: new LaneContext({}, exprs), exprs, stores: [] };
    return choosePairedBuffers([group], facts).has('x');
  };

  it('takes buffers of which both parts of every pair are read', () => {
    const [first, second] = [times(i, 2), at(times(i, 2), ir.int(1))];
    expect(chosen(first, second)).toBe(true);
    expect(chosen(first)).toBe(false);
    expect(chosen(first, second, times(i, 4))).toBe(false);
    expect(chosen(first, second, i)).toBe(false);
  });

  it('leaves what is written, and vectors that are not of halves', () => {
    const exprs = [times(i, 2), at(times(i, 2), ir.int(1))].map((index) => load('x', index));
    const context = new LaneContext({}, exprs);
    const store = { kind: 'store', buf: 'x', index: i, value: exprs[0]! } as const;
    expect(choosePairedBuffers([{ context, exprs, stores: [store] }], facts).size).toBe(0);
    const vectors = { ...facts, vectors: new Set(['x']) };
    expect(choosePairedBuffers([{ context, exprs, stores: [] }], vectors).size).toBe(0);
  });
});
