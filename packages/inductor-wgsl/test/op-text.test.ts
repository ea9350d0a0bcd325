/**
 * @file Operations whose text compilers of shaders would take for a simpler one, as if no number were infinite or none.
 */
import { describe, expect, it } from 'vitest';
import { emitOp, type OpSite } from '../src/codegen/values/op-table.js';

const site = (op: OpSite['op']): OpSite => ({
  op,
  dtype: 'float32',
  types: ['f32', 'f32'],
  width: 1,
  from: 'float32',
  helper: (name) => name,
});

describe('a float', () => {
  it.each([
    ['div', 'by_itself(x)', '(x / y)'],
    ['sub', 'less_itself(x)', '(x - y)'],
  ] as const)('%s itself is a function of its bits', (op, own, other) => {
    expect(emitOp(site(op), ['x', 'x'])).toBe(own);
    expect(emitOp(site(op), ['x', 'y'])).toBe(other);
  });
});
