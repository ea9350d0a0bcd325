/**
 * @file Checkpoints: one safetensors file, or several with an index that says what is where.
 */
import { TesseraError } from '@tessera/shared';
import type { DeviceType } from '../device.js';
import { download } from '../device-copy.js';
import { itemSize } from '../dtype.js';
import { toDevice } from '../ops/arrange/copy.js';
import { numelOf } from '../shape.js';
import type { Tensor } from '../tensor.js';
import { type ByteSource, isFilePath, readAll } from './byte-stream.js';
import { nodeFs } from './node-fs.js';
import { serializeSafetensors } from './safetensors.js';
import { type StreamOptions, streamSafetensors } from './safetensors-stream.js';

/** What `loadCheckpoint` takes besides the source. */
export interface LoadCheckpointOptions extends StreamOptions {
  /** Where the tensors go (default `cpu`); each is moved as soon as it is complete. */
  readonly device?: DeviceType;
}

/** What `saveCheckpoint` takes besides the tensors. */
export interface SaveCheckpointOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  /** Bytes of tensors per file; if they do not fit into one, an index is written beside several. */
  readonly maxShardBytes?: number;
}

function invalid(why: string): never {
  throw new TesseraError('safetensors-invalid', `Not a valid checkpoint: ${why}.`, {
    hints: ['Check that all files of the checkpoint were downloaded completely.'],
  });
}

function isIndex(source: ByteSource): boolean {
  const name =
    source instanceof URL
      ? source.pathname
      : typeof source === 'string'
        ? source.replace(/[?#].*$/, '')
        : '';
  return name.endsWith('.index.json');
}

/**
 * Loads a checkpoint: a `.safetensors` file, or a `.safetensors.index.json` with its shards beside it.
 * Either all tensors are returned, or none: on an error those already read are released.
 *
 * @param source bytes, a Blob or File, an address, or (in Node) a path
 * @throws safetensors-invalid, out-of-memory
 * @example model.loadStateDict(await loadCheckpoint('model.safetensors'));
 */
export async function loadCheckpoint(
  source: ByteSource,
  options: LoadCheckpointOptions = {},
): Promise<Record<string, Tensor>> {
  const loaded: Record<string, Tensor> = {};
  try {
    if (isIndex(source)) await loadShards(source as URL | string, loaded, options);
    else await loadFile(source, loaded, options);
  } catch (error) {
    for (const tensor of Object.values(loaded)) tensor.dispose();
    throw error;
  }
  return loaded;
}

async function loadFile(
  source: ByteSource,
  into: Record<string, Tensor>,
  { device = 'cpu', ...options }: LoadCheckpointOptions,
): Promise<void> {
  for await (const { name, tensor } of streamSafetensors(source, options)) {
    if (device === 'cpu') into[name] = tensor;
    else {
      into[name] = toDevice(tensor, device);
      tensor.dispose();
    }
  }
}

/** File of each tensor. @throws safetensors-invalid */
function parseIndex(json: Uint8Array): Map<string, string> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json));
  } catch (error) {
    invalid(`the index is not JSON (${(error as Error).message})`);
  }
  const map = (parsed as { weight_map?: unknown } | null)?.weight_map;
  if (typeof map !== 'object' || map === null) invalid('the index has no weight_map');
  const result = new Map<string, string>();
  for (const [name, file] of Object.entries(map)) {
    // Only files beside the index: an index from elsewhere must not choose what else is read.
    if (typeof file !== 'string' || !/^[^/\\:]+\.safetensors$/.test(file))
      invalid(`the index names ${JSON.stringify(file)} as the file of '${name}'`);
    result.set(name, file);
  }
  return result;
}

function beside(source: URL | string, file: string): URL | string {
  if (source instanceof URL) return new URL(encodeURIComponent(file), source);
  if (!isFilePath(source) || source.startsWith('file:'))
    return new URL(encodeURIComponent(file), source);
  return source.replace(/[^/\\]*$/, file);
}

