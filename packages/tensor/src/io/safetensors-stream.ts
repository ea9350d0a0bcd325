/**
 * @file Reading safetensors as they arrive: each tensor's bytes go straight into its storage.
 *
 * The header is checked before any tensor is made, and a tensor is handed out only when all its bytes
 * are there. So a file of any size is loaded with no second copy of it, also into another dtype, and a truncated one
 * fails without leaving a tensor half-filled. Where tensors are chosen, only they are read, if the source allows it.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import { emptyContiguous } from '../tensor-factory.js';
import { withoutModes } from '../dispatch/modes.js';
import type { DType } from '../dtype.js';
import type { Tensor } from '../tensor.js';
import type { ByteFile } from './byte-file.js';
import { type ByteSource, openSource, resolveSource } from './byte-source.js';
import { Cursor, type Span, mergeSpans } from './cursor.js';
import { elementSink } from './decode-elements.js';
import { type LoadProgress, type SourceOptions, signalOf } from './loading.js';
import { refuseOtherFormats } from './other-formats.js';
import {
  type SafetensorsEntry,
  type SafetensorsHeader,
  headerLength,
  invalidFile,
  parseHeader,
} from './safetensors-header.js';
import { type TensorKeys, checkKeys, chosenBy, skipTensor } from './select-tensors.js';
import {
  type SkippedTensor,
  type StoredType,
  checkFloatDType,
  loadedDType,
  storedType,
} from './stored-type.js';

/** A tensor of a file. */
export interface LoadedTensor {
  readonly name: string;
  readonly tensor: Tensor;
}

/** What `streamSafetensors` takes besides the source. */
export interface StreamOptions extends SourceOptions {
  /** Tensors that are wanted; of a server that answers range requests only their bytes are asked for. */
  readonly keys?: TensorKeys | undefined;
  /** Floating-point tensors become this dtype while they are read; integers and booleans stay. */
  readonly dtype?: DType | undefined;
  /** Called as bytes arrive. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /** Called with the metadata before the first tensor. */
  readonly onMetadata?: ((metadata: Readonly<Record<string, string>>) => void) | undefined;
  /** Called for a tensor that no dtype can hold and that was not asked for by `keys`; else a warning says so. */
  readonly onSkip?: ((tensor: SkippedTensor) => void) | undefined;
}

const OPTIONS: OptionNames<StreamOptions> = {
  signal: true,
  requestInit: true,
  keys: true,
  dtype: true,
  onProgress: true,
  onMetadata: true,
  onSkip: true,
};

function endsEarly(position: number, missing: number): never {
  invalidFile(`it ends after ${position} bytes, ${missing} before what its header says`);
}

async function readHeader(
  cursor: Cursor,
  { size }: ByteFile,
  parts: boolean,
): Promise<SafetensorsHeader> {
  if (parts) cursor.plan([{ begin: 0, end: 8 }]);
  const start = await cursor.bytes(size === undefined ? 8 : Math.min(8, size));
  refuseOtherFormats(start);
  const length = headerLength(start);
  if (size !== undefined && 8 + length > size)
    invalidFile(`its header needs ${length} bytes, but only ${size - 8} are left`);
  if (parts) cursor.plan([{ begin: 8, end: 8 + length }]);
  const dataBytes = size === undefined ? null : size - 8 - length;
  return parseHeader(await cursor.bytes(length), dataBytes, storedType);
}

/** Reads `count` bytes into a new tensor. */
async function readTensor(
  cursor: Cursor,
  { name, sizes, begin, end }: SafetensorsEntry,
  stored: StoredType,
  dtype: DType,
): Promise<Tensor> {
  const tensor = withoutModes(() => emptyContiguous(sizes, dtype, 'cpu'));
  try {
    await cursor.each(
      end - begin,
      elementSink(name, stored, dtype, () => tensor.dataPtr()),
    );
  } catch (error) {
    tensor.dispose();
    throw error;
  }
  return tensor;
}

/**
 * The tensors of a file, one by one in the order of their bytes. Whoever stops early ends the download.
 *
 * @throws safetensors-invalid, source-unreadable, dtype-unsupported, invalid-argument, out-of-memory; the reason of
 * the signal when that is aborted
 */
export async function* streamSafetensors(
  source: ByteSource,
  options: StreamOptions = {},
): AsyncGenerator<LoadedTensor, void, undefined> {
  checkOptionNames('streamSafetensors', options, OPTIONS);
  checkFloatDType(options.dtype);
  const { requestInit, keys } = options;
  const signal = signalOf(source, options);
  signal?.throwIfAborted();
  const parts = keys !== undefined;
  const file = await openSource(resolveSource(source), { signal, requestInit, parts, cache: null });
  yield* readSafetensors(file, options, signal);
}

/** The tensors of an opened file, which is closed behind them. */
export async function* readSafetensors(
  file: ByteFile,
  options: StreamOptions,
  signal: AbortSignal | undefined,
): AsyncGenerator<LoadedTensor, void, undefined> {
  const { keys, dtype } = options;
  let total = keys === undefined ? file.size : undefined;
  const cursor = new Cursor(file, {
    signal,
    ended: endsEarly,
    onBytes: (loaded) => options.onProgress?.({ file: file.name, loaded, total }),
  });
  let good = false;
  try {
    const { entries, metadata, dataStart } = await readHeader(cursor, file, keys !== undefined);
    options.onMetadata?.(metadata);
    checkKeys(
      entries.map(({ name }) => name),
      keys,
      file.name,
    );
    const chosen = chooseEntries(entries, options);
    const spans = mergeSpans(
      chosen.map(({ begin, end }): Span => ({ begin: dataStart + begin, end: dataStart + end })),
    );
    total = bytesToRead(file, entries, dataStart, keys === undefined ? null : spans);
    if (keys !== undefined) cursor.plan(spans);
    for (const entry of chosen) {
      await cursor.skipTo(dataStart + entry.begin);
      const stored = entry.stored!;
      const tensor = await readTensor(cursor, entry, stored, loadedDType(stored, dtype));
      yield { name: entry.name, tensor };
    }
    if (keys === undefined) {
      await cursor.skipTo(dataStart + dataEnd(entries));
      if (!(await cursor.atEnd())) invalidFile('it goes on behind its last tensor');
    }
    good = true;
  } finally {
    await cursor.close(good);
  }
}

/** Tensors to load, in the order of their bytes. @throws dtype-unsupported */
function chooseEntries(
  entries: readonly SafetensorsEntry[],
  { keys, onSkip }: StreamOptions,
): SafetensorsEntry[] {
  const isChosen = chosenBy(keys);
  return entries
    .filter(({ name, code, stored, sizes }) => {
      if (!isChosen(name)) return false;
      if (stored === null) skipTensor({ name, storedType: code, shape: sizes }, keys, onSkip);
      return stored !== null;
    })
    .sort((a, b) => a.begin - b.begin || a.end - b.end);
}

function dataEnd(entries: readonly SafetensorsEntry[]): number {
  return entries.reduce((end, entry) => Math.max(end, entry.end), 0);
}

/** Bytes of the file that are read, `spans` being what is wanted (null: all). */
function bytesToRead(
  { seekable }: ByteFile,
  entries: readonly SafetensorsEntry[],
  dataStart: number,
  spans: readonly Span[] | null,
): number {
  if (spans === null) return dataStart + dataEnd(entries);
  if (!seekable) return Math.max(dataStart, ...spans.map(({ end }) => end));
  return spans.reduce((sum, { begin, end }) => sum + end - begin, dataStart);
}
