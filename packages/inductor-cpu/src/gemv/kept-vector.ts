/**
 * @file The values of a row, made once for all columns of a call and kept in scratch memory as float32.
 *
 * They lie in the order in which the weights' code takes them: as they are, or for parts of words so that a vector has
 * the same part of four words.
 */
import type { Expr } from '@tessera/inductor-core';
import { convert } from '../body/convert.js';
import { BodyEmitter } from '../body/body-emitter.js';
import type { KernelOptions } from '../body/size-slots.js';
import type { Reg } from '../body/vector-builder.js';
import { f32x4, i32, laneMemory, memory, op } from '../emit/code.js';
import type { Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { scaled, sum } from '../matmul/index-code.js';
import { type GemvProblem, gemvSpace } from './gemv-problem.js';
import type { Digit } from './narrow-weight.js';

/** How values lie, and what each is multiplied by: a power of two for each of eight neighbours. */
export interface KeptOrder {
  readonly inParts: boolean;
  readonly factors: readonly number[];
}

/** The function `(args, row)` that writes the values of `x` from address `row` on. */
export function keptVector(
  name: string,
  { kernel, loops }: GemvProblem,
  x: Expr,
  { inParts, factors }: KeptOrder,
  options: KernelOptions,
): WasmFunction {
  const f = new WasmFunction(name, { args: 'i32', row: 'i32' });
  const body = new BodyEmitter(f, kernel, gemvSpace(kernel), options);
  const { vb, scope } = body;
  const last = loops.digits.at(-1)!;
  const step = last.size % 8 === 0 ? 8 : 4;
  const values = (): void => {
    const k = loops.digits
      .map(({ name: digit, unit }) => scaled(scope.variable(digit), unit))
      .reduce((a, b) => sum(a, b));
    const lanes = { lane: last.name, across: last.name, groups: step / 4, active: step };
    scope.vectorise(lanes, () => {
      const value = convert(vb, body.value(x), 'f32');
      const place = f.let('k', k);
      const at = f.let('at', sum(f.param('row'), inParts ? partPlace(place) : scaled(place, 4)));
      for (let group = 0; group < step / 4; group++) {
        const factor = vb.constant(f32x4(...factors.slice(4 * group, 4 * group + 4)));
        const [reg] = vb.mul([value.regs[value.uniform ? 0 : group]!], factor);
        if (inParts) storeParts(f, at, reg!, group);
        else f.do(memory('v128.store', 16 * group, at, reg!));
      }
    });
  };
  const within = (digits: readonly Digit[]): void => {
    const [digit, ...rest] = digits;
    if (digit === undefined) values();
    else scope.loop(digit.name, 0, digit.size, rest.length === 0 ? step : 1, () => within(rest));
  };
  within(loops.digits);
  return f;
}

/** Bytes of the place of word k / 8 among vectors of four words with eight parts each. */
function partPlace(k: Local<'i32'>): ReturnType<typeof sum> {
  const vector = scaled(op('i32.shr_u', k, i32(5)), 128);
  return sum(vector, op('i32.and', op('i32.shr_u', k, i32(1)), i32(12)));
}

function storeParts(f: WasmFunction, at: Local<'i32'>, reg: Reg, half: number): void {
  for (let lane = 0; lane < 4; lane++)
    f.do(laneMemory('v128.store32_lane', 16 * (4 * half + lane), lane, at, reg));
}
