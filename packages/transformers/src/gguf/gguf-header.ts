/**
 * @file The header of a GGUF file: what it says of the model, and where its tensors are.
 *
 * The reader takes bytes as they come and believes none of them: counts, lengths and offsets are checked against what
 * is left of the file, and memory is taken for what has arrived. (`@huggingface/gguf` reads the same, and tests compare
 * with it; but bundles for a page do not build with it, and it needs a source that can be asked for ranges.)
 *
 * @see https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
import { TesseraError } from '@tessera/shared';
import type { BlockTensor, ByteFile, Cursor } from '@tessera/tensor/internal';
import { GGUF_TYPES, OTHER_TYPES } from './block-formats.js';
import { invalidGguf } from './gguf-invalid.js';

/** A value of a header. Whole numbers of 64 bits are numbers where these hold them. */
export type GgufValue = number | bigint | boolean | string | readonly GgufValue[];

/** A tensor of a file. */
export interface GgufTensor extends BlockTensor {
  /** The name that ggml gives the element type. */
  readonly type: string;
}

/** See the file header. */
export interface GgufHeader {
  readonly metadata: ReadonlyMap<string, GgufValue>;
  /** In the order of their bytes. */
  readonly tensors: readonly GgufTensor[];
}

const MAGIC = 'GGUF';
const MOST_DIMS = 4;
/** Longest text: a vocabulary's longest token, or a chat template, are far from it. */
const LONGEST_TEXT = 2 ** 24;
const STRING = 8;
const ARRAY = 9;
const DEEPEST = 4;

/** Reads the scalar of each type of values: bytes, and what they mean. */
const SCALARS: ReadonlyMap<number, readonly [number, (view: DataView) => GgufValue]> = new Map([
  [0, [1, (v) => v.getUint8(0)]],
  [1, [1, (v) => v.getInt8(0)]],
  [2, [2, (v) => v.getUint16(0, true)]],
  [3, [2, (v) => v.getInt16(0, true)]],
  [4, [4, (v) => v.getUint32(0, true)]],
  [5, [4, (v) => v.getInt32(0, true)]],
  [6, [4, (v) => v.getFloat32(0, true)]],
  [7, [1, (v) => v.getUint8(0) !== 0]],
  [10, [8, (v) => numberOr(v.getBigUint64(0, true))]],
  [11, [8, (v) => numberOr(v.getBigInt64(0, true))]],
  [12, [8, (v) => v.getFloat64(0, true)]],
]);

