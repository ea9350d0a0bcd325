/**
 * @file uint16 and uint32 are held by wider dtypes: their arithmetic wraps around as theirs does, also where values went
 * through other operators in between.
 */
import { compile } from '@tessera/compile';
import { type Tensor, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import { type NodeSpec, model, value } from './support/build-model.js';

const TYPES = [
  { name: 'uint16', code: 4, dtype: 'int32', bits: 16n, a: [0, 1, 65535, 65535, 40000, 256] },
  {
    name: 'uint32',
    code: 12,
    dtype: 'int64',
    bits: 32n,
    a: [0, 1, 2 ** 32 - 1, 2 ** 31, 70000, 9],
  },
] as const;
const B = [1, 3, 2, 1, 5, 7];

type Formula = (a: bigint, b: bigint) => bigint;
const FORMULAS: Readonly<Record<string, Formula>> = {
  Add: (a, b) => a + b,
  Sub: (a, b) => a - b,
  Mul: (a, b) => a * b,
  Div: (a, b) => a / b,
  Max: (a, b) => (a > b ? a : b),
};

async function results(
  { code, dtype, a }: (typeof TYPES)[number],
  nodes: readonly NodeSpec[],
): Promise<number[][]> {
  const n = a.length;
  const bytes = model(
    {
      inputs: [value('a', [n], code), value('b', [n], code)],
      outputs: [value('y', [n], code)],
      nodes,
    },
    18,
  );
  const imported = await importOnnx(bytes);
  const given = [tensor([...a], { dtype }), tensor(B, { dtype })] as const;
  const compiled = compile((x: Tensor, y: Tensor) => imported.call(x, y).y!);
  return [imported.call(...given).y!, compiled(...given)].map((y) => y.toArray() as number[]);
}

describe.each(TYPES)('$name', (type) => {
  const wrap = (x: bigint): number => Number(BigInt.asUintN(Number(type.bits), x));
  const wanted = (compute: Formula): number[] =>
    type.a.map((x, i) => wrap(compute(BigInt(x), BigInt(B[i]!))));

  it.each(Object.keys(FORMULAS))('%s', async (op) => {
    const nodes = [{ op, in: ['a', 'b'], out: ['y'] }];
    for (const y of await results(type, nodes)) expect(y).toEqual(wanted(FORMULAS[op]!));
  });

  it('BitwiseNot, Neg and shifts to the left', async () => {
    const not = await results(type, [{ op: 'BitwiseNot', in: ['a'], out: ['y'] }]);
    for (const y of not) expect(y).toEqual(wanted((a) => ~a));
    const shifted = await results(type, [
      { op: 'BitShift', in: ['a', 'b'], out: ['y'], attributes: { direction: 'LEFT' } },
    ]);
    for (const y of shifted) expect(y).toEqual(wanted((a, b) => a << b));
  });

  it('behind operators that move values', async () => {
    const nodes: NodeSpec[] = [
      { op: 'Identity', in: ['a'], out: ['i'] },
      { op: 'Split', in: ['i'], out: ['s0', 's1'], attributes: { num_outputs: 2 } },
      { op: 'Concat', in: ['s1', 's0'], out: ['c'], attributes: { axis: 0 } },
      { op: 'Sub', in: ['c', 'b'], out: ['d'] },
      { op: 'Sub', in: ['d', 'b'], out: ['y'] },
    ];
    const half = type.a.length / 2;
    const moved = [...type.a.slice(half), ...type.a.slice(0, half)];
    const sub = moved.map((x, i) => wrap(BigInt(x) - 2n * BigInt(B[i]!)));
    for (const y of await results(type, nodes)) expect(y).toEqual(sub);
  });
});

it('a tensor that was uint16 to one model is int32 to another', async () => {
  const x = tensor([1, 2], { dtype: 'int32' });
  const file = (code: number): Uint8Array =>
    model({
      inputs: [value('x', [2], code)],
      outputs: [value('y', [2], code)],
      nodes: [{ op: 'Neg', in: ['x'], out: ['y'] }],
    });
  expect((await importOnnx(file(4))).call(x).y!.toArray()).toEqual([65535, 65534]);
  expect((await importOnnx(file(6))).call(x).y!.toArray()).toEqual([-1, -2]);
});
