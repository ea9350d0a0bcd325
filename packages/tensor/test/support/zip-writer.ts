/**
 * @file Zip archives and pickles made by hand: well-formed as PyTorch writes them, or wrong in one place.
 */

/** A record to write, and what its entry in the directory claims instead of the truth. */
export interface RecordToWrite {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly method?: number;
  readonly flags?: number;
  readonly crc?: number;
  readonly claimedSize?: number;
  readonly claimedPlace?: number;
  /** Writes the sizes into a 64-bit extra field. */
  readonly wide?: boolean;
}

/** What a whole archive claims. */
export interface ArchiveClaims {
  readonly count?: number;
  readonly directoryBegin?: number;
  readonly comment?: string;
}

function le(...fields: readonly [bytes: number, value: number][]): number[] {
  return fields.flatMap(([bytes, value]) =>
    Array.from({ length: bytes }, (_, i) => Math.floor(value / 256 ** i) % 256),
  );
}

/** A zip archive of records that are stored as they are, with data descriptors. */
export function writeZip(
  records: readonly RecordToWrite[],
  claims: ArchiveClaims = {},
): Uint8Array {
  const parts: Uint8Array[] = [];
  let length = 0;
  const write = (bytes: Uint8Array): void => {
    parts.push(bytes);
    length += bytes.byteLength;
  };
  const directory: number[] = [];
  for (const record of records) {
    const { bytes, method = 0, flags = 8, crc = 0, wide = false } = record;
    const name = [...new TextEncoder().encode(record.name)];
    const place = record.claimedPlace ?? length;
    const size = record.claimedSize ?? bytes.length;
    const start = le(
      [4, 0x04034b50],
      [2, 20],
      [2, flags],
      [2, method],
      [4, 0],
      [4, 0],
      [4, 0],
      [4, 0],
    );
    write(Uint8Array.of(...start, ...le([2, name.length], [2, 3]), ...name, 1, 2, 3));
    write(bytes);
    const narrow = wide ? 0xffffffff : size;
    const extra = wide ? le([2, 1], [2, 24], [8, size], [8, size], [8, place]) : [];
    directory.push(
      ...le([4, 0x02014b50], [2, 20], [2, 20], [2, flags], [2, method], [4, 0], [4, crc]),
    );
    directory.push(
      ...le([4, narrow], [4, narrow], [2, name.length], [2, extra.length], [2, 0], [2, 0]),
    );
    directory.push(...le([2, 0], [4, 0], [4, wide ? 0xffffffff : place]), ...name, ...extra);
  }
  const { count = records.length, directoryBegin = length, comment = '' } = claims;
  const end = le([4, 0x06054b50], [4, 0], [2, count], [2, count], [4, directory.length]);
  const text = new TextEncoder().encode(comment);
  write(Uint8Array.of(...directory, ...end, ...le([4, directoryBegin], [2, text.length]), ...text));
  return new Uint8Array(Buffer.concat(parts));
}

const ascii = (text: string): number[] => [...new TextEncoder().encode(text)];

/** Parts of pickles, by what they push. */
export const pickle = {
  text: (value: string): number[] => [0x58, ...le([4, ascii(value).length]), ...ascii(value)],
  int: (value: number): number[] => [0x8a, 8, ...le([8, value])],
  global: (module: string, name: string): number[] => ascii(`c${module}\n${name}\n`),
  tuple: (...items: number[][]): number[] => [0x28, ...items.flat(), 0x74],
  call: (callee: number[], ...args: number[][]): number[] => [
    ...callee,
    ...pickle.tuple(...args),
    0x52,
  ],
  dict: (...entries: [number[], number[]][]): number[] => [0x7d, 0x28, ...entries.flat(2), 0x75],
  persistent: (id: number[]): number[] => [...id, 0x51],
  whole: (value: number[]): Uint8Array => Uint8Array.of(0x80, 2, ...value, 0x2e),
  /** A storage of a type, as torch.save refers to it. */
  storage: (type: number[], key: string, count: number): number[] =>
    pickle.persistent(
      pickle.tuple(
        pickle.text('storage'),
        type,
        pickle.text(key),
        pickle.text('cpu'),
        pickle.int(count),
      ),
    ),
  /** A tensor over a storage. */
  tensor: (storage: number[], offset: number, sizes: number[], strides: number[]): number[] =>
    pickle.call(
      pickle.global('torch._utils', '_rebuild_tensor_v2'),
      storage,
      pickle.int(offset),
      pickle.tuple(...sizes.map(pickle.int)),
      pickle.tuple(...strides.map(pickle.int)),
      [0x89],
      [0x4e],
    ),
};

/** A checkpoint of a pickle and storages. */
export function torchFile(
  value: number[],
  storages: Readonly<Record<string, Uint8Array>> = {},
): Uint8Array {
  return writeZip([
    { name: 'a/data.pkl', bytes: pickle.whole(value) },
    ...Object.entries(storages).map(([key, bytes]) => ({ name: `a/data/${key}`, bytes })),
  ]);
}
