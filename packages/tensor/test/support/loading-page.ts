/**
 * @file Loading in a page or worker: runs the loads that the test asks for, one after another.
 *
 * In a page `tesseraLoad` is a global; a worker answers messages.
 */
import {
  clearCheckpointCache,
  cpuHeap,
  loadCheckpoint,
  loadTorchCheckpoint,
  saveCheckpoint,
  serializeCheckpoint,
  tensor,
} from '../../src/index.js';

/** A load to run. */
export interface LoadRequest {
  readonly source: string;
  readonly options?: { cache?: boolean; keys?: string[]; abortAfter?: number; torch?: boolean };
  /** Changes what the host has before: no `createWritable`, or an empty cache. */
  readonly first?: 'hide-writable' | 'clear';
}

/** What came out of it. */
export interface LoadResult {
  /** Sums of the tensors, by name. */
  readonly sums: Record<string, number>;
  readonly error: string | null;
  readonly totals: (number | null)[];
  /** Bytes in the heap more than before, after the tensors were released. */
  readonly leftBytes: number;
}

async function run({ source, options = {}, first }: LoadRequest): Promise<LoadResult> {
  if (first === 'clear') await clearCheckpointCache();
  if (first === 'hide-writable')
    delete (globalThis as { FileSystemFileHandle?: { prototype: { createWritable?: unknown } } })
      .FileSystemFileHandle!.prototype.createWritable;
  const { torch = false, abortAfter, ...rest } = options;
  const before = cpuHeap().stats().liveBytes;
  const totals = new Set<number | null>();
  const sums: Record<string, number> = {};
  const controller = new AbortController();
  let error: string | null = null;
  try {
    const loaded = await (torch ? loadTorchCheckpoint : loadCheckpoint)(source, {
      ...rest,
      signal: controller.signal,
      onProgress({ loaded, total }) {
        totals.add(total ?? null);
        if (abortAfter !== undefined && loaded >= abortAfter) controller.abort();
      },
    });
    for (const [name, tensor] of Object.entries(loaded))
      sums[name] = Array.from(tensor.toTypedArray() as ArrayLike<number>, Number).reduce(
        (a, b) => a + b,
        0,
      );
    for (const tensor of Object.values(loaded)) tensor.dispose();
  } catch (caught) {
    error = String(caught);
  }
  const leftBytes = cpuHeap().stats().liveBytes - before;
  return { sums, error, totals: [...totals], leftBytes };
}

/** An optimizer's state written to the private file system and read again; and what is said where there is a path. */
async function save(): Promise<{ names: string[]; average: unknown; error: string }> {
  const values = {
    state: { 0: { step: 3, exp_avg: tensor([1, 2]) } },
    paramGroups: [{ lr: 0.5, params: [0] }],
  };
  const folder = await navigator.storage.getDirectory();
  const file = await folder.getFileHandle('optimizer.safetensors', { create: true });
  const writable = await file.createWritable();
  await writable.write(await serializeCheckpoint(values));
  await writable.close();
  const loaded = await loadCheckpoint(await file.getFile());
  const error = await saveCheckpoint('optimizer.safetensors', values).then(String, String);
  const average = loaded['state.0.exp_avg']!.toArray();
  return { names: Object.keys(loaded).sort(), average, error };
}

if ('document' in globalThis) Object.assign(globalThis, { tesseraLoad: run, tesseraSave: save });
else {
  globalThis.addEventListener('message', ({ data }: MessageEvent<LoadRequest>) => {
    const answer = (result: LoadResult): void => globalThis.postMessage(result);
    void run(data).then(answer);
  });
}
