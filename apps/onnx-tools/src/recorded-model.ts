/**
 * @file A model file with inputs and outputs that are recorded in a safetensors file.
 *
 * Of `NAME.onnx` these are the tensors `NAME/in/INPUT`, and `NAME/out` where there is one output, `NAME/out/OUTPUT` or
 * `NAME/out/0`, `NAME/out/1`, … where there are several.
 */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { OnnxModule, OnnxOutputs } from '@tessera/onnx';
import { TesseraError } from '@tessera/shared';
import { type Tensor, indexSelect, isTensor, loadCheckpoint, tensor } from '@tessera/tensor';

/** Tensors by name. */
export type Named = Readonly<Record<string, Tensor>>;

/** See the file header. */
export interface RecordedModel {
  readonly name: string;
  readonly file: string;
  readonly inputs: Named;
  /** Not every output has to be recorded. */
  readonly outputs: Named;
}

function refuse(message: string, hint: string): never {
  throw new TesseraError('invalid-argument', message, { hints: [hint] });
}

/** A number without dimensions is often recorded as a list of one: NumPy's `ascontiguousarray` makes that of it. */
function asDeclared(recorded: Tensor, shape: readonly unknown[] | null): Tensor {
  return shape?.length === 0 && recorded.numel === 1 ? recorded.reshape([]) : recorded;
}

/** Reads what is recorded of a model. @throws invalid-argument, source-unreadable, safetensors-invalid */
export async function readRecorded(
  file: string,
  tensorFile: string,
  model: Pick<OnnxModule, 'inputs' | 'outputs'>,
): Promise<RecordedModel> {
  const name = basename(file).replace(/\.onnx$/, '');
  if (!existsSync(tensorFile))
    refuse(`There is no file ${tensorFile}.`, 'Give a safetensors file with --inputs.');
  const all = await loadCheckpoint(tensorFile);
  const inputs: Record<string, Tensor> = {};
  for (const input of model.inputs) {
    const found = all[`${name}/in/${input.name}`];
    if (found !== undefined) inputs[input.name] = asDeclared(found, input.shape);
  }
  if (Object.keys(inputs).length === 0 && model.inputs.length > 0)
    refuse(
      `${tensorFile} has no input of '${name}'.`,
      `Its tensors have to be called ${model.inputs.map((input) => `${name}/in/${input.name}`).join(', ')}.`,
    );
  const outputs: Record<string, Tensor> = {};
  for (const [i, output] of model.outputs.entries()) {
    const found =
      all[`${name}/out/${output.name}`] ??
      all[`${name}/out/${i}`] ??
      (i === 0 ? all[`${name}/out`] : undefined);
    if (found !== undefined) outputs[output.name] = asDeclared(found, output.shape);
  }
  if (Object.keys(outputs).length === 0)
    refuse(`${tensorFile} has no output of '${name}'.`, `Call it ${name}/out.`);
  return { name, file, inputs, outputs };
}

/** Where the batch is: for each input and output of that name the axis; those without are not in the map. */
export interface BatchAxes {
  readonly inputs: ReadonlyMap<string, number>;
  readonly outputs: ReadonlyMap<string, number>;
}

/**
 * The batch is the first axis of the first input. Other inputs and outputs have it where the file gives an axis the
 * same name; one without a name only as the first axis.
 *
 * @throws invalid-argument when the file fixes it
 */
export function batchAxes({ inputs, outputs }: Pick<OnnxModule, 'inputs' | 'outputs'>): BatchAxes {
  const symbol = inputs[0]?.shape?.[0];
  if (symbol === undefined || typeof symbol === 'number')
    refuse(
      'The first axis of the first input has a fixed size: the model has no batch.',
      'Export it with dynamic axes, or leave --batch out.',
    );
  const axisOf = (shape: readonly (number | string | null)[] | null): number =>
    symbol === null ? (shape?.[0] === null ? 0 : -1) : (shape?.indexOf(symbol) ?? -1);
  const found = (values: typeof inputs): Map<string, number> =>
    new Map(
      values.flatMap(({ name, shape }) =>
        axisOf(shape) < 0 ? [] : [[name, axisOf(shape)] as const],
      ),
    );
  return { inputs: found(inputs), outputs: found(outputs) };
}

function rowsOf(value: Tensor, axis: number, count: number): Tensor {
  const rows = Array.from({ length: count }, (_, i) => i % value.size(axis));
  return indexSelect(value, axis, tensor(rows, { dtype: 'int64' }));
}

/** The recorded inputs at another batch size: row i is row i of those, which start again behind the last. */
export function inputsAtBatch({ inputs }: RecordedModel, axes: BatchAxes, count: number): Named {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => {
      const axis = axes.inputs.get(name);
      return [name, axis === undefined ? value : rowsOf(value, axis, count)];
    }),
  );
}

/**
 * What the outputs must be at another batch size: rows of the recorded ones. Where the file does not name the axis of
 * an output, it is the one that has grown. An output without such an axis (a loss, a mean over the batch) is what the
 * model gives operator by operator.
 */
export function outputsAtBatch(
  { inputs, outputs }: RecordedModel,
  axes: BatchAxes,
  count: number,
  byOperators: OnnxOutputs,
): Named {
  const [first, firstAxis] = [...axes.inputs][0]!;
  const before = inputs[first]!.size(firstAxis);
  return Object.fromEntries(
    Object.entries(outputs).map(([name, value]) => {
      const now = byOperators[name];
      if (!isTensor(now)) return [name, value];
      const axis = axes.outputs.get(name) ?? grownAxis(value, now, before, count);
      return [name, axis === null ? now : rowsOf(value, axis, count)];
    }),
  );
}

/** The only axis in which two shapes differ, if it had `before` elements and has `count`; null otherwise. */
function grownAxis({ sizes }: Tensor, now: Tensor, before: number, count: number): number | null {
  if (now.ndim !== sizes.length) return null;
  const changed = sizes.flatMap((size, d) => (size === now.size(d) ? [] : [d]));
  const [axis] = changed;
  return changed.length === 1 && sizes[axis!] === before && now.size(axis!) === count
    ? axis!
    : null;
}
