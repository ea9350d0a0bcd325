/**
 * @file Functions that take many steps for an element, as programs of their own: one thread for each element.
 *
 * They are scalar programs of `@tessera/inductor-core` beside those that kernels call. Loops whose length depends on values
 * gain nothing by being part of a fused kernel, and pages that do not ask for them carry none.
 */
import type { FunctionTable } from '@tessera/inductor-core';
import { type Tensor, empty } from '@tessera/tensor';
import { type MatrixCode, runMatrixCode } from '../linear-algebra/matrix-program.js';
import type { OwnCheck } from '../runtime/device/check-report.js';
import type { WgpuRuntime } from '../runtime/device/wgpu-runtime.js';

/** Elements that one workgroup computes. */
const BLOCK = 256;

/** What is computed for each element. */
interface ElementFunction {
  readonly name: string;
  readonly functions: FunctionTable;
  /** Names of the elements of the tensors. */
  readonly values: readonly string[];
  /** Parameters of u32, beside `size`: `params.NAME`. */
  readonly params?: readonly string[];
  /** An expression of the elements, of parameters and of the element's number `at`. */
  readonly result: string;
  /** Where it holds, the check that is given reports. */
  readonly refused?: string;
}

/** Code that computes a function for each element. */
export function elementCode({
  name,
  functions,
  values,
  params = [],
  result,
  refused,
}: ElementFunction): MatrixCode {
  const buffers = [...values, 'out'].map((each) => [each, [1, 'f32']] as const);
  const reads = values.map((each) => `    let ${each} = ${each}_[${each}(at, 0u)];\n`).join('');
  const check = refused === undefined ? '' : `    if (${refused}) { refuse(1); }\n`;
  return {
    name,
    buffers: Object.fromEntries(buffers),
    params: ['size', ...params],
    functions,
    body: `  let end = min((part + 1u) * ${BLOCK}u, params.size);
  for (var at = part * ${BLOCK}u + lane; at < end; at += THREADS) {
${reads}${check}    out_[out(at, 0u)] = ${result};
  }`,
  };
}

/** Fills a tensor by such code from tensors that broadcast to it. @throws device-lost, out-of-memory */
export function fillElements(
  runtime: WgpuRuntime,
  code: MatrixCode,
  operands: readonly Tensor[],
  out: Tensor,
  params: readonly number[] = [],
  check: OwnCheck | null = null,
): void {
  const size = out.numel;
  const row = (tensor: Tensor): Tensor => tensor.contiguous().view([size]);
  const isRow = out.dtype === 'float32' && out.isContiguous();
  const made = isRow ? out : empty(out.sizes, { dtype: 'float32', device: 'wgpu' });
  const inputs = operands.map((operand) => row(operand.to('float32').expand(out.sizes)));
  // No memory is bound twice to code that may write.
  inputs.forEach(({ storage }, i) => {
    const isBound = inputs.slice(0, i).some((earlier) => earlier.storage === storage);
    if (isBound || storage === made.storage) inputs[i] = inputs[i]!.clone();
  });
  runMatrixCode(runtime, code, [...inputs, made.view([size])], {
    count: 1,
    parts: Math.ceil(size / BLOCK),
    launches: [[size, ...params]],
    check,
  });
  if (!isRow) out.copy_(made);
}
