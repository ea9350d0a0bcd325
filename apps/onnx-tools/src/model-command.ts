/**
 * @file `pnpm onnx:model`: a whole model on recorded inputs.
 *
 * Ends with one JSON line: {model, maxError, gradientError, gradientOf, parameters, graphs, kernels, firstMs, ms}.
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { deviceNamed, refuse } from './command-line.js';
import { runModel } from './run-model.js';

/** How it is called. */
export const MODEL_USAGE = `pnpm onnx:model FILE --inputs SAFETENSORS [--device cpu|wgpu] [--batch N] [--json]

Runs a model on the tensors NAME/in/INPUT of the safetensors file and compares with NAME/out, NAME being the file's
name without .onnx; then checks the gradient of every float parameter against finite differences.
  --batch N  at this batch size as well: rows of the recorded tensors, from the first again behind the last
  --json     print only the last line`;

/** What passes, of the largest output and of the largest gradient. */
const TOLERANCE = { output: 1e-3, gradient: 1e-2 };

/** Runs the program. @throws invalid-argument, onnx-invalid, onnx-unsupported */
export async function runModelCommand(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      inputs: { type: 'string' },
      device: { type: 'string', default: 'cpu' },
      batch: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const [file] = positionals;
  if (file === undefined || positionals.length > 1 || values.inputs === undefined)
    refuse('onnx:model takes one file, and its inputs.', MODEL_USAGE);
  if (!existsSync(file)) refuse(`There is no file ${file}.`, MODEL_USAGE);
  const batch = values.batch === undefined ? undefined : Number(values.batch);
  if (batch !== undefined && !(Number.isInteger(batch) && batch >= 1))
    refuse(`--batch must be a whole number from 1, not '${values.batch}'.`, MODEL_USAGE);
  const device = await deviceNamed(values.device, MODEL_USAGE);
  const result = await runModel(file, {
    inputs: values.inputs,
    device,
    ...(batch !== undefined && { batch }),
  });
  if (!values.json) {
    const { maxError, gradientError, gradientOf, parameters } = result;
    console.log(`outputs differ by ${maxError.toExponential(1)} of the largest element`);
    if (gradientError !== null)
      console.log(
        `gradients of ${parameters} parameters: at most ${gradientError.toExponential(1)} (${gradientOf})`,
      );
  }
  console.log(JSON.stringify(result));
  const isRight =
    result.maxError <= TOLERANCE.output && (result.gradientError ?? 0) <= TOLERANCE.gradient;
  process.exitCode = isRight ? 0 : 1;
}
