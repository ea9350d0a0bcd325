/**
 * @file Loading checkpoints: one safetensors file, or several with an index that says what is where.
 *
 * Either everything that was asked for is returned, or nothing: on an error, and when the signal is aborted, the
 * tensors that were already made are released.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import { toDevice } from '../ops/arrange/copy.js';
import type { Tensor } from '../tensor.js';
import { type ByteSource, beside, pathOf, resolveSource } from './byte-source.js';
import { invalidCheckpoint, parseIndex } from './checkpoint-index.js';
import { Cursor } from './cursor.js';
import { type Loading, type PlaceOptions, disposeAll, reading, startLoading } from './loading.js';
import { type StreamOptions, readSafetensors } from './safetensors-stream.js';
import { checkKeys, chosenBy, warnSkipped } from './select-tensors.js';
import { checkFloatDType } from './stored-type.js';

/** What `loadCheckpoint` takes besides the source. */
export interface LoadCheckpointOptions extends StreamOptions, PlaceOptions {}

const OPTIONS: OptionNames<LoadCheckpointOptions> = {
  signal: true,
  requestInit: true,
  keys: true,
  dtype: true,
  onProgress: true,
  onMetadata: true,
  onSkip: true,
  device: true,
  cache: true,
};

/**
 * Loads a checkpoint: a `.safetensors` file, or a `.safetensors.index.json` with its shards beside it. Either all
 * tensors are returned, or none: on an error those already read are released.
 *
 * Stored types that no tensor has are converted: eight-bit floats to float32 (or `dtype`), U16 to int32, U32 and U64
 * to int64. A tensor of a type that cannot be loaded is an error if `keys` names it, and else left out; see `onSkip`.
 *
 * @param source bytes, a Blob or File, a stream, a Response, a Request, an address (in browsers also a relative one),
 * or (in Node) a path
 * @throws safetensors-invalid, source-unreadable, dtype-unsupported, invalid-argument, out-of-memory; the reason of
 * the signal when that is aborted
 * @example model.loadStateDict(await loadCheckpoint('model.safetensors'));
 * @example await loadCheckpoint(url, { signal, cache: true, keys: (name) => name.startsWith('encoder.') });
 */
export async function loadCheckpoint(
  source: ByteSource,
  options: LoadCheckpointOptions = {},
): Promise<Record<string, Tensor>> {
  checkOptionNames('loadCheckpoint', options, OPTIONS);
  checkFloatDType(options.dtype);
  const loading = startLoading(source, options);
  const { signal } = loading;
  const resolved = resolveSource(source);
  const loaded: Record<string, Tensor> = {};
  try {
    if (pathOf(resolved).endsWith('.index.json')) await loadShards(resolved, loaded, loading);
    else await loadFile(resolved, loaded, loading);
    signal?.throwIfAborted();
  } catch (error) {
    disposeAll(loaded);
    throw error;
  }
  return loaded;
}

async function loadFile(
  source: ByteSource,
  into: Record<string, Tensor>,
  loading: Loading<LoadCheckpointOptions>,
): Promise<void> {
  const { options, signal } = loading;
  const parts = options.keys !== undefined;
  const device = options.device ?? 'cpu';
  await reading(source, loading, parts, async (file) => {
    const read: Record<string, Tensor> = {};
    try {
      for await (const { name, tensor } of readSafetensors(file, options, signal)) {
        if (device === 'cpu') read[name] = tensor;
        else {
          try {
            read[name] = toDevice(tensor, device);
          } finally {
            tensor.dispose();
          }
        }
      }
    } catch (error) {
      disposeAll(read);
      throw error;
    }
    Object.assign(into, read);
  });
}

async function readIndex(
  source: ByteSource,
  loading: Loading<LoadCheckpointOptions>,
): Promise<Map<string, string>> {
  const { signal } = loading;
  let index = new Map<string, string>();
  await reading(source, loading, false, async (file) => {
    const ended = (): never => invalidCheckpoint('the index is cut off');
    const cursor = new Cursor(file, { signal, ended });
    let good = false;
    try {
      index = parseIndex(await cursor.rest());
      good = true;
    } finally {
      await cursor.close(good);
    }
  });
  return index;
}

async function loadShards(
  source: ByteSource,
  into: Record<string, Tensor>,
  loading: Loading<LoadCheckpointOptions>,
): Promise<void> {
  const { keys, onSkip } = loading.options;
  const index = await readIndex(source, loading);
  checkKeys([...index.keys()], keys, pathOf(source));
  const isChosen = chosenBy(keys);
  const wanted = [...index.keys()].filter(isChosen);
  const left = new Set(wanted);
  for (const file of new Set(wanted.map((name) => index.get(name)!))) {
    const shard = beside(source, file);
    if (shard === null)
      invalidCheckpoint('the index comes from nowhere, so its files cannot be found');
    const here = new Set(wanted.filter((name) => index.get(name) === file));
    const options: LoadCheckpointOptions = {
      ...loading.options,
      ...(keys !== undefined && { keys: (name: string) => here.has(name) }),
      onSkip(tensor) {
        left.delete(tensor.name);
        (onSkip ?? warnSkipped)(tensor);
      },
    };
    const read: Record<string, Tensor> = {};
    await loadFile(shard, read, { ...loading, options });
    // Released with the rest if something is wrong.
    const before = new Set(Object.keys(into));
    for (const [name, tensor] of Object.entries(read)) {
      if (before.has(name)) tensor.dispose();
      else into[name] = tensor;
    }
    for (const name of Object.keys(read)) {
      left.delete(name);
      if (index.get(name) !== file)
        invalidCheckpoint(`${file} holds '${name}', which the index does not place there`);
    }
  }
  for (const name of left)
    invalidCheckpoint(`the index places '${name}' in ${index.get(name)}, which does not have it`);
}