async function loadShards(
  source: URL | string,
  into: Record<string, Tensor>,
  options: LoadCheckpointOptions,
): Promise<void> {
  const index = parseIndex(await readAll(source));
  for (const file of new Set(index.values())) {
    const shard: Record<string, Tensor> = {};
    try {
      await loadFile(beside(source, file), shard, options);
    } finally {
      // Released with the rest if something is wrong.
      for (const [name, tensor] of Object.entries(shard)) {
        if (name in into) tensor.dispose();
        else into[name] = tensor;
      }
    }
    for (const name of Object.keys(shard))
      if (index.get(name) !== file)
        invalid(`${file} holds '${name}', which the index does not place there`);
  }
  for (const [name, file] of index)
    if (!(name in into)) invalid(`the index places '${name}' in ${file}, which does not have it`);
}

/**
 * Writes tensors (on any device) to a `.safetensors` file, in Node. The file appears complete or not at
 * all. Returns the paths written: one, or the index and its shards.
 *
 * @throws device-unavailable where there is no file system; serializeSafetensors gives the bytes there
 */
export async function saveCheckpoint(
  path: string,
  tensors: Readonly<Record<string, Tensor>>,
  options: SaveCheckpointOptions = {},
): Promise<string[]> {
  const fs = nodeFs();
  if (fs === null) {
    throw new TesseraError('device-unavailable', 'There is no file system here to save to.', {
      hints: ['Use serializeSafetensors() for the bytes and offer them as a download.'],
    });
  }
  const shards = splitShards(tensors, options.maxShardBytes ?? Infinity);
  const write = async (to: string, data: Uint8Array | string): Promise<void> => {
    const partial = `${to}.partial`;
    try {
      await fs.promises.writeFile(partial, data);
      await fs.promises.rename(partial, to);
    } catch (error) {
      await fs.promises.rm(partial, { force: true });
      throw error;
    }
  };
  if (shards.length === 1) {
    await write(path, await serialize(shards[0]!, options.metadata));
    return [path];
  }
  const stem = path.replace(/\.safetensors$/, '');
  const folder = stem.replace(/[^/\\]*$/, '');
  const map: Record<string, string> = {};
  const written: string[] = [];
  for (const [i, shard] of shards.entries()) {
    const number = (n: number): string => String(n).padStart(5, '0');
    const file = `${stem.slice(folder.length)}-${number(i + 1)}-of-${number(shards.length)}.safetensors`;
    await write(folder + file, await serialize(shard, options.metadata));
    written.push(folder + file);
    for (const name of Object.keys(shard)) map[name] = file;
  }
  // The index comes last: while it is not there, there is no checkpoint.
  const total = Object.values(tensors).reduce((sum, tensor) => sum + byteLength(tensor), 0);
  const index = { metadata: { total_size: total }, weight_map: map };
  const indexPath = `${stem}.safetensors.index.json`;
  await write(indexPath, JSON.stringify(index, null, 2));
  return [indexPath, ...written];
}

function byteLength(tensor: Tensor): number {
  return numelOf(tensor.sizes) * itemSize(tensor.dtype);
}

async function serialize(
  tensors: Readonly<Record<string, Tensor>>,
  metadata: Readonly<Record<string, string>> | undefined,
): Promise<Uint8Array> {
  const here: Record<string, Tensor> = {};
  for (const [name, tensor] of Object.entries(tensors))
    here[name] = tensor.device === 'cpu' ? tensor : await download(tensor);
  return serializeSafetensors(here, metadata);
}

/** Fills one file after another, in order; a tensor larger than the limit has a file of its own. */
function splitShards(
  tensors: Readonly<Record<string, Tensor>>,
  maxBytes: number,
): Record<string, Tensor>[] {
  const shards: Record<string, Tensor>[] = [{}];
  let used = 0;
  for (const [name, tensor] of Object.entries(tensors)) {
    const bytes = byteLength(tensor);
    if (used > 0 && used + bytes > maxBytes) {
      shards.push({});
      used = 0;
    }
    shards.at(-1)![name] = tensor;
    used += bytes;
  }
  return shards;
}
