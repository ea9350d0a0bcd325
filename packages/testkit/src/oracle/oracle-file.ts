/**
 * @file Oracle files: calls that PyTorch made, with their arguments, results and gradients.
 *
 * Two forms hold the same: PyTorch's harvest as JSON beside a safetensors file, and one packed blob
 * (u32 JSON length, JSON, tensor bytes) that compresses well. No file system here: callers bring bytes.
 */
import { type DeviceType, type DType } from '@tessera/tensor';

/** A tensor of a case; data is row-major whatever the stride. */
export interface OracleTensor {
  /** Name in the safetensors file, or byte offset in a packed one. */
  readonly tensor: string | number;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Strides that the call saw; row-major if absent. */
  readonly stride?: readonly number[];
}

/** An argument or result: tensors, plain values, lists, and one-key objects for what JSON lacks. */
export type OracleValue =
  | null
  | number
  | boolean
  | string
  | OracleTensor
  | { readonly float: string }
  | { readonly dtype: DType }
  | { readonly device: DeviceType }
  | { readonly layout: string }
  | { readonly memory_format: string }
  | readonly OracleValue[];

/** One recorded call. */
export interface OracleCase {
  readonly op: string;
  readonly schema: string;
  readonly args: Readonly<Record<string, OracleValue>>;
  readonly out: readonly OracleValue[];
  readonly grad_out?: readonly (OracleTensor | null)[];
  readonly grad_in?: readonly {
    readonly arg: string;
    readonly index: number | null;
    readonly grad: OracleTensor | null;
  }[];
  readonly args_after?: Readonly<Record<string, OracleValue>>;
}

/** A decoded file. */
export interface OracleFile {
  readonly torch: string;
  readonly cases: readonly OracleCase[];
  /** Raw bytes of a tensor of the file. */
  bytes(tensor: OracleTensor): Uint8Array;
}

interface Listing {
  readonly torch: string;
  readonly cases: readonly OracleCase[];
}

const ITEM_BYTES: Readonly<Record<DType, number>> = {
  float64: 8,
  float32: 4,
  float16: 2,
  bfloat16: 2,
  int64: 8,
  int32: 4,
  int16: 2,
  int8: 1,
  uint8: 1,
  bool: 1,
};

/**
 * JSON.parse reads `2.0` as `2`, but whether PyTorch saw a float decides result types: whole numbers
 * written as floats become `{"float": "2.0"}`.
 */
function keepFloats(json: string): string {
  return json.replace(/"(?:[^"\\]|\\.)*"|-?\d+\.0+(?![\deE])/g, (token) =>
    token.startsWith('"') ? token : `{"float":"${token}"}`,
  );
}

/** Reads PyTorch's harvest: the JSON text and the bytes of the safetensors file beside it. */
export function parseOracle(json: string, safetensors: Uint8Array): OracleFile {
  const { torch, cases }: Listing = JSON.parse(keepFloats(json));
  const view = new DataView(safetensors.buffer, safetensors.byteOffset, safetensors.byteLength);
  const headerBytes = Number(view.getBigUint64(0, true));
  const header: Record<string, { data_offsets: [number, number] }> = JSON.parse(
    new TextDecoder().decode(safetensors.subarray(8, 8 + headerBytes)),
  );
  return {
    torch,
    cases,
    bytes: ({ tensor }) => {
      const entry = header[tensor];
      if (entry === undefined) throw new Error(`The oracle file has no tensor ${tensor}.`);
      const [from, to] = entry.data_offsets;
      return safetensors.subarray(8 + headerBytes + from, 8 + headerBytes + to);
    },
  };
}

/** Reads a packed file (see `packOracle`). */
export function unpackOracle(data: Uint8Array): OracleFile {
  const length = new DataView(data.buffer, data.byteOffset, data.byteLength).getUint32(0, true);
  const { torch, cases }: Listing = JSON.parse(
    new TextDecoder().decode(data.subarray(4, 4 + length)),
  );
  return {
    torch,
    cases,
    bytes: ({ tensor, shape, dtype }) => {
      const start = 4 + length + Number(tensor);
      return data.subarray(start, start + shape.reduce((a, b) => a * b, 1) * ITEM_BYTES[dtype]);
    },
  };
}

/** One blob with everything that the cases refer to; equal tensors are stored once. */
export function packOracle(file: OracleFile): Uint8Array {
  const parts: Uint8Array[] = [];
  const known = new Map<string, number>();
  let at = 0;
  const place = (reference: OracleTensor): OracleTensor => {
    const bytes = file.bytes(reference);
    const key = `${reference.dtype}:${Array.from(bytes).join()}`;
    let offset = known.get(key);
    if (offset === undefined) {
      known.set(key, (offset = at));
      parts.push(bytes);
      at += bytes.length;
    }
    return { ...reference, tensor: offset };
  };
  const walk = (value: unknown): unknown => {
    if (isOracleTensor(value)) return place(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  const json = new TextEncoder().encode(
    JSON.stringify({ torch: file.torch, cases: walk(file.cases) }),
  );
  const out = new Uint8Array(4 + json.length + at);
  new DataView(out.buffer).setUint32(0, json.length, true);
  out.set(json, 4);
  let position = 4 + json.length;
  for (const part of parts) {
    out.set(part, position);
    position += part.length;
  }
  return out;
}

/** Whether a value is a tensor reference. */
export function isOracleTensor(value: unknown): value is OracleTensor {
  return (
    typeof value === 'object' &&
    value !== null &&
    'tensor' in value &&
    'shape' in value &&
    'dtype' in value
  );
}

/** Schema name with overload, as `findOp` takes it: `aten::add.Tensor`. */
export function qualifiedName(entry: OracleCase): string {
  return entry.schema.slice(0, entry.schema.indexOf('('));
}
