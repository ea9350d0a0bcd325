/**
 * @file Matrix products: chooses a strategy for a kernel and generates it.
 */
import type { MatmulKernel } from '@tessera/inductor-core';
import type { KernelCode } from '../kernel-code.js';
import { chooseBlocking, isAdjacentInDepth, type Blocking } from './blocking.js';
import { gemmFunction, gemmScratchBytes, type GemmParts } from './gemm.js';
import { directAccess, packedAccess, type OperandAccess } from './gemm-operands.js';
import { directOutput } from './gemm-output.js';
import { matmulProblem, type MatmulProblem } from './problem.js';

/** Whether the generated code may use relaxed SIMD (fused multiply-add). */
export interface MatmulOptions {
  readonly relaxedSimd: boolean;
}

/** Code of a matrix product. @throws kernel-missing */
export function generateMatmul(kernel: MatmulKernel, options: MatmulOptions): KernelCode {
  const problem = matmulProblem(kernel);
  const blocking = chooseBlocking(problem);
  const parts: GemmParts = {
    problem,
    blocking,
    relaxed: options.relaxedSimd,
    a: accessA(problem, blocking),
    b: packedAccess(problem, problem.b, blocking),
    output: directOutput(problem)!,
  };
  return {
    name: kernel.name,
    func: gemmFunction(kernel.name, parts),
    workItems: problem.batchCount * blocking.colItems * blocking.rowItems,
    costPerItem: (2 * blocking.rowsPerItem * Math.min(blocking.colBlock, problem.colCount) * problem.depthCount) / 40,
    scratchBytesPerThread: gemmScratchBytes(parts),
  };
}

/** Column blocks narrower than this do not repay packing A. */
const PACK_A_COLS = 96;

function accessA(problem: MatmulProblem, blocking: Blocking): OperandAccess {
  const { a } = problem;
  if (a.plain !== null && isAdjacentInDepth(problem) && blocking.colBlock < PACK_A_COLS) {
    return directAccess(problem, a.plain, blocking.tileRows);
  }
  return packedAccess(problem, a, blocking);
}
