/**
 * @file How a blocked product gets at its operands: where they lie, or packed into panels.
 *
 * Both forms look the same to the tile loop: an address for the first tile of a block, constant byte
 * strides within a tile, and a constant distance to the next tile.
 */
import { call, i32, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { roundUp, type Blocking } from './blocking.js';
import { scaled, sum } from './index-code.js';
import { packPlain } from './pack-plain.js';
import type { MatmulProblem, Operand, PlainOperand } from './problem.js';

/** A block of an operand, in locals of the driver. */
export interface BlockRange {
  /** Address of the argument block, and flat batch index. */
  readonly args: Local<'i32'>;
  readonly batch: Local<'i32'>;
  /** Address of element (0, 0) of this batch entry; only of a plain operand. */
  readonly base: Local<'i32'>;
  readonly line: Local<'i32'>;
  readonly lines: Local<'i32'>;
  readonly step: Local<'i32'>;
  readonly steps: Local<'i32'>;
}

/** Byte strides that the tile loop is generated for. */
export interface TileStrides {
  /** Between lines of one tile; for B, lines within a vector are adjacent and this is the element size. */
  readonly line: number;
  /** Between k of a full tile, and of the last tile when it has fewer lines. */
  readonly step: number;
  readonly tailStep: number;
  /** Between tiles. */
  readonly tile: number;
}

/** An operand as the driver uses it. */
export interface OperandAccess {
  readonly strides: TileStrides;
  /** Bytes of scratch for one packed block. */
  readonly scratchBytes: number;
  /** Emits code that makes a block available; gives the address of its first tile. */
  prepare(f: WasmFunction, range: BlockRange, scratch: Local<'i32'>): Code<'i32'>;
}

/** Reads a plain operand in place. */
export function directAccess(problem: MatmulProblem, plain: PlainOperand, tileLines: number): OperandAccess {
  const { bytes } = problem.type;
  const step = plain.stepStride * bytes;
  return {
    strides: { line: plain.lineStride * bytes, step, tailStep: step, tile: tileLines * plain.lineStride * bytes },
    scratchBytes: 0,
    prepare: (_f, range) => plainAddress(problem, plain, range),
  };
}

function plainAddress(problem: MatmulProblem, plain: PlainOperand, range: BlockRange): Code<'i32'> {
  const { bytes } = problem.type;
  return sum(sum(range.base, scaled(range.line, plain.lineStride * bytes)), scaled(range.step, plain.stepStride * bytes));
}

/** Packs an operand; `pack` fills full panels and `packTail` the last one when it has fewer lines. */
export function packedAccess(problem: MatmulProblem, operand: Operand, blocking: Blocking): OperandAccess {
  const { type } = problem;
  const isA = operand.side === 'a';
  const lines = isA ? blocking.tileRows : blocking.tileVectors * type.lanes;
  const lineCount = isA ? problem.rowCount : problem.colCount;
  const blockLines = isA ? blocking.rowsPerItem : blocking.colBlock;
  const tail = lineCount % lines;
  const tailWidth = isA ? tail : roundUp(tail, type.lanes);
  const pitch = blocking.depthBlock * lines * type.bytes + 64;
  const plain = operand.plain!;
  const shape = { type, operand: operand.side, lineStride: plain.lineStride, stepStride: plain.stepStride, pitch };
  const pack = packPlain({ ...shape, lines, width: lines });
  const packTail = tail === 0 ? null : packPlain({ ...shape, lines: tail, width: tailWidth });
  return {
    strides: { line: type.bytes, step: lines * type.bytes, tailStep: tailWidth * type.bytes, tile: pitch },
    scratchBytes: Math.ceil(blockLines / lines) * pitch,
    prepare(f, range, scratch) {
      const source = f.let(`${operand.side}_source`, plainAddress(problem, plain, range));
      const panels = f.let('panels', op('i32.div_u', range.lines, i32(lines)));
      if (lineCount >= lines) f.do(call(pack, scratch, source, panels, range.steps));
      if (packTail !== null) {
        f.if(op('i32.rem_u', range.lines, i32(lines)), () => {
          const from = sum(source, scaled(panels, lines * plain.lineStride * type.bytes));
          f.do(call(packTail, sum(scratch, scaled(panels, pitch)), from, i32(1), range.steps));
        });
      }
      return scratch;
    },
  };
}
