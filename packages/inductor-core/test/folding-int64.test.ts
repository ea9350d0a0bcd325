/**
 * @file Constant folding of int64 beyond 2⁵³, where a double may be another number than code computes.
 */
import { expect, it } from 'vitest';
import { IrBuilder } from '../src/ir/build.js';

it('leaves to code what no double is', () => {
  const b = new IrBuilder();
  const int64 = (value: number) => b.const('int64', value);
  const root = int64(3037000500);
  expect(b.op('mul', [root, root]).kind).toBe('op');
  expect(b.op('pow', [int64(3), int64(39)]).kind).toBe('op');
  expect(b.op('add', [int64(Number.MAX_SAFE_INTEGER), int64(2)]).kind).toBe('op');
  expect(b.op('mul', [int64(94906265), int64(94906265)])).toMatchObject({
    kind: 'const',
    value: 94906265 ** 2,
  });
  // The largest int64 stands for no limit: it is chosen, not computed.
  expect(b.op('minimum', [int64(2 ** 63), int64(5)])).toMatchObject({ kind: 'const', value: 5 });
  expect(b.op('maximum', [int64(-(2 ** 63)), int64(-(2 ** 63))])).toMatchObject({ kind: 'const' });
});
