/**
 * @file The values of a row, made once for all columns of a call and kept in scratch memory as float32.
 */
import type { Expr } from '@tessera/inductor-core';
import { convert } from '../body/convert.js';
import { BodyEmitter } from '../body/body-emitter.js';
import type { KernelOptions } from '../body/size-slots.js';
import { memory } from '../emit/code.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { scaled, sum } from '../matmul/index-code.js';
import { type GemvProblem, gemvSpace } from './gemv-problem.js';
import type { Digit } from './narrow-weight.js';

/** The function `(args, row, number)` that writes the values of row `number` of `x`, times a factor, from address `row` on. */
export function keptVector(
  name: string,
  { kernel, loops }: GemvProblem,
  x: Expr,
  factor: number,
  options: KernelOptions,
): WasmFunction {
  const f = new WasmFunction(name, { args: 'i32', row: 'i32', number: 'i32' });
  const body = new BodyEmitter(f, kernel, gemvSpace(kernel), options);
  const { vb, scope } = body;
  if (loops.row !== null) scope.bind(loops.row.name, f.param('number'));
  const last = loops.digits.at(-1)!;
  const step = last.size % 8 === 0 ? 8 : 4;
  const values = (): void => {
    const k = loops.digits
      .map(({ name: digit, unit }) => scaled(scope.variable(digit), unit))
      .reduce((a, b) => sum(a, b));
    const lanes = { lane: last.name, across: last.name, groups: step / 4, active: step };
    scope.vectorise(lanes, () => {
      const value = convert(vb, body.value(x), 'f32');
      const at = f.let('at', sum(f.param('row'), scaled(f.let('k', k), 4)));
      for (let group = 0; group < step / 4; group++) {
        const reg = value.regs[value.uniform ? 0 : group]!;
        const [kept] = factor === 1 ? [reg] : vb.mul([reg], vb.f32(factor));
        f.do(memory('v128.store', 16 * group, at, kept!));
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
