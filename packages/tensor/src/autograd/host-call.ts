/**
 * @file `hostCall`: JavaScript of the user in the middle of a graph, as an operator.
 *
 * A hook on gradients may do anything: print, keep what it sees, compute with numbers. So a trace holds a
 * call of it, which runs whenever the graph runs, with tensors of its own. Compare `Function`, whose code
 * is traced.
 */
import { TesseraError } from '@tessera/shared';
import { addKernel } from '../dispatch/custom-kernel.js';
import { callOp } from '../dispatch/dispatcher.js';
import { isTraced } from '../dispatch/is-traced.js';
import { defineOp } from '../op/op-overload.js';
import type { TensorMeta } from '../op/op-record.js';
import { contiguousStrides, formatSizes, sameNumbers } from '../shape.js';
import type { Tensor } from '../tensor.js';
import { isTensor } from '../tensor-factory.js';

/** Code that maps tensors to as many tensors of the same shapes and dtypes. */
export type HostCode = (tensors: readonly Tensor[]) => readonly (Tensor | null)[];

/** Code by handle, as long as somebody else holds it: the graphs that call it do. */
const codes = new Map<string, WeakRef<HostCode>>();
const handles = new WeakMap<HostCode, string>();
const forgotten = new FinalizationRegistry<string>((handle) => codes.delete(handle));
let codeCount = 0;

function contiguousMeta({ sizes, dtype, device }: Tensor): TensorMeta {
  return { sizes, dtype, device, strides: contiguousStrides(sizes) };
}

/** Compiled code reuses the memory of both sides, and the code may keep them: each gets its own. */
function runOnCopies(inputs: readonly Tensor[], handle: string): Tensor[] {
  const results = codes.get(handle)!.deref()!(inputs.map((input) => input.contiguous().clone()));
  return inputs.map((input, i) => {
    const result = results[i] ?? null;
    if (result === null) return input.zerosLike().contiguous();
    if (!isTensor(result) || !sameNumbers(result.sizes, input.sizes)) {
      throw new TesseraError(
        'shape-mismatch',
        `A hook returned a gradient of shape ${formatSizes(result.sizes)} where ${formatSizes(input.sizes)} was expected.`,
        { hints: ['A hook returns gradients of the shapes that it was given.'] },
      );
    }
    return result.to(input.dtype).contiguous().clone();
  });
}

const op = defineOp('tessera::host_call(Tensor[] inputs, str handle) -> Tensor[]', {
  tags: ['effect', 'non-differentiable'],
  meta: ({ inputs }) => inputs.map(contiguousMeta),
});
for (const device of ['cpu', 'wgpu']) addKernel(op, device, runOnCopies);

let tracedCalls = 0;

/** How many calls of host code were recorded so far, which run when their graphs do. */
export function tracedHostCalls(): number {
  return tracedCalls;
}

/** Runs `code`; while tracing, records that it is to run. */
export function hostCall(code: HostCode, tensors: readonly Tensor[]): readonly (Tensor | null)[] {
  if (!isTraced(tensors) || tensors.length === 0) return code(tensors);
  let handle = handles.get(code);
  if (handle === undefined) {
    handle = `host#${codeCount++}`;
    handles.set(code, handle);
    codes.set(handle, new WeakRef(code));
    forgotten.register(code, handle);
  }
  tracedCalls++;
  return callOp(op, [tensors, handle]);
}
