/**
 * @file Bytes that can be read: the one form that paths, addresses, streams and memory are brought to.
 *
 * A seekable file can be opened anywhere, any number of times; another one is read once, from its start.
 */
import { TesseraError } from '@tessera/shared';

/** Reads bytes in order. */
export interface ByteReader {
  /** The next bytes, at least one; null at the end. */
  read(): Promise<Uint8Array | null>;
  /** Ends a download or a stream whose rest nobody wants. */
  cancel(reason?: unknown): void;
}

/** See the file header. */
export interface ByteFile {
  /** Name for messages. */
  readonly name: string;
  /** Number of bytes, if it is known. */
  readonly size: number | undefined;
  readonly seekable: boolean;
  /** Bytes from `begin` up to `end`, or to the end of the file. A file that is not seekable takes 0 only. */
  open(begin: number, end?: number): Promise<ByteReader>;
  /** Called when nothing more is read; `good` says that what was read was what it should be. */
  close(good: boolean): Promise<void>;
}

/** A reader of what is there already. */
export function bytesReader(bytes: Uint8Array): ByteReader {
  let rest: Uint8Array | null = bytes.byteLength === 0 ? null : bytes;
  return {
    read: () => {
      const chunk = rest;
      rest = null;
      return Promise.resolve(chunk);
    },
    cancel: () => (rest = null),
  };
}

/** A reader of a web stream. */
export function streamReader(stream: ReadableStream<Uint8Array>): ByteReader {
  const reader = stream.getReader();
  return {
    async read() {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return null;
        if (value.byteLength > 0) return value;
      }
    },
    // Of a stream that has failed nothing is left to cancel.
    cancel: (reason) => void reader.cancel(reason).catch(() => {}),
  };
}

/** Chunks as a web stream. */
export function streamOf(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done === true) return controller.close();
      if (!ArrayBuffer.isView(value))
        throw new TesseraError(
          'invalid-argument',
          `The chunks of a stream must be bytes, not ${typeof value}s.`,
        );
      controller.enqueue(value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}

const closed = (): Promise<void> => Promise.resolve();

/** Bytes in memory as a file. */
export function memoryFile(bytes: Uint8Array, name: string): ByteFile {
  return {
    name,
    size: bytes.byteLength,
    seekable: true,
    open: (begin, end) => Promise.resolve(bytesReader(bytes.subarray(begin, end))),
    close: closed,
  };
}

/** A Blob or File. */
export function blobFile(blob: Blob): ByteFile {
  return {
    name: 'name' in blob ? String(blob.name) : 'the given Blob',
    size: blob.size,
    seekable: true,
    open: (begin, end) => Promise.resolve(streamReader(blob.slice(begin, end).stream())),
    close: closed,
  };
}

/**
 * Bytes that come once.
 *
 * It takes a reader, not a stream: engines cancel the body of an answer that is collected while nobody reads it, and
 * what was cancelled looks as if it had ended.
 */
export function readOnceFile(reader: ByteReader, name: string, size: number | undefined): ByteFile {
  return {
    name,
    size,
    seekable: false,
    open: () => Promise.resolve(reader),
    // Not waited for: whoever made the stream may take long to end it.
    close: () => Promise.resolve(reader.cancel()),
  };
}

/** One array of several. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const out = new Uint8Array(parts.reduce((total, part) => total + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.byteLength;
  }
  return out;
}
