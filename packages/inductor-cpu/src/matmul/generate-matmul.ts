/**
 * @file Matrix products: chooses a strategy for a kernel and generates it.
 */
import type { MatmulKernel, ScheduleFacts } from '@tessera/inductor-core';
import { type Size, sizeHint, sizeProduct } from '@tessera/shared';
import { kernelOptions, type KernelOptions } from '../body/size-slots.js';
import type { CodeOptions } from '../body/vector-builder.js';
import { WasmFunction } from '../emit/wasm-function.js';
import type { WasmKernel } from '../wasm-kernel.js';
import { chooseBlocking, isAdjacentInDepth, type Blocking } from './blocking.js';
import { gemmFunction, gemmScratchBytes, type GemmParts } from './gemm.js';
import {
  directAccess,
  expressionAccess,
  panelAccess,
  type OperandAccess,
} from './gemm-operands.js';
import { directOutput, scratchOutput } from './gemm-output.js';
import { generateSkinny, MAX_SKINNY_ROWS } from './skinny.js';
import { isKnown, matmulProblem, type MatmulProblem } from './problem.js';

/** Code of a matrix product. @throws kernel-missing */
export function generateMatmul(kernel: MatmulKernel<Size>, codeOptions: CodeOptions): WasmKernel {
  const options = kernelOptions(kernel, codeOptions);
  const problem = matmulProblem(kernel, options.sizes);
  const { rowCount, colCount, batchCount, depthCount } = problem;
  if ([rowCount, colCount, batchCount].includes(0)) return emptyCode(kernel.name);
  if (isKnown(problem) && problem.rowCount <= MAX_SKINNY_ROWS)
    return generateSkinny(problem, options);
  const blocking = chooseBlocking(problem);
  const parts: GemmParts = {
    problem,
    blocking,
    relaxed: options.relaxedSimd,
    a: accessA(problem, blocking, options),
    b: accessB(problem, blocking, options),
    output: directOutput(problem) ?? scratchOutput(problem, blocking, options),
  };
  return {
    name: kernel.name,
    func: gemmFunction(kernel.name, parts),
    workItems: sizeProduct([batchCount, blocking.colItems, blocking.rowItems]),
    sizes: options.sizes.list,
    costPerItem:
      (2 *
        blocking.rowsPerItem *
        Math.min(blocking.colBlock, sizeHint(colCount)) *
        sizeHint(depthCount)) /
      40,
    scratchBytesPerThread: gemmScratchBytes(parts),
    schedule: () => gemmFacts(kernel.name, blocking),
  };
}

function gemmFacts(kernel: string, blocking: Blocking): ScheduleFacts {
  const { tileRows, tileVectors, rowsPerItem, colBlock, depthBlock } = blocking;
  return {
    kernel,
    facts: {
      'tile of registers': `${tileRows} rows × ${tileVectors} vectors`,
      'block of B': `${depthBlock} × ${colBlock}`,
      'rows of a work item': rowsPerItem,
      'work items': `${blocking.rowItems} × ${blocking.colItems} of each batch`,
    },
  };
}

/** Code of a product without elements. */
function emptyCode(name: string): WasmKernel {
  const func = new WasmFunction(name, { args: 'i32', begin: 'i32', end: 'i32' });
  return { name, func, workItems: 0, sizes: [], costPerItem: 0, scratchBytesPerThread: 0 };
}

/** Column blocks narrower than this do not repay packing A. */
const PACK_A_COLS = 96;

function accessA(
  problem: MatmulProblem,
  blocking: Blocking,
  options: KernelOptions,
): OperandAccess {
  const { a } = problem;
  if (a.plain === null) return expressionAccess(problem, a, blocking, options);
  const inPlace = isAdjacentInDepth(problem) && blocking.colBlock < PACK_A_COLS;
  return inPlace
    ? directAccess(problem, a.plain, blocking.tileRows)
    : panelAccess(problem, a, a.plain, blocking);
}

function accessB(
  problem: MatmulProblem,
  blocking: Blocking,
  options: KernelOptions,
): OperandAccess {
  const { b } = problem;
  // Panels of a symbolic number of columns would need code for every remainder.
  return b.plain === null || typeof problem.colCount !== 'number'
    ? expressionAccess(problem, b, blocking, options)
    : panelAccess(problem, b, b.plain, blocking);
}
