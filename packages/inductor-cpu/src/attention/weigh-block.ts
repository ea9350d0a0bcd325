/**
 * @file The weights of a block, made of its scores where these lie.
 */
import type { AttentionKernel } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { BodyEmitter } from '../body/body-emitter.js';
import { convert } from '../body/convert.js';
import { kindOf, registersPerGroup } from '../body/element-kind.js';
import type { KernelOptions } from '../body/size-slots.js';
import type { Value } from '../body/value.js';
import { i32, laneMemory, memory, op } from '../emit/code.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { elementType } from '../matmul/element-type.js';
import { scaled, sum } from '../matmul/index-code.js';
import { bindBatch, forEachRun, mergedSpace } from '../matmul/matmul-space.js';
import type { BlockPlaces } from './block-places.js';
import { type VectorPart, eachVector } from './each-vector.js';
import { RowSoftmax } from './row-softmax.js';

/**
 * The function `(args, batch, row, rows, col, cols, at, more)`: `at` is where the places of the block begin, `more`
 * says whether sums of earlier blocks lie there.
 */
export function weighFunction(
  kernel: AttentionKernel<Size>,
  places: BlockPlaces,
  options: KernelOptions,
): WasmFunction {
  const { name, batch, m, j, weights, scores, softmax, accDtype } = kernel;
  const f = new WasmFunction(`${name}_weigh`, {
    args: 'i32',
    batch: 'i32',
    row: 'i32',
    rows: 'i32',
    col: 'i32',
    cols: 'i32',
    at: 'i32',
    more: 'i32',
  });
  const type = elementType(accDtype)!;
  const kind = kindOf(accDtype);
  const { space, lists } = mergedSpace([m, j], batch, weights, []);
  const [rowVars, columnVars] = lists;
  const body = new BodyEmitter(f, kernel, space, options);
  bindBatch(body, batch, f.param('batch'));
  const [row, col, base] = [f.param('row'), f.param('col'), f.param('at')];
  const rowEnd = f.let('row_end', sum(row, f.param('rows')));
  const colEnd = f.let('col_end', sum(col, f.param('cols')));
  const perGroup = registersPerGroup(kind);

  const load = ({ groups, at }: VectorPart, array: number): Value => ({
    kind,
    uniform: false,
    regs: Array.from({ length: groups * perGroup }, (_, i) =>
      f.let('score', memory('v128.load', array * places.arrayBytes + 16 * i, at)),
    ),
  });
  const store = ({ groups, active, at }: VectorPart, array: number, { regs }: Value): void => {
    const offset = array * places.arrayBytes;
    if (active === 1) f.do(laneMemory(type.storeLane, offset, 0, at, regs[0]!));
    else
      for (let i = 0; i < groups * perGroup; i++)
        f.do(memory('v128.store', offset + 16 * i, at, regs[i % regs.length]!));
  };
  const weigh = (part: VectorPart): readonly Value[] => {
    for (const p of scores.keys()) body.scope.bindAcc(p, load(part, p));
    return weights.map((weight) => convert(body.vb, body.value(weight), kind));
  };

  forEachRun(body, rowVars!, row, rowEnd, (rowRun) => {
    body.scope.loop(rowRun.inner, rowRun.begin, rowRun.end, 1, () => {
      const offset = op('i32.sub', body.scope.variable(rowRun.inner), rowRun.begin);
      const position = f.let('position', op('i32.sub', sum(rowRun.flat, offset), row));
      const at = f.let('scores', sum(base, scaled(position, places.scoreRow)));
      const online = softmax ? new RowSoftmax(body, accDtype) : null;
      online?.start();
      forEachRun(body, columnVars!, col, colEnd, (run) =>
        eachVector(body, run, at, type.bytes, (part) => {
          const values = weigh(part);
          if (online !== null) online.logits(values[0]!);
          for (const [q, value] of values.entries()) store(part, q, value);
        }),
      );
      if (online === null) return;
      const here = places.ofRow(f, base, position);
      const { shift, factor } = online.shift(here, f.param('more'));
      const first = f.let('first', i32(0));
      const all = { inner: 'element', begin: first, end: f.param('cols'), flat: first };
      eachVector(body, all, at, type.bytes, (part) =>
        store(part, 0, online.weights(load(part, 0), shift)),
      );
      online.finish(factor, here, f.param('more'));
    });
  });
  return f;
}
