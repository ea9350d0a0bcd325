/**
 * @file Loading what `torch.save` wrote: state dicts, and other files that hold tensors in containers.
 *
 * A function of its own, so that who loads safetensors does not carry the readers of zip files and pickles. Nothing
 * in the file is run. Tensors that lie on one storage do so when they are loaded; storages go straight into the heap,
 * in the order of the file.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import type { DType } from '../../dtype.js';
import { toDevice } from '../../ops/arrange/copy.js';
import { withoutModes } from '../../dispatch/modes.js';
import { emptyContiguous, makeTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { type ByteSource, resolveSource } from '../byte-source.js';
import type { ByteFile } from '../byte-file.js';
import { crc32 } from '../crc32.js';
import { Cursor, mergeSpans } from '../cursor.js';
import { elementSink } from '../decode-elements.js';
import {
  type LoadProgress,
  type Loading,
  type PlaceOptions,
  type SourceOptions,
  disposeAll,
  reading,
  startLoading,
} from '../loading.js';
import { type TensorKeys, checkKeys, chosenBy, skipTensor } from '../select-tensors.js';
import {
  type SkippedTensor,
  type StoredType,
  checkFloatDType,
  loadedDType,
} from '../stored-type.js';
import { invalidTorch } from './invalid-torch.js';
import { type TorchScalar, nameValues } from './named-values.js';
import type { TorchTensor } from './pickle-values.js';
import { type TorchArchive, checkSum, endsEarly, openTorchArchive } from './torch-archive.js';
import { parseTorchPickle } from './torch-pickle.js';
import { RECORD_HEADER_BYTES, type ZipEntry, recordGap } from './zip-directory.js';
import type { DeviceType } from '../../device.js';

/** What `loadTorchCheckpoint` takes besides the source. */
export interface LoadTorchCheckpointOptions extends SourceOptions, PlaceOptions {
  /** Only what lies under this name: `state_dict` of `{ state_dict: …, epoch: 3 }`. Names start behind it. */
  readonly prefix?: string | undefined;
  /** Tensors that are wanted; of a server that answers range requests only their storages are asked for. */
  readonly keys?: TensorKeys | undefined;
  /** Floating-point tensors become this dtype while they are read; integers and booleans stay. */
  readonly dtype?: DType | undefined;
  /** Called as bytes arrive. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /** Called before the first tensor with what is no tensor: numbers, strings, by names like those of tensors. */
  readonly onValues?: ((values: Readonly<Record<string, TorchScalar>>) => void) | undefined;
  /** Called for a tensor that no dtype can hold and that was not asked for by `keys`; else a warning says so. */
  readonly onSkip?: ((tensor: SkippedTensor) => void) | undefined;
}

const OPTIONS: OptionNames<LoadTorchCheckpointOptions> = {
  prefix: true,
  keys: true,
  dtype: true,
  device: true,
  cache: true,
  signal: true,
  requestInit: true,
  onProgress: true,
  onValues: true,
  onSkip: true,
};

/** A storage to read, and the tensors on it. */
interface WantedStorage {
  readonly entry: ZipEntry;
  readonly stored: StoredType;
  readonly count: number;
  readonly tensors: Map<string, TorchTensor>;
}

/**
 * Loads the tensors of a `.pt` or `.pth` file that `torch.save` of PyTorch 1.6 or newer wrote, by name. In nested
 * containers names are joined by dots: `{ model: { 'fc.weight': … } }` gives `model.fc.weight`, or `fc.weight` with
 * `prefix: 'model'`.
 *
 * Only tensors and containers are read; a file that holds anything else (a whole module, say) is refused, and nothing
 * in it is run. Tensors that share memory in the file share it here. None requires gradients. A stream, and an address
 * whose server does not answer range requests, is taken into memory first.
 *
 * @throws torch-checkpoint-invalid, source-unreadable, dtype-unsupported, invalid-argument, out-of-memory; the reason
 * of the signal when that is aborted
 * @example model.loadStateDict(await loadTorchCheckpoint('model.pt'));
 * @see https://pytorch.org/docs/stable/generated/torch.load.html with `weights_only`
 */
export async function loadTorchCheckpoint(
  source: ByteSource,
  options: LoadTorchCheckpointOptions = {},
): Promise<Record<string, Tensor>> {
  checkOptionNames('loadTorchCheckpoint', options, OPTIONS);
  checkFloatDType(options.dtype);
  const loading = startLoading(source, options);
  // A cache is filled by whole files.
  const parts = options.keys !== undefined || loading.cache === null;
  const loaded: Record<string, Tensor> = {};
  await reading(resolveSource(source), loading, parts, async (file) => {
    try {
      await loadArchive(file, loaded, loading);
      loading.signal?.throwIfAborted();
    } catch (error) {
      disposeAll(loaded);
      throw error;
    }
  });
  return loaded;
}

