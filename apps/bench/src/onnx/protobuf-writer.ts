/**
 * @file Writes protocol buffers: the three wire types that ONNX files need.
 *
 * @see https://protobuf.dev/programming-guides/encoding/
 */

const VARINT = 0;
const LENGTH_DELIMITED = 2;
const FIXED32 = 5;

/** A message under construction. Fields may be added in any order, repeated ones several times. */
export class ProtobufWriter {
  readonly #parts: Uint8Array[] = [];

  /** An integer field. @param value an integer of up to 53 bits; negative ones take ten bytes */
  int(field: number, value: number): this {
    return this.#tag(field, VARINT).#push(varint(value));
  }

  /** A 32-bit float field. */
  float(field: number, value: number): this {
    return this.#tag(field, FIXED32).#push(new Uint8Array(Float32Array.of(value).buffer));
  }

  /** A string field. */
  string(field: number, text: string): this {
    return this.bytes(field, new TextEncoder().encode(text));
  }

  /** A bytes field. */
  bytes(field: number, bytes: Uint8Array): this {
    return this.#tag(field, LENGTH_DELIMITED).#push(varint(bytes.length)).#push(bytes);
  }

  /** A field that is a message. */
  message(field: number, message: ProtobufWriter): this {
    return this.bytes(field, message.finish());
  }

  /** The bytes of all fields so far. */
  finish(): Uint8Array {
    const out = new Uint8Array(this.#parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of this.#parts) {
      out.set(part, at);
      at += part.length;
    }
    return out;
  }

  #tag(field: number, wireType: number): this {
    return this.#push(varint(field * 8 + wireType));
  }

  #push(bytes: Uint8Array): this {
    this.#parts.push(bytes);
    return this;
  }
}

/** Seven bits a byte, low bits first; negative numbers as 64-bit two's complement. */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest >= 128n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}
