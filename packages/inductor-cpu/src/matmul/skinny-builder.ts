/**
 * @file What the strategies of a product with few rows share: state, operands' values, and loops.
 */
import type { BlockProduct, LoopVar, SizedLoop } from '@tessera/inductor-core';
import type { BodyEmitter } from '../body/body-emitter.js';
import { convert } from '../body/convert.js';
import { kindOf, registersPerGroup } from '../body/element-kind.js';
import type { KernelOptions } from '../body/size-slots.js';
import type { Regs } from '../body/vector-builder.js';
import { i32 } from '../emit/code.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import type { MatmulProblem, Operand } from './problem.js';

/** State of one `sums` function while it is generated. */
export interface Builder {
  readonly problem: MatmulProblem;
  readonly options: KernelOptions;
  readonly f: WasmFunction;
  readonly body: BodyEmitter;
  readonly rows: readonly SizedLoop[];
  readonly cols: readonly SizedLoop[];
  readonly depth: readonly SizedLoop[];
  readonly tile: BlockProduct['tile'];
  /** From a row of sums to the next, and from a packed row to the next if there are any. */
  readonly rowBytes: number;
  readonly packedBytes: number | null;
}

/** Registers of an operand's value, in the accumulator's kind, for every group of the open vector iteration. */
export function operandRegs(
  { body, problem }: Pick<Builder, 'body' | 'problem'>,
  operand: Operand,
  groups: number,
): Regs {
  const kind = kindOf(problem.type.dtype);
  const value = convert(body.vb, body.value(operand.expr), kind);
  if (!value.uniform) return value.regs;
  return Array.from({ length: groups * registersPerGroup(kind) }, () => value.regs[0]);
}

/** Runs `emit` for each row, with the row's variables bound. */
export function forEachRow({ f, body, rows, tile }: Builder, emit: (row: number) => void): void {
  for (let row = 0; row < tile.rows; row++) {
    body.scope.nest((inside) => {
      inside(() => {
        let rest = row;
        for (const { name, size } of (rows as readonly LoopVar[]).toReversed()) {
          body.scope.bind(name, f.let(name, i32(rest % size)));
          rest = Math.floor(rest / size);
        }
        emit(row);
      });
    });
  }
}