async function loadArchive(
  source: ByteFile,
  into: Record<string, Tensor>,
  { options, signal }: Loading<LoadTorchCheckpointOptions>,
): Promise<void> {
  let opened: ByteFile = source;
  let good = false;
  try {
    const archive = await openTorchArchive(source, signal, options.onProgress);
    opened = archive.file;
    const storages = wantedStorages(archive, options);
    const spans = mergeSpans(storages.map(({ entry }) => entry));
    const total = spans.reduce((sum, { begin, end }) => sum + end - begin, 0);
    // What is in memory was counted as it came.
    const onProgress = archive.inMemory ? undefined : options.onProgress;
    const cursor = new Cursor(opened, {
      signal,
      ended: endsEarly,
      onBytes: (loaded) => onProgress?.({ file: opened.name, loaded, total }),
    });
    cursor.plan(spans);
    for (const storage of storages) await loadStorage(cursor, storage, into, options);
    good = true;
  } finally {
    await opened.close(good);
  }
}

/** Storages of the tensors that are asked for, in the order of the file. */
function wantedStorages(
  archive: TorchArchive,
  { prefix = '', keys, onSkip, onValues }: LoadTorchCheckpointOptions,
): WantedStorage[] {
  const { tensors, values } = nameValues(
    parseTorchPickle(archive.pickle),
    archive.pickle.byteLength,
    prefix,
  );
  const where = prefix === '' ? archive.file.name : `'${prefix}' of ${archive.file.name}`;
  checkKeys([...tensors.keys()], keys, where);
  onValues?.(Object.fromEntries(values));
  const isChosen = chosenBy(keys);
  const storages = new Map<string, WantedStorage>();
  for (const [name, tensor] of tensors) {
    if (!isChosen(name)) continue;
    const { storage, type, sizes } = tensor;
    if (type.stored === null) {
      skipTensor({ name, storedType: type.name, shape: sizes }, keys, onSkip);
      continue;
    }
    const known = storages.get(storage.key);
    const wanted = known ?? wantedStorage(archive, tensor, type.stored);
    if (wanted.stored.code !== type.stored.code)
      invalidTorch(`its storage '${storage.key}' holds tensors of different types`);
    wanted.tensors.set(name, tensor);
    storages.set(storage.key, wanted);
  }
  return [...storages.values()].sort((a, b) => a.entry.begin - b.entry.begin);
}

function wantedStorage(
  archive: TorchArchive,
  { storage }: TorchTensor,
  stored: StoredType,
): WantedStorage {
  const entry = archive.storageRecord(storage.key);
  const bytes = storage.type === null ? storage.count : storage.count * stored.itemSize;
  if (entry.size !== bytes)
    invalidTorch(
      `its storage '${storage.key}' has ${entry.size} bytes, not ${bytes} as its pickle says`,
    );
  return { entry, stored, count: Math.floor(bytes / stored.itemSize), tensors: new Map() };
}

async function loadStorage(
  cursor: Cursor,
  { entry, stored, count, tensors }: WantedStorage,
  into: Record<string, Tensor>,
  { dtype: wanted, device = 'cpu' }: LoadTorchCheckpointOptions,
): Promise<void> {
  await cursor.skipTo(entry.begin);
  const gap = recordGap(await cursor.bytes(RECORD_HEADER_BYTES), entry);
  await cursor.skipTo(entry.begin + RECORD_HEADER_BYTES + gap);
  const dtype = loadedDType(stored, wanted);
  const storage = withoutModes(() => emptyContiguous([count], dtype, 'cpu'));
  try {
    const write = elementSink(entry.name, stored, dtype, () => storage.dataPtr());
    let crc = 0;
    await cursor.each(entry.size, (piece) => {
      if (entry.crc !== 0) crc = crc32(piece, crc);
      write(piece);
    });
    checkSum(entry, crc);
    await cursor.skipTo(entry.end);
    const made = new Map<TorchTensor, Tensor>();
    for (const [name, layout] of tensors) {
      const tensor = made.get(layout) ?? placed(storage, layout, device);
      made.set(layout, tensor);
      into[name] = tensor;
    }
  } catch (error) {
    storage.dispose();
    throw error;
  }
  if (device !== 'cpu') storage.dispose();
}

/** A tensor over a storage, or its copy on another device. */
function placed(storage: Tensor, layout: TorchTensor, device: DeviceType): Tensor {
  const { sizes, strides, offset } = layout;
  const tensor = makeTensor(storage.storage, storage.dtype, 'cpu', sizes, strides, offset);
  return device === 'cpu' ? tensor : toDevice(tensor, device);
}
