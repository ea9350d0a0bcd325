/**
 * @file The blocked matrix product: loops around the register tile.
 *
 * A call does the work items [begin, end). It walks them in groups that share a column block: for each
 * block of k it packs B once, then packs each block of A and multiplies. Partial sums of earlier blocks
 * of k wait where the results go: in the output itself when the epilogue only stores the product, else
 * in scratch, from which the epilogue reads after the last block of k.
 */
import { coefficientOf, roundUp } from '@tessera/inductor-core';
import { type Size, sizeMul } from '@tessera/shared';
import { i32, memory, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { SCRATCH } from '../wasm-kernel.js';
import type { Blocking } from './blocking.js';
import type { ColumnBlocks } from './column-blocks.js';
import type { OperandAccess } from './gemm-operands.js';
import type { GemmOutput } from './gemm-output.js';
import { decodeIndex, minimum, plus, plusSize, scaled, scaledBy, sum } from './index-code.js';
import { Tiles, multiplyBlock } from './multiply-block.js';
import type { MatmulProblem, Operand } from './problem.js';

/** Everything the driver puts together. */
export interface GemmParts {
  readonly problem: MatmulProblem;
  readonly blocking: Blocking;
  readonly columns: ColumnBlocks;
  readonly a: OperandAccess;
  readonly b: OperandAccess;
  readonly output: GemmOutput;
  /** Steps of k that a tile does in one round of its loop. */
  readonly stepsPerRound: number;
  /** The register tile `(a, b, c, rounds, accumulate)` of a shape. */
  readonly tile: (rows: number, vectors: number) => WasmFunction;
}

/** Bytes of scratch that one thread needs. */
export function gemmScratchBytes({ a, b, output }: GemmParts): number {
  return roundUp(a.scratchBytes, 64) + roundUp(b.scratchBytes, 64) + output.scratchBytes;
}

/** The kernel function; see the file header. */
export function gemmFunction(name: string, parts: GemmParts): WasmFunction {
  const { problem, blocking, columns, a, b, output } = parts;
  const tiles = new Tiles(parts.tile);
  const f = new WasmFunction(name, { args: 'i32', begin: 'i32', end: 'i32' });
  const args = f.param('args');
  const read = (size: Size): Code<'i32'> => problem.sizes.read(size, args);
  const item = f.param('begin');
  const end = f.param('end');
  const scratchA = f.let('scratch_a', SCRATCH);
  const scratchB = f.let('scratch_b', plus(scratchA, roundUp(a.scratchBytes, 64)));
  const scratchC = f.let('scratch_c', plus(scratchB, roundUp(b.scratchBytes, 64)));

  f.while(
    () => op('i32.lt_u', item, end),
    () => {
      const { rowItems, rowsPerItem, depthBlock, groupRows } = blocking;
      const rowItem = f.let('row_item', op('i32.rem_u', item, read(rowItems)));
      const column = f.let('column', op('i32.div_u', item, read(rowItems)));
      const batch = f.let('batch', op('i32.div_u', column, read(columns.items)));
      const left = minimum(
        f,
        'items',
        op('i32.sub', end, item),
        op('i32.sub', read(rowItems), rowItem),
      );
      const items = minimum(f, 'group', left, i32(groupRows / rowsPerItem));
      const row0 = f.let('row', scaled(rowItem, rowsPerItem));
      const rows = minimum(
        f,
        'rows',
        scaled(items, rowsPerItem),
        op('i32.sub', read(problem.rowCount), row0),
      );
      const block = columns.open(f, read, op('i32.rem_u', column, read(columns.items)));
      const place = { flat: batch, vars: decodeIndex(f, problem.batch, batch, read) };
      const [baseA, baseB] = [problem.a, problem.b].map((operand) =>
        operandBase(f, problem, operand, place),
      );
      const destination = output.open(f, {
        args,
        batch,
        row: row0,
        rows,
        block,
        scratch: scratchC,
      });

      const step = f.let('k', i32(0));
      f.loop((nextDepth) => {
        const steps = minimum(
          f,
          'steps',
          i32(depthBlock),
          op('i32.sub', read(problem.depthCount), step),
        );
        const bBlock = f.let(
          'b',
          b.prepare(
            f,
            { args, batch, base: baseB, origin: block.origin, extent: block.extent, step, steps },
            scratchB,
          ),
        );
        const { stepsPerRound } = parts;
        const rounds =
          stepsPerRound === 1 ? steps : f.let('rounds', op('i32.div_u', steps, i32(stepsPerRound)));
        const accumulate = f.let('accumulate', op('i32.ne', step, i32(0)));
        const nextStep = f.let('next_k', sum(step, steps));
        const isLast = f.let('is_last', op('i32.ge_u', nextStep, read(problem.depthCount)));

        const row = f.let('row_block', row0);
        const rowsLeft = f.let('rows_left', rows);
        f.loop((nextRows) => {
          const blockRows = minimum(f, 'block_rows', rowsLeft, i32(rowsPerItem));
          const aBlock = f.let(
            'a',
            a.prepare(
              f,
              { args, batch, base: baseA, origin: [row], extent: [blockRows], step, steps },
              scratchA,
            ),
          );
          const done = output.reusesRows ? i32(0) : op('i32.sub', row, row0);
          const c = f.let('c', sum(destination, scaled(done, output.rowBytes)));
          if (problem.depthCount !== 0)
            multiplyBlock(f, parts, tiles, {
              a: aBlock,
              b: bBlock,
              c,
              rows: blockRows,
              columns: block,
              rounds,
              accumulate,
            });
          // An empty sum is zero.
          else f.do(op('memory.fill', c, i32(0), scaled(blockRows, output.rowBytes)));
          f.if(isLast, () => output.finish(f, { args, batch, row, rows: blockRows, block, c }));
          f.set(row, sum(row, blockRows));
          f.brIf(nextRows, f.tee(rowsLeft, op('i32.sub', rowsLeft, blockRows)));
        });
        f.set(step, nextStep);
        f.brIf(nextDepth, op('i32.eqz', isLast));
      });
      f.set(item, sum(item, items));
    },
  );
  return f;
}

/** An entry of the batch: its number, and the variables that this is made of. */
export interface BatchEntry {
  readonly flat: Local<'i32'>;
  readonly vars: ReadonlyMap<string, Local<'i32'>>;
}

/** Address of a plain operand's element (0, 0) in an entry of the batch; the number of the entry for others. */
export function operandBase(
  f: WasmFunction,
  problem: MatmulProblem,
  { plain, side }: Operand,
  batch: BatchEntry,
): Local<'i32'> {
  if (plain === null) return batch.flat;
  const read = (size: Size): Code<'i32'> => problem.sizes.read(size, f.param('args'));
  const { buf, index } = plain;
  const { bytes } = problem.type;
  const parameter = problem.kernel.params.findIndex((param) => param.name === buf);
  let address: Code<'i32'> = plusSize(
    memory('i32.load', parameter * 4, f.param('args')),
    sizeMul(index.constant, bytes),
    read,
  );
  for (const [name, local] of batch.vars) {
    const stride = coefficientOf(index, name);
    if (stride !== 0) address = sum(address, scaledBy(local, sizeMul(stride, bytes), read));
  }
  return f.let(`${side}_base`, address);
}
