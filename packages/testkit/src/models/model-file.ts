/**
 * @file Recorded models: weights, inputs, outputs, gradients and losses that PyTorch had.
 *
 * Two forms: PyTorch's harvest as JSON beside a safetensors file, and one packed blob (u32 JSON length,
 * JSON, bytes of all tensors) that compresses well: floats are stored as four planes of bytes, and
 * gradients are rounded to 12 bits of mantissa (relative error 2⁻¹³), a tenth of what is tolerated.
 */
import { TesseraError } from '@tessera/shared';
import { type DType, type Tensor, fromBytes, parseSafetensors } from '@tessera/tensor';

/** What is recorded of a model besides tensors. */
export interface ModelRecord {
  readonly desc: string;
  /** Absent where only training is recorded. */
  readonly mode?: 'train' | 'eval';
  readonly loss?: number;
  readonly grad_norm?: Readonly<Record<string, number>>;
  /** Of one optimizer step after the other. */
  readonly losses?: readonly number[];
}

/** A decoded file. */
export interface ModelFile {
  readonly torch: string;
  readonly models: Readonly<Record<string, ModelRecord>>;
  /** Tensors by `<model>/state/<name>`, `<model>/input0`, `<model>/output`, `<model>/grad/<name>`. */
  readonly tensors: Readonly<Record<string, Tensor>>;
}

interface Listing {
  readonly torch: string;
  readonly models: Record<string, ModelRecord>;
}

interface PackedListing extends Listing {
  readonly layout: readonly [name: string, dtype: DType, sizes: readonly number[]][];
}

const GRADIENT_BITS = 12;

/** Reads PyTorch's harvest. @throws safetensors-invalid */
export function parseModels(json: string, safetensors: Uint8Array): ModelFile {
  const { torch, models }: Listing = JSON.parse(json);
  return { torch, models, tensors: parseSafetensors(safetensors) };
}

/** Bytes of one plane after the other: first bytes of all items, second bytes, … */
function toPlanes(bytes: Uint8Array, itemBytes: number): Uint8Array {
  const count = bytes.length / itemBytes;
  return bytes.map((_, i) => bytes[(i % count) * itemBytes + Math.floor(i / count)]!);
}

function fromPlanes(planes: Uint8Array, itemBytes: number): Uint8Array {
  const count = planes.length / itemBytes;
  return planes.map((_, i) => planes[(i % itemBytes) * count + Math.floor(i / itemBytes)]!);
}

/** Rounds float32 values to fewer bits of mantissa. */
function rounded(bytes: Uint8Array): Uint8Array {
  const words = new Uint32Array(bytes.slice().buffer);
  const dropped = 23 - GRADIENT_BITS;
  const half = 2 ** (dropped - 1);
  const round = (word: number): number => ((word + half) >>> dropped) << dropped;
  return new Uint8Array(words.map(round).buffer);
}

function bytesOf(name: string, tensor: Tensor): Uint8Array {
  const values = tensor.contiguous().toTypedArray();
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return name.includes('/grad/') && tensor.dtype === 'float32' ? rounded(bytes) : bytes;
}

/** The packed form of a file, before compression. */
export function packModels({ torch, models, tensors }: ModelFile): Uint8Array {
  const slim = Object.fromEntries(
    Object.entries(models).map(([name, { desc, mode, loss, grad_norm, losses }]) => [
      name,
      { desc, mode, loss, grad_norm, losses },
    ]),
  );
  const layout = Object.entries(tensors).map(([name, tensor]): PackedListing['layout'][number] => [
    name,
    tensor.dtype,
    tensor.sizes,
  ]);
  const json = new TextEncoder().encode(JSON.stringify({ torch, models: slim, layout }));
  const parts = Object.entries(tensors).map(([name, tensor]) => {
    const bytes = bytesOf(name, tensor);
    return toPlanes(bytes, Math.max(1, bytes.length / Math.max(1, tensor.numel)));
  });
  const size = new Uint8Array(4);
  new DataView(size.buffer).setUint32(0, json.length, true);
  const all = [size, json, ...parts];
  const packed = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of all) {
    packed.set(part, at);
    at += part.length;
  }
  return packed;
}

const ITEM_BYTES: Partial<Record<DType, number>> = { float32: 4, int64: 8, uint8: 1 };

/** Reads the packed form, decompressed. @throws invalid-argument if it is none */
export function unpackModels(packed: Uint8Array): ModelFile {
  const jsonBytes = new DataView(packed.buffer, packed.byteOffset).getUint32(0, true);
  const { torch, models, layout }: PackedListing = JSON.parse(
    new TextDecoder().decode(packed.subarray(4, 4 + jsonBytes)),
  );
  const tensors: Record<string, Tensor> = {};
  let at = 4 + jsonBytes;
  for (const [name, dtype, sizes] of layout) {
    const itemBytes = ITEM_BYTES[dtype];
    if (itemBytes === undefined)
      throw new TesseraError('invalid-argument', `${name}: packed models hold no ${dtype}`, {
        hints: ['Pack float32, int64 and uint8 tensors.'],
      });
    const length = sizes.reduce((product, size) => product * size, itemBytes);
    const bytes = fromPlanes(packed.subarray(at, at + length), itemBytes);
    tensors[name] = fromBytes(bytes, sizes, dtype);
    at += length;
  }
  return { torch, models, tensors };
}
