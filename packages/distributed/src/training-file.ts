/**
 * @file What the file of a training checkpoint holds.
 *
 * The model's state under `model.`, the optimizer's tensors under `optimizer.<parameter>.`; numbers, options and
 * `extra` as JSON in the metadata.
 */
import { TesseraError, messageOf } from '@tessera/shared';
import type { optim } from '@tessera/nn';
import type { Tensor } from '@tessera/tensor';

type StateDict = optim.OptimizerStateDict;
type Tensors = Readonly<Record<string, Tensor>>;

/** A checkpoint in memory. */
export interface TrainingContents {
  readonly model: Tensors;
  readonly optimizer: StateDict | null;
  /** Anything that JSON can hold. */
  readonly extra: unknown;
}

/** What the metadata say. */
interface Metadata {
  readonly optimizer: {
    readonly paramGroups: StateDict['paramGroups'];
    /** State that is no tensor, by parameter and name. */
    readonly numbers: Readonly<Record<string, Readonly<Record<string, number>>>>;
  } | null;
  readonly extra: unknown;
}

/** Where in a safetensors file's metadata. */
export const METADATA_KEY = 'tessera.training';

const OPTIMIZER_TENSOR = /^optimizer\.(\d+)\.(.+)$/;

/** The tensors of the file, and the text of its metadata. @throws TypeError where `extra` is no JSON */
export function packTraining({ model, optimizer, extra }: TrainingContents): {
  readonly tensors: Tensors;
  readonly text: string;
} {
  const tensors: Record<string, Tensor> = {};
  for (const [name, tensor] of Object.entries(model)) tensors[`model.${name}`] = tensor;
  const numbers: Record<string, Record<string, number>> = {};
  for (const [id, values] of Object.entries(optimizer?.state ?? {}))
    for (const [name, value] of Object.entries(values))
      if (typeof value === 'number') (numbers[id] ??= {})[name] = value;
      else tensors[`optimizer.${id}.${name}`] = value;
  const metadata: Metadata = {
    optimizer: optimizer === null ? null : { paramGroups: optimizer.paramGroups, numbers },
    extra,
  };
  return { tensors, text: JSON.stringify(metadata) };
}

/** Refuses what `packTraining` would not have made. @throws safetensors-invalid */
export function checkTraining(text: string | undefined, names: readonly string[]): void {
  if (text === undefined) throw invalid('saveTraining() did not write it');
  let metadata: unknown;
  try {
    metadata = JSON.parse(text);
  } catch (error) {
    throw invalid(`its metadata are no JSON: ${messageOf(error)}`);
  }
  if (!isMetadata(metadata)) throw invalid('its metadata are not those of a checkpoint');
  const stray = names.find((name) => !name.startsWith('model.') && !OPTIMIZER_TENSOR.test(name));
  if (stray !== undefined)
    throw invalid(`'${stray}' belongs neither to the model nor to an optimizer`);
}

/** The contents, of what `checkTraining` has let pass. */
export function unpackTraining(text: string, tensors: Tensors): TrainingContents {
  const { optimizer, extra }: Metadata = JSON.parse(text);
  const model: Record<string, Tensor> = {};
  const state: Record<number, Record<string, Tensor | number>> = {};
  for (const [id, values] of Object.entries(optimizer?.numbers ?? {}))
    state[Number(id)] = { ...values };
  for (const [name, tensor] of Object.entries(tensors)) {
    const own = OPTIMIZER_TENSOR.exec(name);
    if (own === null) model[name.slice('model.'.length)] = tensor;
    else (state[Number(own[1])] ??= {})[own[2]!] = tensor;
  }
  return {
    model,
    optimizer: optimizer === null ? null : { state, paramGroups: optimizer.paramGroups },
    extra,
  };
}

function invalid(why: string): TesseraError {
  return new TesseraError('safetensors-invalid', `Not a training checkpoint: ${why}.`, {
    hints: ['Load weights alone with loadCheckpoint() and model.loadStateDict().'],
  });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isMetadata(value: unknown): value is Metadata {
  if (!isRecord(value) || !('extra' in value)) return false;
  const { optimizer } = value;
  if (optimizer === null) return true;
  if (!isRecord(optimizer) || !Array.isArray(optimizer.paramGroups)) return false;
  const areGroups = optimizer.paramGroups.every(
    (group) =>
      isRecord(group) && Array.isArray(group.params) && group.params.every(Number.isInteger),
  );
  return (
    areGroups && isRecord(optimizer.numbers) && Object.values(optimizer.numbers).every(areNumbers)
  );
}

function areNumbers(values: unknown): boolean {
  return isRecord(values) && Object.values(values).every((value) => typeof value === 'number');
}
