/**
 * @file The errors about ONNX files: what is wrong, in which node, and what to do.
 */
import { TesseraError } from '@tessera/shared';

/** How messages name a node: its operator and its name, or its first output where it has none. */
export function describeNode(node: {
  readonly type: string;
  readonly name: string;
  readonly outputs: readonly string[];
}): string {
  const label = node.name === '' ? (node.outputs.find((output) => output !== '') ?? '') : node.name;
  return `node '${label}' (${node.type})`;
}

/** @throws onnx-invalid always */
export function invalidOnnx(
  where: string,
  problem: string,
  options: { readonly cause?: unknown; readonly hint?: string } = {},
): never {
  throw new TesseraError('onnx-invalid', `ONNX: ${where}: ${problem}`, {
    context: { where },
    hints: [options.hint ?? 'Check the file with onnx.checker.check_model, or export it again.'],
    ...(options.cause !== undefined && { cause: options.cause }),
  });
}
