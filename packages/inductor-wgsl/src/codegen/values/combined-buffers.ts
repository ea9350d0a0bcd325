/**
 * @file Buffers in which stores combine: they are arrays of atomics.
 */
import { type GeneratedKernel, kernelStmts } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { CodeBlock } from '../code-block.js';
import type { JoinedKernel } from '../scheduled/joined-kernel.js';

/** The buffers in which stores combine. */
export function combinedBuffers(kernel: GeneratedKernel<Size> | JoinedKernel): Set<string> {
  const kernels = kernel.kind === 'joined' ? kernel.parts : [kernel];
  const stores = kernels.flatMap((each) => kernelStmts(each));
  return new Set(
    stores.flatMap((stmt) =>
      stmt.kind === 'store' && stmt.combine !== undefined ? [stmt.buf] : [],
    ),
  );
}

/** Elements of such a buffer of int32 (`i32`) or float32. */
export function combinedElement(storage: string): string {
  return `atomic<${storage === 'i32' ? 'i32' : 'u32'}>`;
}

/** Adds `value` to the float32 at `index`; nothing waits for zeros, which sources that do not count give. */
export function addedToFloat(variable: string): CodeBlock {
  const body = new CodeBlock();
  body.line('if (value == 0.0) { return; }');
  body.line(`var seen = atomicLoad(&${variable}[index]);`);
  body.line('loop {');
  body.line('  let sum = bitcast<u32>(bitcast<f32>(seen) + value);');
  body.line(`  let met = atomicCompareExchangeWeak(&${variable}[index], seen, sum);`);
  body.line('  if (met.exchanged) { break; }');
  body.line('  seen = met.old_value;');
  body.line('}');
  return body;
}
