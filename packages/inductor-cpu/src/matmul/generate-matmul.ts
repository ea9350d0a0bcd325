/**
 * @file Matrix products: chooses a strategy for a kernel and generates it.
 */
import type { MatmulKernel, ScheduleFacts } from '@tessera/inductor-core';
import { type Size, sizeHint, sizeProduct } from '@tessera/shared';
import { kernelOptions, type KernelOptions } from '../body/size-slots.js';
import type { CodeOptions } from '../body/vector-builder.js';
import { WasmFunction } from '../emit/wasm-function.js';
import type { WasmKernel } from '../wasm-kernel.js';
import { generateWindows, isWorthTiling } from '../windows/generate-windows.js';
import { windowsOf } from '../windows/windows.js';
import { chooseBlocking, type Blocking } from './blocking.js';
import { accessA } from './access-a.js';
import { flatColumns } from './column-blocks.js';
import { epilogueFunction } from './epilogue.js';
import { gemmFunction, gemmScratchBytes, type GemmParts } from './gemm.js';
import { expressionAccess, panelAccess, type OperandAccess } from './gemm-operands.js';
import { directOutput, scratchOutput } from './gemm-output.js';
import { microKernel } from './micro-kernel.js';
import { accessOfForm } from './operand-forms.js';
import { generateSkinny, MAX_SKINNY_ROWS } from './skinny.js';
import { isKnown, matmulProblem, type MatmulProblem } from './problem.js';

/** Code of a matrix product. @throws kernel-missing */
export function generateMatmul(kernel: MatmulKernel<Size>, codeOptions: CodeOptions): WasmKernel {
  const options = kernelOptions(kernel, codeOptions);
  const problem = matmulProblem(kernel, options.sizes);
  const { rowCount, colCount, batchCount, depthCount } = problem;
  if ([rowCount, colCount, batchCount].includes(0)) return emptyCode(kernel.name);
  const windows = windowsOf(problem);
  if (windows !== null && isWorthTiling(windows)) return generateWindows(windows, options);
  if (isKnown(problem) && problem.rowCount <= MAX_SKINNY_ROWS)
    return generateSkinny(problem, options);
  const blocking = chooseBlocking(problem);
  const [a, b] = [accessA(problem, blocking, options), accessB(problem, blocking, options)];
  const epilogue = (rowBytes: number): WasmFunction =>
    epilogueFunction(problem, rowBytes, blocking.colBlock, options);
  const output = directOutput(problem) ?? scratchOutput(problem, blocking, epilogue);
  const parts: GemmParts = {
    problem,
    blocking,
    columns: flatColumns(problem, blocking),
    a,
    b,
    output,
    stepsPerRound: 1,
    tile: (rows, vectors) =>
      microKernel({
        type: problem.type,
        relaxed: options.relaxedSimd,
        rows,
        vectors,
        aRow: a.strides.line,
        aStep: rows === blocking.tileRows ? a.strides.step : a.strides.tailStep,
        bStep: vectors === blocking.tileVectors ? b.strides.step : b.strides.tailStep,
        cRow: output.rowBytes,
      }),
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

function accessB(
  problem: MatmulProblem,
  blocking: Blocking,
  options: KernelOptions,
): OperandAccess {
  const { b } = problem;
  const ofForm = accessOfForm(problem, blocking, options);
  if (ofForm !== null) return ofForm;
  // Panels of a symbolic number of columns would need code for every remainder.
  return b.plain === null || typeof problem.colCount !== 'number'
    ? expressionAccess(problem, b, blocking, options)
    : panelAccess(problem, b, b.plain, blocking);
}
