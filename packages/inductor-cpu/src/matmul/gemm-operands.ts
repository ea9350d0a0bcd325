/**
 * @file How a blocked product gets at its operands: where they lie, or packed into panels.
 *
 * Both forms look the same to the tile loop: an address for the first tile of a block, constant byte
 * strides within a tile, and a constant distance to the next tile.
 */
import {
  type BlockLayout,
  coefficientOf,
  extent,
  panelPitch,
  type PlainOperand,
  roundUp,
  rowPitch,
} from '@tessera/inductor-core';
import { type Size, sizeMul } from '@tessera/shared';
import type { KernelOptions } from '../body/size-slots.js';
import { call, i32, memory, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { decodeIndex, plusSize, scaled, scaledBy, sum } from './index-code.js';
import { packExpression } from './pack-expression.js';
import { packPlain } from './pack-plain.js';
import type { MatmulProblem, Operand } from './problem.js';

/** A block of an operand, in locals of the driver. */
export interface BlockRange {
  /** Address of the argument block, and flat batch index. */
  readonly args: Local<'i32'>;
  readonly batch: Local<'i32'>;
  /** Address of element (0, 0) of this batch entry; only of a plain operand. */
  readonly base: Local<'i32'>;
  /** Its first line and how many there are; of an image those of rows and of columns. */
  readonly origin: readonly Local<'i32'>[];
  readonly extent: readonly Local<'i32'>[];
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
  /** Emits code that makes a block available; gives the address of its first tile. */
  prepare(f: WasmFunction, range: BlockRange, scratch: Local<'i32'>): Code<'i32'>;
}

/** Reads a plain operand in place. */
export function directAccess(
  problem: MatmulProblem,
  plain: PlainOperand,
  tileLines: number,
): OperandAccess {
  const { bytes } = problem.type;
  return {
    ...madeAccess(plain.lineStride * bytes, plain.stepStride * bytes, tileLines),
    prepare: (_f, range) => plainAddress(problem, plain, range),
  };
}

/** What lies there, lines and steps so many bytes apart. */
export function madeAccess(line: number, step: number, tileLines: number): OperandAccess {
  return {
    strides: { line, step, tailStep: step, tile: tileLines * line },
    prepare: (_f, range) => range.base,
  };
}

/** Address of a plain operand's element (0, 0) in an entry of the batch. */
export function plainBase(
  f: WasmFunction,
  { kernel, batch, type, sizes }: MatmulProblem,
  { buf, index }: PlainOperand,
  entry: Local<'i32'>,
): Local<'i32'> {
  const read = (size: Size): Code<'i32'> => sizes.read(size, f.param('args'));
  const parameter = kernel.params.findIndex((param) => param.name === buf);
  let address: Code<'i32'> = plusSize(
    memory('i32.load', parameter * 4, f.param('args')),
    sizeMul(index.constant, type.bytes),
    read,
  );
  for (const [name, local] of decodeIndex(f, batch, entry, read)) {
    const stride = coefficientOf(index, name);
    if (stride !== 0) address = sum(address, scaledBy(local, sizeMul(stride, type.bytes), read));
  }
  return f.let('base', address);
}

function plainAddress(problem: MatmulProblem, plain: PlainOperand, range: BlockRange): Code<'i32'> {
  const { bytes } = problem.type;
  return sum(
    sum(range.base, scaled(range.origin[0], plain.lineStride * bytes)),
    scaled(range.step, plain.stepStride * bytes),
  );
}

/** Packs a plain operand into panels; `pack` fills full panels and `packTail` the last one when it has fewer lines. */
export function panelAccess(
  problem: MatmulProblem,
  operand: Operand,
  plain: PlainOperand,
  { steps }: Extract<BlockLayout, { kind: 'panels' }>,
  lines: number,
): OperandAccess {
  const { type } = problem;
  const isA = operand.side === 'a';
  const lineCount = extent(operand.lines);
  // The last panel of a symbolic number of lines is as wide as the others.
  const tails =
    typeof lineCount === 'number'
      ? [lineCount % lines].filter((tail) => tail > 0)
      : Array.from({ length: lines - 1 }, (_, i) => i + 1);
  const tailWidth =
    typeof lineCount !== 'number'
      ? lines
      : isA
        ? lineCount % lines
        : roundUp(lineCount % lines, type.lanes);
  const pitch = panelPitch(steps, lines, type.bytes);
  const shape = {
    type,
    operand: operand.side,
    lineStride: plain.lineStride,
    stepStride: plain.stepStride,
    pitch,
  };
  const pack = packPlain({ ...shape, lines, width: lines });
  const packTails = tails.map((tail) => packPlain({ ...shape, lines: tail, width: tailWidth }));
  return {
    strides: {
      line: type.bytes,
      step: lines * type.bytes,
      tailStep: tailWidth * type.bytes,
      tile: pitch,
    },
    prepare(f, range, scratch) {
      const source = f.let(`${operand.side}_source`, plainAddress(problem, plain, range));
      const panels = f.let('panels', op('i32.div_u', range.extent[0], i32(lines)));
      if (typeof lineCount !== 'number' || lineCount >= lines)
        f.do(call(pack, scratch, source, panels, range.steps));
      packTails.forEach((packTail, i) => {
        const rest = op('i32.rem_u', range.extent[0], i32(lines));
        const isTail = typeof lineCount === 'number' ? rest : op('i32.eq', rest, i32(tails[i]));
        f.if(isTail, () => {
          const from = sum(source, scaled(panels, lines * plain.lineStride * type.bytes));
          f.do(call(packTail, sum(scratch, scaled(panels, pitch)), from, i32(1), range.steps));
        });
      });
      return scratch;
    },
  };
}

/** Packs any operand into rows of adjacent lines, or of adjacent k. */
export function expressionAccess(
  problem: MatmulProblem,
  operand: Operand,
  { order, lines, steps, anywhere }: Extract<BlockLayout, { kind: 'rows' }>,
  tileLines: number,
  options: KernelOptions,
): OperandAccess {
  const { bytes } = problem.type;
  const rowBytes = rowPitch(order === 'steps' ? steps : lines) * bytes;
  const [line, step] = order === 'steps' ? [rowBytes, bytes] : [bytes, rowBytes];
  const pack = packExpression({
    problem,
    operand,
    mode: order,
    rowBytes,
    blockLines: anywhere === true ? 1 : lines,
    blockDepth: steps,
    options,
  });
  return {
    strides: { line, step, tailStep: step, tile: tileLines * line },
    prepare(f, { args, batch, origin, extent, step: firstStep, steps: count }, scratch) {
      f.do(call(pack, args, batch, scratch, origin[0]!, extent[0]!, firstStep, count));
      return scratch;
    },
  };
}
