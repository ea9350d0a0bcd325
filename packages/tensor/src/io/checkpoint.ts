/**
 * @file Loading checkpoints: one safetensors file, or several with an index that says what is where.
 *
 * Either everything that was asked for is returned, or nothing: on an error, and when the signal is aborted, the
 * tensors that were already made are released.
 */
import type { DeviceType } from '../device.js';
import { toDevice } from '../ops/arrange/copy.js';
import type { Tensor } from '../tensor.js';
import type { ByteFile } from './byte-file.js';
import { type ByteSource, beside, openSource, pathOf, resolveSource } from './byte-source.js';
import { CacheDamage } from './cache/cached-file.js';
import { type CheckpointCache, type HttpCache, openHttpCache } from './cache/http-cache.js';
import { invalidCheckpoint, parseIndex } from './checkpoint-index.js';
import { Cursor } from './cursor.js';
import { type StreamOptions, readSafetensors, signalOf } from './safetensors-stream.js';
import { checkKeys, chosenBy, warnSkipped } from './select-tensors.js';
import { checkFloatDType } from './stored-type.js';

/** What `loadCheckpoint` takes besides the source. */
export interface LoadCheckpointOptions extends StreamOptions {
  /** Where the tensors go (default `cpu`); each is moved as soon as it is complete. */
  readonly device?: DeviceType | undefined;
  /**
   * Keeps downloads for the next time (`true`, or the name of a cache): in the origin private file system of
   * browsers, in a folder in Node. The server is asked whether the file is still the same. A load of some `keys`
   * takes what is kept but keeps nothing.
   */
  readonly cache?: CheckpointCache | undefined;
}

/** What one load has. */
interface Loading {
  readonly options: LoadCheckpointOptions;
  readonly signal: AbortSignal | undefined;
  readonly cache: HttpCache | null;
}

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
  checkFloatDType(options.dtype);
  const signal = signalOf(source, options);
  signal?.throwIfAborted();
  const loading: Loading = { options, signal, cache: openHttpCache(options.cache) };
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

/** Releases tensors, and takes them out of the record. */
function disposeAll(tensors: Record<string, Tensor>): void {
  for (const [name, tensor] of Object.entries(tensors)) {
    tensor.dispose();
    delete tensors[name];
  }
}

/** Opens a source and reads it; from the network, if what the cache has of it turns out to be damaged. */
async function reading(
  source: ByteSource,
  { options, signal, cache }: Loading,
  read: (file: ByteFile) => Promise<void>,
): Promise<void> {
  const { requestInit, keys } = options;
  const attempt = async (): Promise<void> =>
    read(await openSource(source, { signal, requestInit, parts: keys !== undefined, cache }));
  try {
    await attempt();
  } catch (error) {
    if (!(error instanceof CacheDamage)) throw error;
    await cache!.remove(error.url);
    await attempt();
  }
}

async function loadFile(
  source: ByteSource,
  into: Record<string, Tensor>,
  loading: Loading,
): Promise<void> {
  const { options, signal } = loading;
  const device = options.device ?? 'cpu';
  await reading(source, loading, async (file) => {
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

async function readIndex(source: ByteSource, loading: Loading): Promise<Map<string, string>> {
  const { signal } = loading;
  let index = new Map<string, string>();
  const whole = { ...loading, options: { ...loading.options, keys: undefined } };
  await reading(source, whole, async (file) => {
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
  loading: Loading,
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
