/** @file Growing byte buffer with the primitive encodings of the WebAssembly binary format. */

const ENCODER = new TextEncoder();

/** Appends bytes, LEB128 integers, little-endian floats and names. */
export class ByteWriter {
  #bytes = new Uint8Array(1024);
  #length = 0;

  /** Bytes written so far. */
  get length(): number {
    return this.#length;
  }

  byte(value: number): void {
    if (this.#length === this.#bytes.length) this.#grow(1);
    this.#bytes[this.#length++] = value;
  }

  bytes(values: Uint8Array | readonly number[]): void {
    this.#grow(values.length);
    this.#bytes.set(values, this.#length);
    this.#length += values.length;
  }

  /** Unsigned LEB128 of an integer below 2^53. */
  unsigned(value: number): void {
    let rest = value;
    while (rest >= 128) {
      this.byte((rest % 128) + 128);
      rest = Math.floor(rest / 128);
    }
    this.byte(rest);
  }

  /** Signed LEB128. */
  signed(value: bigint): void {
    let rest = value;
    for (;;) {
      const low = Number(rest & 127n);
      rest >>= 7n;
      const last = (rest === 0n && (low & 64) === 0) || (rest === -1n && (low & 64) !== 0);
      this.byte(last ? low : low | 128);
      if (last) return;
    }
  }

  /** Signed LEB128 of a 32-bit integer. */
  signed32(value: number): void {
    let rest = value;
    for (;;) {
      const low = rest & 127;
      rest >>= 7;
      const last = (rest === 0 && (low & 64) === 0) || (rest === -1 && (low & 64) !== 0);
      this.byte(last ? low : low | 128);
      if (last) return;
    }
  }

  float32(value: number): void {
    this.bytes(new Uint8Array(Float32Array.of(value).buffer));
  }

  float64(value: number): void {
    this.bytes(new Uint8Array(Float64Array.of(value).buffer));
  }

  name(text: string): void {
    const encoded = ENCODER.encode(text);
    this.unsigned(encoded.length);
    this.bytes(encoded);
  }

  /** A section or body: length, then content. */
  sized(content: ByteWriter): void {
    this.unsigned(content.length);
    this.bytes(content.#bytes.subarray(0, content.#length));
  }

  /** The bytes written, as a copy. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }

  #grow(extra: number): void {
    if (this.#length + extra <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length + extra));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}
