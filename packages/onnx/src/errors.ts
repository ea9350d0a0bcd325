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

/** @throws onnx-unsupported always: the node asks for a form of its operator that there is not here */
export function unsupportedForm(
  node: {
    readonly type: string;
    readonly name: string;
    readonly domain: string;
    readonly outputs: readonly string[];
  },
  form: string,
): never {
  const where = describeNode(node);
  throw new TesseraError('onnx-unsupported', `ONNX: ${where}: ${form} is not supported`, {
    context: { where, domain: node.domain, type: node.type },
    hints: [
      'Export or optimize the model without it.',
      `Or call registerOnnxOperator('${node.domain}', '${node.type}', (call) => …) before importOnnx(): it takes the place of ours.`,
    ],
  });
}
