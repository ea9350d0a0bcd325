/**
 * @file Schedules of products of few rows with narrow weights, spelled.
 */
import {
  type BlockStmt,
  type IndexExpr,
  rowFormBytes,
  type ScheduledKernel,
  type ScheduledStmt,
} from '@tessera/inductor-core';
import type { BodyEmitter } from '../body/body-emitter.js';
import type { KernelOptions } from '../body/size-slots.js';
import { call, i32, op, select } from '../emit/code.js';
import { placeCode } from '../loops/place-code.js';
import { BlockEmitter, emitBlocks } from '../matmul/block-emitter.js';
import { plus, scaled } from '../matmul/index-code.js';
import { KEPT, type WasmKernel } from '../wasm-kernel.js';
import { findNotFinite } from './exact-sums.js';
import { fixedPointRow } from './fixed-point-row.js';
import { itemSums } from './item-sums.js';
import { rowParts } from './row-parts.js';

class GemvEmitter extends BlockEmitter {
  /** The first column of an item. */
  #first: IndexExpr | null = null;

  protected override other(stmt: ScheduledStmt, body: BodyEmitter): void {
    switch (stmt.kind) {
      case 'once':
        return this.#once(stmt, body);
      case 'arrange':
        return this.#arrange(stmt, body);
      case 'pack':
        // Weights are taken apart where they are multiplied.
        this.#first = stmt.lines[0]![0];
        return;
      case 'product':
        return this.#multiply(stmt, body);
      default:
        super.other(stmt, body);
    }
  }

  #once({ of, body: all }: Extract<ScheduledStmt, { kind: 'once' }>, body: BodyEmitter): void {
    const { f, scope } = body;
    const kept = f.let('kept', plus(placeCode(body, of), 2));
    scope.nest((inside) =>
      f.if(op('i32.ne', KEPT, kept), () => {
        inside(() => this.body(all));
        f.setGlobal(KEPT, select(kept, i32(0), KEPT));
      }),
    );
  }

  #arrange(
    { array, from, length, as }: Extract<BlockStmt, { kind: 'arrange' }>,
    body: BodyEmitter,
  ): void {
    const { f, kernel } = body;
    const name = `${kernel.name}_${array}`;
    const [row, out] = [from, array].map((each) => body.buffer(each).pointer);
    const arrange =
      as.kind === 'digits' ? fixedPointRow(name, as, length) : rowParts(name, length, as.group);
    f.do(call(arrange, row!, out!));
    const special = findNotFinite(`${name}_special`, length);
    f.do(call(special, row!, plus(out!, rowFormBytes(as, length))));
  }

  #multiply({ product, at }: Extract<BlockStmt, { kind: 'product' }>, body: BodyEmitter): void {
    const made = this.scheduled.products!.find(({ name }) => name === product)!;
    const { f } = body;
    const [first, place] = [this.#first!, at].map((index) => placeCode(body, index));
    const out = f.let('out', op('i32.add', body.buffer(made.to).pointer, scaled(place!, 4)));
    itemSums(body, made, this.options, f.let('first', first!), out);
  }
}

/** Code of a schedule. */
export function emitGemv(scheduled: ScheduledKernel, options: KernelOptions): WasmKernel {
  return emitBlocks(scheduled, options, GemvEmitter);
}
