/**
 * @file Whether a device can hold every value of a lowered graph.
 */
import type { DeviceType } from '@tessera/tensor';
import { TesseraError } from '@tessera/shared';
import type { IrBuffer, LoweredGraph } from './ir-node.js';
import { nodeOutputs } from './ir-node.js';

/** @throws dtype-unsupported naming the operators that make a value of a dtype that the device lacks */
export function checkDtypes(
  graph: LoweredGraph,
  supported: ReadonlySet<IrBuffer['dtype']>,
  device: DeviceType,
): void {
  const fail = (dtype: string, what: string): never => {
    throw new TesseraError(
      'dtype-unsupported',
      `Device '${device}' has no ${dtype}: graph '${graph.name}' has it as ${what}.`,
      {
        context: { device, dtype },
        hints: [
          dtype === 'float64'
            ? "Convert to 'float32' first, or compile for 'cpu'."
            : "Use another dtype, or compile for 'cpu'.",
        ],
      },
    );
  };
  graph.inputs.forEach((input, i) => {
    if (!supported.has(input.dtype)) fail(input.dtype, `input ${i}`);
  });
  for (const node of graph.nodes) {
    for (const out of nodeOutputs(node)) {
      if (!supported.has(out.dtype)) fail(out.dtype, `a result of ${node.origins.join(', ')}`);
    }
  }
}
