/**
 * @file Writing checkpoints: one safetensors file, or several with an index that says what is where.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { itemSize } from '../dtype.js';
import { numelOf } from '../shape.js';
import type { Tensor } from '../tensor.js';
import { nodeFs } from './node-fs.js';
import type { SavedOptimizer } from './optimizer-tensors.js';
import { savedTensors } from './saved-tensors.js';
import { type SerializeCheckpointOptions, serializeDownloaded } from './serialize-checkpoint.js';

/** What `saveCheckpoint` takes besides the tensors. */
export interface SaveCheckpointOptions extends SerializeCheckpointOptions {
  /** Bytes of tensors per file; if they do not fit into one, an index is written beside several. */
  readonly maxShardBytes?: number;
}

const OPTIONS: OptionNames<SaveCheckpointOptions> = { metadata: true, maxShardBytes: true };

/**
 * Writes tensors (on any device) to a `.safetensors` file, in Node. The file appears complete or not at
 * all. Returns the paths written: one, or the index and its shards.
 *
 * The state dict of an optimizer is tensors by name in the file, `state.0.exp_avg`, where `loadStateDict` finds them
 * again; what is no tensor of it, is there as one.
 *
 * @throws invalid-argument for anything but tensors, and where there is no file system; serializeCheckpoint gives the bytes there
 * @example
 * await saveCheckpoint('model.safetensors', model.stateDict());
 * await saveCheckpoint('optimizer.safetensors', optimizer.stateDict());
 * optimizer.loadStateDict(await loadCheckpoint('optimizer.safetensors'));
 */
export async function saveCheckpoint(
  path: string,
  values: Readonly<Record<string, Tensor>> | SavedOptimizer,
  options: SaveCheckpointOptions = {},
): Promise<string[]> {
  checkOptionNames('saveCheckpoint', options, OPTIONS);
  if (typeof path !== 'string')
    throw new TesseraError(
      'invalid-argument',
      `saveCheckpoint takes the path of a file, not ${String(path)}.`,
      {
        hints: ["Write saveCheckpoint('model.safetensors', model.stateDict())."],
      },
    );
  const fs = nodeFs();
  if (fs === null) {
    throw new TesseraError('invalid-argument', 'There is no file system here to save to.', {
      hints: [
        'await serializeCheckpoint(…) gives the bytes, for a download, IndexedDB or a private file of the page.',
      ],
    });
  }
  const call = 'saveCheckpoint(path, model.stateDict())';
  const tensors = savedTensors('saveCheckpoint', call, values);
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
    await write(path, await serializeDownloaded(shards[0]!, options.metadata));
    return [path];
  }
  const stem = path.replace(/\.safetensors$/, '');
  const folder = stem.replace(/[^/\\]*$/, '');
  const map: Record<string, string> = {};
  const written: string[] = [];
  for (const [i, shard] of shards.entries()) {
    const number = (n: number): string => String(n).padStart(5, '0');
    const file = `${stem.slice(folder.length)}-${number(i + 1)}-of-${number(shards.length)}.safetensors`;
    await write(folder + file, await serializeDownloaded(shard, options.metadata));
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
