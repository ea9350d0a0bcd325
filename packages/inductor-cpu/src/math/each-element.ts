/**
 * @file Calls of scalar functions for every element of vector registers.
 */
import type { ScalarType } from '@tessera/inductor-core';
import type { Regs, VectorBuilder } from '../body/vector-builder.js';
import { call, lane, op } from '../emit/code.js';
import type { Callee, Code, ValType } from '../emit/types.js';

type Shape = 'f32x4' | 'f64x2' | 'i32x4' | 'i64x2';

function shapeOf(type: ScalarType): Shape {
  if (type === 'f64') return 'f64x2';
  if (type === 'i64') return 'i64x2';
  return type === 'f32' ? 'f32x4' : 'i32x4';
}

const lanesOf = (shape: Shape): 2 | 4 => (shape === 'f64x2' || shape === 'i64x2' ? 2 : 4);

/** Instructions whose names are put together. */
const splat = op as (name: string, value: Code) => Code<'v128'>;
const replace = lane as (name: string, k: number, into: Code<'v128'>, value: Code) => Code<'v128'>;

/**
 * The results of `callee`: four elements are one register of 32-bit lanes or two of 64-bit lanes. Of
 * `uniform` operands there is a single result.
 */
export function eachElement(
  vb: VectorBuilder,
  callee: Callee & { readonly result: ValType },
  params: readonly { readonly type: ScalarType }[],
  result: ScalarType,
  args: readonly Regs[],
  uniform: boolean,
): Regs {
  const shapes = params.map(({ type }) => shapeOf(type));
  const into = shapeOf(result);
  const count = Math.max(
    ...args.map((regs, i) => (regs.length * lanesOf(shapes[i]!)) / lanesOf(into)),
  );
  const element = (index: number): Code<ValType> =>
    call(
      callee,
      ...args.map((regs, i) => {
        const lanes = lanesOf(shapes[i]!);
        const reg = regs[Math.floor(index / lanes) % regs.length]!;
        return lane(`${shapes[i]!}.extract_lane`, index % lanes, reg);
      }),
    );
  if (uniform) return [vb.let(splat(`${into}.splat`, element(0)))];
  return Array.from({ length: Math.ceil(count) }, (_, r) => {
    const first = r * lanesOf(into);
    let vector = splat(`${into}.splat`, element(first));
    for (let k = 1; k < lanesOf(into); k++)
      vector = replace(`${into}.replace_lane`, k, vector, element(first + k));
    return vb.let(vector);
  });
}
