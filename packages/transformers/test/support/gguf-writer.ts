/**
 * @file Writes GGUF files as the format's description says, without the package's own code.
 *
 * @see https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */

/** A value of a header, with its type where numbers have several. */
export type Value = string | boolean | number | { u64: bigint } | { f32: number } | string[];

/** A tensor: element type, sizes with the fastest last, bytes. */
export interface Written {
  readonly code: number;
  readonly sizes: readonly number[];
  readonly bytes: Uint8Array;
  /** Offset instead of the next free place. */
  readonly at?: number;
}

const text = (value: string): number[] => {
  const bytes = [...new TextEncoder().encode(value)];
  return [...u64(BigInt(bytes.length)), ...bytes];
};
const raw = (count: number, set: (view: DataView) => void): number[] => {
  const view = new DataView(new ArrayBuffer(count));
  set(view);
  return [...new Uint8Array(view.buffer)];
};
const u32 = (value: number): number[] => raw(4, (view) => view.setUint32(0, value, true));
const u64 = (value: bigint): number[] => raw(8, (view) => view.setBigUint64(0, value, true));

function value(of: Value): number[] {
  if (typeof of === 'string') return [...u32(8), ...text(of)];
  if (typeof of === 'boolean') return [...u32(7), of ? 1 : 0];
  if (typeof of === 'number') return [...u32(4), ...u32(of)];
  if (Array.isArray(of))
    return [...u32(9), ...u32(8), ...u64(BigInt(of.length)), ...of.flatMap(text)];
  if ('u64' in of) return [...u32(10), ...u64(of.u64)];
  return [...u32(6), ...raw(4, (view) => view.setFloat32(0, of.f32, true))];
}

const ALIGNMENT = 32;
const padded = (length: number): number => Math.ceil(length / ALIGNMENT) * ALIGNMENT;

/** The bytes of a file. */
export function writeGguf(
  metadata: Readonly<Record<string, Value>>,
  tensors: Readonly<Record<string, Written>>,
): Uint8Array<ArrayBuffer> {
  const values = Object.entries(metadata);
  const entries = Object.entries(tensors);
  const header = [
    ...new TextEncoder().encode('GGUF'),
    ...u32(3),
    ...u64(BigInt(entries.length)),
    ...u64(BigInt(values.length)),
    ...values.flatMap(([name, of]) => [...text(name), ...value(of)]),
  ];
  let offset = 0;
  const places: number[] = [];
  for (const [name, { code, sizes, bytes, at }] of entries) {
    places.push(offset);
    const dims = [...sizes].reverse().flatMap((size) => u64(BigInt(size)));
    header.push(
      ...text(name),
      ...u32(sizes.length),
      ...dims,
      ...u32(code),
      ...u64(BigInt(at ?? offset)),
    );
    offset = padded(offset + bytes.byteLength);
  }
  const start = padded(header.length);
  const out = new Uint8Array(start + offset);
  out.set(header);
  entries.forEach(([, { bytes }], i) => out.set(bytes, start + places[i]!));
  return out;
}

/** Numbers as F32. */
export function f32(sizes: readonly number[], values: ArrayLike<number>): Written {
  return { code: 0, sizes, bytes: new Uint8Array(Float32Array.from(values).buffer) };
}
