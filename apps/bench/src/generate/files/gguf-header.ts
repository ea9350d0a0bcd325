/**
 * @file `GgufHeader`: what stands before the tensors of a GGUF file.
 *
 * @see https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */

const VERSION = 3;
const TYPES = { uint32: 4, float32: 6, string: 8, array: 9 } as const;

/** Bytes under construction. */
class Bytes {
  private readonly parts: Uint8Array[] = [];

  add(bytes: Uint8Array): this {
    this.parts.push(bytes);
    return this;
  }

  u32(value: number): this {
    return this.add(new Uint8Array(Uint32Array.of(value).buffer));
  }

  u64(value: number): this {
    return this.add(new Uint8Array(BigUint64Array.of(BigInt(value)).buffer));
  }

  f32(value: number): this {
    return this.add(new Uint8Array(Float32Array.of(value).buffer));
  }

  string(text: string): this {
    const bytes = new TextEncoder().encode(text);
    return this.u64(bytes.length).add(bytes);
  }

  finish(): Uint8Array {
    return new Uint8Array(Buffer.concat(this.parts));
  }
}

/** See the file header. */
export class GgufHeader {
  /** Tensors begin at multiples of this. */
  static readonly ALIGNMENT = 32;
  private readonly values = new Bytes();
  private readonly tensors = new Bytes();
  private valueCount = 0;
  private tensorCount = 0;
  private offset = 0;

  text(name: string, value: string): void {
    this.key(name, TYPES.string).string(value);
  }

  texts(name: string, values: readonly string[]): void {
    const out = this.key(name, TYPES.array).u32(TYPES.string).u64(values.length);
    for (const value of values) out.string(value);
  }

  whole(name: string, value: number): void {
    this.key(name, TYPES.uint32).u32(value);
  }

  float(name: string, value: number): void {
    this.key(name, TYPES.float32).f32(value);
  }

  /** A tensor behind those before it; sizes with the fastest last. */
  tensor(name: string, sizes: readonly number[], type: number, bytes: number): void {
    this.tensors.string(name).u32(sizes.length);
    for (const size of [...sizes].reverse()) this.tensors.u64(size);
    this.tensors.u32(type).u64(this.offset);
    this.offset += Math.ceil(bytes / GgufHeader.ALIGNMENT) * GgufHeader.ALIGNMENT;
    this.tensorCount++;
  }

  finish(): Uint8Array {
    return new Bytes()
      .add(new TextEncoder().encode('GGUF'))
      .u32(VERSION)
      .u64(this.tensorCount)
      .u64(this.valueCount)
      .add(this.values.finish())
      .add(this.tensors.finish())
      .finish();
  }

  private key(name: string, type: number): Bytes {
    this.valueCount++;
    return this.values.string(name).u32(type);
  }
}
