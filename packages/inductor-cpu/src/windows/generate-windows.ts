/**
 * @file Convolutions over packed images: chooses tiles and puts the driver of products around them.
 */
import { type ScheduleFacts, roundUp } from '@tessera/inductor-core';
import { sizeHint, sizeMul, sizeProduct } from '@tessera/shared';
import type { KernelOptions } from '../body/size-slots.js';
import { call, i32, op } from '../emit/code.js';
import { type Blocking, chooseBlocking } from '../matmul/blocking.js';
import type { ColumnBlocks } from '../matmul/column-blocks.js';
import { gemmFunction, gemmScratchBytes, type GemmParts } from '../matmul/gemm.js';
import type { OperandAccess } from '../matmul/gemm-operands.js';
import { scratchOutput } from '../matmul/gemm-output.js';
import { accessA } from '../matmul/access-a.js';
import { minimum, scaled } from '../matmul/index-code.js';
import type { WasmKernel } from '../wasm-kernel.js';
import { packWindow } from './pack-window.js';
import { type Tiling, tilingOf } from './tiling.js';
import { windowEpilogue } from './window-epilogue.js';
import { windowTile } from './window-tile.js';
import type { Windows } from './windows.js';

/** Vectors of a tile by its rows: registers hold the sums, a row of vectors and an element of A. */
const TILE_VECTORS = [0, 6, 4, 2, 2] as const;
const TAIL_VECTORS = 2;
/** Packing an operand with all its taps costs about as much as so many rows of products. */
const ROWS_OF_PACKING = 7;

/** Whether sums between the rows of a tile cost less than packing every pixel for each tap. */
export function isWorthTiling(windows: Windows): boolean {
  const { rows, columns, lines } = tilingOf(windows);
  const between = lines / (rows * columns) - 1;
  return between * sizeHint(windows.problem.rowCount) < ROWS_OF_PACKING;
}

/** Code of a convolution. */
export function generateWindows(windows: Windows, options: KernelOptions): WasmKernel {
  const { problem, taps } = windows;
  const { kernel } = problem;
  const tiling = tilingOf(windows);
  const blocking = blockingOf(windows, tiling);
  const a = accessA(problem, blocking, options);
  const b = packedImage(windows, tiling, blocking, options);
  const output = scratchOutput(problem, blocking, (rowBytes) =>
    windowEpilogue(windows, tiling, rowBytes, options),
  );
  const parts: GemmParts = {
    problem,
    blocking,
    columns: imageTiles(windows, tiling),
    a,
    b,
    output,
    stepsPerRound: taps,
    tile: (rows, vectors) =>
      windowTile({
        type: problem.type,
        relaxed: options.relaxedSimd,
        rows,
        vectors,
        aRow: a.strides.line,
        aStep: rows === blocking.tileRows ? a.strides.step : a.strides.tailStep,
        tapBytes: tiling.tapBytes,
        channelBytes: tiling.channelBytes,
        cRow: output.rowBytes,
      }),
  };
  const { rowItems, rowsPerItem } = blocking;
  return {
    name: kernel.name,
    func: gemmFunction(kernel.name, parts),
    workItems: sizeProduct([problem.batchCount, blocking.colItems, rowItems]),
    sizes: options.sizes.list,
    costPerItem: (2 * rowsPerItem * tiling.lines * sizeHint(problem.depthCount)) / 40,
    scratchBytesPerThread: gemmScratchBytes(parts),
    schedule: () => windowFacts(kernel.name, blocking, tiling),
  };
}

function blockingOf({ problem, taps, channelCount }: Windows, tiling: Tiling): Blocking {
  const plain = chooseBlocking(problem);
  const rowCount = sizeHint(problem.rowCount);
  const tileRows = Math.min(plain.tileRows, Math.max(rowCount, 1));
  const tileVectors = TILE_VECTORS[tileRows];
  const blocks = Math.ceil((channelCount * taps) / MAX_STEPS);
  return {
    ...plain,
    tileRows,
    tileVectors,
    colBlock: roundUp(tiling.lines, tileVectors * problem.type.lanes),
    depthBlock: Math.ceil(channelCount / blocks) * taps,
    colItems: sizeMul(tiling.tilesDown, tiling.tilesAcross),
  };
}

/** Steps of k for which images are packed at once. */
const MAX_STEPS = 512;

function packedImage(
  windows: Windows,
  tiling: Tiling,
  { depthBlock, tileVectors }: Blocking,
  options: KernelOptions,
): OperandAccess {
  const { problem, taps } = windows;
  const { bytes, lanes } = problem.type;
  const pack = packWindow(windows, tiling, options);
  return {
    strides: { line: bytes, step: 0, tailStep: 0, tile: tileVectors * lanes * bytes },
    scratchBytes: (depthBlock / taps) * tiling.channelBytes,
    prepare(f, { args, batch, origin, extent, step, steps }, scratch) {
      const [channel, channels] = [step, steps].map((k) => op('i32.div_u', k, i32(taps)));
      f.do(call(pack, args, batch, scratch, channel, channels, ...origin, ...extent));
      return scratch;
    },
  };
}

function imageTiles({ y, x }: Windows, tiling: Tiling): ColumnBlocks {
  const { rows, columns, pitch, tilesDown, tilesAcross } = tiling;
  return {
    items: sizeMul(tilesDown, tilesAcross),
    tail: TAIL_VECTORS,
    open(f, read, item) {
      const tile = f.let('tile', item);
      const top = f.let('y', scaled(op('i32.div_u', tile, read(tilesAcross)), rows));
      const left = f.let('x', scaled(op('i32.rem_u', tile, read(tilesAcross)), columns));
      const height = minimum(f, 'height', i32(rows), op('i32.sub', read(y.size), top));
      const width = minimum(f, 'width', i32(columns), op('i32.sub', read(x.size), left));
      const above = scaled(op('i32.sub', height, i32(1)), pitch);
      return {
        origin: [top, left],
        extent: [height, width],
        lines: f.let('lines', op('i32.add', above, width)),
      };
    },
  };
}

function windowFacts(kernel: string, blocking: Blocking, tiling: Tiling): ScheduleFacts {
  const { tileRows, tileVectors, rowsPerItem } = blocking;
  return {
    kernel,
    facts: {
      'tile of registers': `${tileRows} rows × ${tileVectors} vectors`,
      'tile of the image': `${tiling.rows} × ${tiling.columns} pixels`,
      'rows of a work item': rowsPerItem,
      'work items': `${blocking.rowItems} × ${blocking.colItems} of each batch`,
    },
  };
}
