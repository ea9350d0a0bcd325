/**
 * @file Reading safetensors as they arrive: each tensor's bytes go straight into its storage.
 *
 * The header is checked before any tensor is made, and a tensor is handed out only when all its bytes
 * are there. So a file of any size is loaded with no second copy of it, and a truncated one fails
 * without leaving a tensor half-filled.
 */
import { cpuHeap } from '../heap/cpu-heap.js';
import { emptyContiguous } from '../tensor-factory.js';
import { withoutModes } from '../dispatch/modes.js';
import { itemSize } from '../dtype.js';
import { numelOf } from '../shape.js';
import type { Tensor } from '../tensor.js';
import { type ByteSource, type ByteStream, openBytes } from './byte-stream.js';
import {
  type SafetensorsEntry,
  type SafetensorsHeader,
  headerLength,
  invalidFile,
  parseHeader,
} from './safetensors-header.js';

/** A tensor of a file. */
export interface LoadedTensor {
  readonly name: string;
  readonly tensor: Tensor;
}

/** What `streamSafetensors` takes besides the source. */
export interface StreamOptions {
  /** Called as bytes arrive. `total` is null where the source does not say. */
  readonly onProgress?: (loaded: number, total: number | null) => void;
  /** Called with the metadata before the first tensor. */
  readonly onMetadata?: (metadata: Readonly<Record<string, string>>) => void;
}

/** Takes bytes off a stream in the amounts that are wanted. */
class Reader {
  private readonly iterator: AsyncIterator<Uint8Array>;
  private chunk: Uint8Array = new Uint8Array(0);
  /** Bytes taken so far. */
  position = 0;

  constructor(
    stream: ByteStream,
    private readonly onProgress: (loaded: number) => void,
  ) {
    this.iterator = stream.chunks()[Symbol.asyncIterator]();
  }

  /** At least one byte, if there is any. */
  private async fill(): Promise<boolean> {
    while (this.chunk.byteLength === 0) {
      const { done, value } = await this.iterator.next();
      if (done === true) return false;
      this.chunk = value;
    }
    return true;
  }

  /** Hands `count` bytes to `take`, piece by piece. @throws safetensors-invalid if there are fewer */
  async each(count: number, take: (piece: Uint8Array, at: number) => void): Promise<void> {
    let at = 0;
    while (at < count) {
      if (!(await this.fill()))
        invalidFile(
          `it ends after ${this.position} bytes, ${count - at} before what its header says`,
        );
      const piece = this.chunk.subarray(0, count - at);
      take(piece, at);
      this.chunk = this.chunk.subarray(piece.byteLength);
      at += piece.byteLength;
      this.position += piece.byteLength;
      this.onProgress(this.position);
    }
  }

  async bytes(count: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    await this.each(count, (piece) => parts.push(piece));
    if (parts.length === 1) return parts[0]!;
    const out = new Uint8Array(count);
    let at = 0;
    for (const part of parts) {
      out.set(part, at);
      at += part.byteLength;
    }
    return out;
  }

  async atEnd(): Promise<boolean> {
    return !(await this.fill());
  }

  async close(): Promise<void> {
    await this.iterator.return?.();
  }
}

async function readHeader(reader: Reader, size: number | null): Promise<SafetensorsHeader> {
  const length = headerLength(await reader.bytes(size === null ? 8 : Math.min(8, size)));
  if (size !== null && 8 + length > size)
    invalidFile(`its header needs ${length} bytes, but only ${size - 8} are left`);
  return parseHeader(await reader.bytes(length), size === null ? null : size - 8 - length);
}

async function readTensor(reader: Reader, entry: SafetensorsEntry): Promise<Tensor> {
  const { sizes, dtype } = entry;
  const tensor = withoutModes(() => emptyContiguous(sizes, dtype, 'cpu'));
  try {
    // The heap may grow, and move, while bytes are awaited.
    await reader.each(numelOf(sizes) * itemSize(dtype), (piece, at) =>
      cpuHeap().u8.set(piece, tensor.dataPtr() + at),
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
 * @throws safetensors-invalid, out-of-memory
 */
export async function* streamSafetensors(
  source: ByteSource,
  options: StreamOptions = {},
): AsyncGenerator<LoadedTensor, void, undefined> {
  const stream = await openBytes(source);
  const reader = new Reader(stream, (loaded) => options.onProgress?.(loaded, stream.size));
  try {
    const { entries, metadata } = await readHeader(reader, stream.size);
    options.onMetadata?.(metadata);
    const inOrder = [...entries].sort((a, b) => a.begin - b.begin || a.end - b.end);
    for (const entry of inOrder)
      yield { name: entry.name, tensor: await readTensor(reader, entry) };
    if (!(await reader.atEnd())) invalidFile('it goes on behind its last tensor');
  } finally {
    await reader.close();
  }
}