function numberOr(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

class HeaderReader {
  private readonly text = new TextDecoder();

  constructor(
    private readonly cursor: Cursor,
    private readonly size: number | undefined,
  ) {}

  /** Bytes of the file behind this place, as far as is known. */
  private get left(): number {
    return this.size === undefined ? Infinity : this.size - this.cursor.position;
  }

  async bytes(count: number): Promise<Uint8Array> {
    return this.cursor.now(count) ?? this.cursor.bytes(count);
  }

  private async view(count: number): Promise<DataView> {
    const { buffer, byteOffset } = await this.bytes(count);
    return new DataView(buffer, byteOffset, count);
  }

  async u32(): Promise<number> {
    return (await this.view(4)).getUint32(0, true);
  }

  /** A count of things of at least `bytes` each. */
  async count(what: string, bytes: number): Promise<number> {
    const value = (await this.view(8)).getBigUint64(0, true);
    if (Number(value) * bytes > this.left || value > Number.MAX_SAFE_INTEGER)
      invalidGguf(`it says that there are ${value} ${what}, and is too short for them`);
    return Number(value);
  }

  async string(what: string): Promise<string> {
    const length = await this.count(`bytes of ${what}`, 1);
    if (length > LONGEST_TEXT) invalidGguf(`${what} has ${length} bytes`);
    return this.text.decode(await this.bytes(length));
  }

  async value(type: number, name: string, depth = 0): Promise<GgufValue> {
    const scalar = SCALARS.get(type);
    if (scalar !== undefined) return scalar[1](await this.view(scalar[0]));
    if (type === STRING) return this.string(`'${name}'`);
    if (type !== ARRAY || depth === DEEPEST)
      invalidGguf(`'${name}' is of type ${type}`, { field: name });
    const inner = await this.u32();
    const smallest = SCALARS.get(inner)?.[0] ?? 8;
    const count = await this.count(`values in '${name}'`, smallest);
    const values: GgufValue[] = [];
    for (let i = 0; i < count; i++) values.push(await this.value(inner, name, depth + 1));
    return values;
  }
}

/** What a file says of a tensor. */
async function readTensor(reader: HeaderReader): Promise<Omit<GgufTensor, 'end'>> {
  const name = await reader.string('the name of a tensor');
  const dims = await reader.u32();
  if (dims > MOST_DIMS) invalidGguf(`'${name}' has ${dims} dimensions`, { tensor: name });
  const sizes: number[] = [];
  // The file has the dimension of neighbouring elements first.
  for (let i = 0; i < dims; i++) sizes.unshift(await reader.count(`elements of '${name}'`, 0));
  const code = await reader.u32();
  const type = GGUF_TYPES.get(code);
  if (type === undefined) {
    const other = OTHER_TYPES.get(code);
    const named = other === undefined ? `${code}` : `${other} (${code})`;
    throw new TesseraError('model-unsupported', `'${name}' is of ggml's type ${named}.`, {
      context: { tensor: name, type: code },
      hints: [`Known are: ${[...GGUF_TYPES.values()].map((t) => t.name).join(', ')}.`],
    });
  }
  const begin = await reader.count(`bytes before '${name}'`, 0);
  return { name, sizes, begin, type: type.name, format: type.format };
}

/** Where the tensors lie in the file, in this order. @throws gguf-invalid */
function placed(
  tensors: readonly Omit<GgufTensor, 'end'>[],
  start: number,
  alignment: number,
  size: number | undefined,
): GgufTensor[] {
  const names = new Set<string>();
  const result = tensors.map((tensor): GgufTensor => {
    const { name, sizes, format, type } = tensor;
    const context = { tensor: name };
    if (names.has(name)) invalidGguf(`there are two tensors '${name}'`, context);
    names.add(name);
    const numel = sizes.reduce((product, extent) => product * extent, 1);
    if (numel === 0 || (sizes.at(-1) ?? 1) % format.elements !== 0)
      invalidGguf(`'${name}' has sizes [${sizes.join(', ')}], which ${type} cannot have`, context);
    if (tensor.begin % alignment !== 0)
      invalidGguf(`'${name}' begins at ${tensor.begin}, no multiple of ${alignment}`, context);
    const begin = start + tensor.begin;
    const end = begin + (numel / format.elements) * format.bytes;
    if (end > (size ?? Number.MAX_SAFE_INTEGER))
      invalidGguf(`'${name}' ends at byte ${end}, behind the file's end`, context);
    return { ...tensor, begin, end };
  });
  result.sort((a, b) => a.begin - b.begin);
  for (const [i, { name, begin }] of result.entries())
    if (i > 0 && begin < result[i - 1]!.end)
      invalidGguf(`'${name}' lies over '${result[i - 1]!.name}'`, { tensor: name });
  return result;
}

/** Reads the header at the start of a file. @throws gguf-invalid, model-unsupported */
export async function readGgufHeader(cursor: Cursor, { size }: ByteFile): Promise<GgufHeader> {
  const reader = new HeaderReader(cursor, size);
  const enough = size === undefined || size >= MAGIC.length;
  const magic = enough ? new TextDecoder().decode(await reader.bytes(MAGIC.length)) : '';
  if (magic !== MAGIC) invalidGguf(`it does not begin with "${MAGIC}"`);
  const version = await reader.u32();
  if (version !== 2 && version !== 3)
    invalidGguf(
      version % 65_536 === 0 && version > 0
        ? 'its bytes are in big-endian order'
        : `its version is ${version}, not 2 or 3`,
    );
  // A name of no bytes, no dimension, a type, an offset; and a name, a type, a byte.
  const tensorCount = await reader.count('tensors', 24);
  const valueCount = await reader.count('values', 13);
  const metadata = new Map<string, GgufValue>();
  for (let i = 0; i < valueCount; i++) {
    const name = await reader.string('the name of a value');
    if (metadata.has(name)) invalidGguf(`there are two values '${name}'`);
    metadata.set(name, await reader.value(await reader.u32(), name));
  }
  const tensors: Omit<GgufTensor, 'end'>[] = [];
  for (let i = 0; i < tensorCount; i++) tensors.push(await readTensor(reader));
  const alignment = metadata.get('general.alignment') ?? 32;
  if (typeof alignment !== 'number' || !/^10*$/.test(alignment.toString(2)))
    invalidGguf(`'general.alignment' is ${String(alignment)}, no power of two`);
  const start = Math.ceil(cursor.position / alignment) * alignment;
  return { metadata, tensors: placed(tensors, start, alignment, size) };
}
