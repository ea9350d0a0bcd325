/**
 * @file The end of a block of rows with a softmax: sums become results, and what is stored for each row.
 */
import { type AttentionKernel, IrBuilder } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { BodyEmitter } from '../body/body-emitter.js';
import { kindOf, registersPerGroup } from '../body/element-kind.js';
import type { KernelOptions } from '../body/size-slots.js';
import { memory, op } from '../emit/code.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { i32 } from '../emit/code.js';
import { elementType } from '../matmul/element-type.js';
import { plus, scaled, sum } from '../matmul/index-code.js';
import { bindBatch, forEachRun, mergedSpace } from '../matmul/matmul-space.js';
import type { BlockPlaces } from './block-places.js';
import { eachVector } from './each-vector.js';
import { RowSoftmax } from './row-softmax.js';

/** The function `(args, batch, row, rows, at)`; `at` is where the places of the block begin. */
export function finishFunction(
  kernel: AttentionKernel<Size>,
  places: BlockPlaces,
  options: KernelOptions,
): WasmFunction {
  const { name, batch, m, accDtype } = kernel;
  const f = new WasmFunction(`${name}_finish`, {
    args: 'i32',
    batch: 'i32',
    row: 'i32',
    rows: 'i32',
    at: 'i32',
  });
  const stores = rowStores(kernel);
  const { space, lists } = mergedSpace([m], batch, [], stores);
  const [vars] = lists;
  const body = new BodyEmitter(f, kernel, space, options);
  bindBatch(body, batch, f.param('batch'));
  const [row, base] = [f.param('row'), f.param('at')];
  body.scope.loop('position', f.let('first', i32(0)), f.param('rows'), 1, () => {
    const position = body.scope.variable('position');
    new RowSoftmax(body, accDtype).normalise(places.ofRow(f, base, position));
  });
  if (stores.length === 0) return f;
  const { bytes } = elementType(accDtype)!;
  const rowEnd = f.let('row_end', sum(row, f.param('rows')));
  forEachRun(body, vars!, row, rowEnd, (run) => {
    const state = f.let(
      'state',
      plus(sum(base, scaled(op('i32.sub', run.flat, row), bytes)), places.state),
    );
    eachVector(body, run, state, bytes, ({ groups, at }) => {
      for (const id of [0, 1]) {
        const regs = Array.from({ length: groups * registersPerGroup(kindOf(accDtype)) }, (_, i) =>
          f.let('kept', memory('v128.load', id * places.apart + 16 * i, at)),
        );
        body.scope.bindAcc(id, { kind: kindOf(accDtype), uniform: false, regs });
      }
      for (const stmt of stores) body.store(stmt);
    });
  });
  return f;
}

/** The statements, of a row's largest logit and its sum. */
function rowStores(
  kernel: AttentionKernel<Size>,
): Extract<AttentionKernel<Size>['rowStores'][number], { kind: 'store' }>[] {
  const { accDtype } = kernel;
  const ir = new IrBuilder();
  const [peak, total] = [ir.acc(accDtype, 0), ir.acc(accDtype, 1)];
  const isEmpty = ir.op('eq', [peak, ir.const(accDtype, -Infinity)]);
  const logSum = ir.op('where', [isEmpty, peak, ir.op('add', [peak, ir.op('log', [total])])]);
  return kernel.rowStores.flatMap((stmt) =>
    stmt.kind === 'store'
      ? [{ ...stmt, value: ir.rewrite([stmt.value], { acc: () => logSum })[0]! }]
      : [],
  );
}
