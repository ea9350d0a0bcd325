/**
 * @file Integers of 8 and 16 bits wrap in the middle of a kernel as they do in memory.
 */
import type { Argument, Node } from '@tessera/graph';
import { type DType, tensor } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { compileToExecutable } from '../src/index.js';
import { GraphBuilder } from './graph-builder.js';
import { interpreterBackend } from './interpreter-backend.js';

const VALUES = [0, 1, 2, 7, 100, 127, -128, -1, -56, 255];
const OPS: readonly (readonly [string, readonly Argument[]])[] = [
  ['add.Tensor', [200]],
  ['add.Tensor', ['self', 3]],
  ['sub.Tensor', [1]],
  ['mul.Tensor', ['self']],
  ['mul.Tensor', [300]],
  ['addcmul', ['self', 'self', 3]],
  ['pow.Tensor_Scalar', [2]],
  ['pow.Tensor_Scalar', [5]],
  ['div.Tensor_mode', [-1, 'floor']],
  ['pow.Tensor_Tensor', ['self']],
  ['neg', []],
  ['abs', []],
  ['bitwise_not', []],
  ['bitwise_left_shift.Tensor_Scalar', [3]],
  ['div.Tensor_mode', [-1, 'trunc']],
  ['gcd', ['self']],
  ['lcm', ['other']],
  ['sum.dim_IntList', [[0], false, 'own']],
  ['prod.dim_int', [0, false, 'own']],
  ['cumsum', [0, 'own']],
  ['cumprod', [0, 'own']],
];

describe.each<DType>(['uint8', 'int8', 'int16'])('%s', (dtype) => {
  it.each(OPS)('%s %j', (name, args) => {
    const b = new GraphBuilder();
    const x = b.input([VALUES.length], dtype);
    const named = { self: x, other: b.op('add.Tensor', x, 3), own: dtype };
    const given = args.map((arg) =>
      typeof arg === 'string' && arg in named ? named[arg as 'self'] : arg,
    );
    const result = b.op(name, x, ...given);
    const wide = b.op('_to_copy', result, 'float64');
    const module = b.done(wide, b.op('gt.Scalar', result, 3), b.op('sub.Tensor', result, 9));
    const run = compileToExecutable(module, interpreterBackend());
    const make = (): Node['meta']['val'] => tensor(VALUES, { dtype: 'int64' }).to(dtype);
    const numbers = (results: readonly unknown[]): number[][] =>
      results.map((t) => [...readNumbers(t as never)]);
    expect(numbers(run([make() as never]))).toEqual(
      numbers(module.forward(make() as never) as unknown[]),
    );
  });
});
