/**
 * @file A position in a file that moves forward: bytes are taken in the amounts that are wanted, and what lies
 * between is skipped, by not asking for it where the file allows that.
 */
import { orAborted } from './abort.js';
import { type ByteFile, type ByteReader, joined } from './byte-file.js';

/** Bytes from `begin` up to `end`. */
export interface Span {
  readonly begin: number;
  readonly end: number;
}

/** Bytes between two spans that cost less than a request of their own. */
const MERGED_GAP_BYTES = 262_144;

/** Spans in order, those that lie close together as one. */
export function mergeSpans(spans: readonly Span[], gap: number = MERGED_GAP_BYTES): Span[] {
  const merged: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.begin - b.begin)) {
    const last = merged.at(-1);
    if (last === undefined || span.begin > last.end + gap) merged.push(span);
    else merged[merged.length - 1] = { begin: last.begin, end: Math.max(last.end, span.end) };
  }
  return merged;
}

/** What a cursor tells, and whom. */
export interface CursorOptions {
  readonly signal: AbortSignal | undefined;
  /** Called with the number of bytes read so far, skipped ones that had to be read included. */
  readonly onBytes?: (count: number) => void;
  /** Throws that the file ends here, so many bytes too early. */
  readonly ended: (position: number, missing: number) => never;
}

/** See the file header. */
export class Cursor {
  /** Bytes before the next one. */
  position = 0;
  private reader: ByteReader | null = null;
  private chunk: Uint8Array = new Uint8Array(0);
  /** Where the open reader ends; undefined: with the file. */
  private readerEnd: number | undefined;
  private spans: readonly Span[] | null = null;
  private count = 0;

  constructor(
    private readonly file: ByteFile,
    private readonly options: CursorOptions,
  ) {}

  /** Says what will be read from here on, in order: nothing else is asked for, where the file is seekable. */
  plan(spans: readonly Span[]): void {
    this.spans = spans;
    if (this.file.seekable) this.drop();
  }

  private drop(): void {
    const { reader } = this;
    this.reader = null;
    this.chunk = new Uint8Array(0);
    reader?.cancel(this.options.signal?.reason);
  }

  private async open(): Promise<ByteReader> {
    const { position } = this;
    const within = this.spans?.find(({ begin, end }) => begin <= position && position < end);
    this.readerEnd = this.file.seekable ? within?.end : undefined;
    return (this.reader = await this.file.open(position, this.readerEnd));
  }

  /** Makes the chunk hold at least one byte; false at the end. */
  private async fill(): Promise<boolean> {
    const { signal } = this.options;
    while (this.chunk.byteLength === 0) {
      signal?.throwIfAborted();
      const reader = this.reader ?? (await orAborted(this.open(), signal));
      const chunk = await orAborted(reader.read(), signal);
      if (chunk === null) return false;
      this.chunk = chunk;
    }
    return true;
  }

  /** Moves to a place behind this one. */
  async skipTo(target: number): Promise<void> {
    const ahead = target - this.position;
    const within = this.readerEnd === undefined || target <= this.readerEnd;
    if (ahead === 0) return;
    if (!this.file.seekable || (this.reader !== null && within && this.spans !== null)) {
      await this.each(ahead, () => {});
      return;
    }
    this.drop();
    this.position = target;
  }

  /** Hands `count` bytes to `take`, piece by piece. What it keeps of a piece stays as it is. */
  async each(count: number, take: (piece: Uint8Array, at: number) => void): Promise<void> {
    let at = 0;
    while (at < count) {
      if (!(await this.fill())) this.options.ended(this.position, count - at);
      const piece = this.chunk.subarray(0, count - at);
      take(piece, at);
      this.chunk = this.chunk.subarray(piece.byteLength);
      at += piece.byteLength;
      this.position += piece.byteLength;
      this.count += piece.byteLength;
      this.options.onBytes?.(this.count);
    }
  }

  /** The next bytes. */
  async bytes(count: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    await this.each(count, (piece) => parts.push(piece));
    return joined(parts);
  }

  /** The next bytes where they have come already, else null: many small reads need not wait for each. */
  now(count: number): Uint8Array | null {
    if (this.chunk.byteLength < count) return null;
    const bytes = this.chunk.subarray(0, count);
    this.chunk = this.chunk.subarray(count);
    this.position += count;
    this.count += count;
    return bytes;
  }

  /** The rest of the file. */
  async rest(): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    while (await this.fill()) await this.each(this.chunk.byteLength, (piece) => parts.push(piece));
    return joined(parts);
  }

  async atEnd(): Promise<boolean> {
    return !(await this.fill());
  }

  /** Ends reading, and closes the file; `good` says whether what was read was what it should be. */
  async close(good: boolean): Promise<void> {
    this.drop();
    await this.file.close(good);
  }
}
