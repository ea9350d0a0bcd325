/**
 * @file Reading oracle files: calls that PyTorch made, with their arguments, results and gradients.
 *
 * Written by `scripts/extract-oracle.mjs`: brotli over (u32 JSON length, JSON, tensor bytes).
 */
import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import type { DType } from '../../src/index.js';

/** A tensor of a case; data is row-major whatever the stride. */
export interface OracleTensor {
  readonly tensor: number;
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
  | { readonly device: string }
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
  bytes(tensor: OracleTensor, itemBytes: number): Uint8Array;
}

/** Reads an oracle file. */
export function readOracle(path: URL | string): OracleFile {
  const data = brotliDecompressSync(readFileSync(path));
  const length = data.readUInt32LE(0);
  const { torch, cases } = JSON.parse(data.subarray(4, 4 + length).toString('utf8')) as Pick<
    OracleFile,
    'torch' | 'cases'
  >;
  return {
    torch,
    cases,
    bytes: (tensor, itemBytes) => {
      const start = 4 + length + tensor.tensor;
      return data.subarray(start, start + tensor.shape.reduce((a, b) => a * b, 1) * itemBytes);
    },
  };
}

/** Whether a value is a tensor reference. */
export function isOracleTensor(value: unknown): value is OracleTensor {
  return typeof value === 'object' && value !== null && 'tensor' in value && 'shape' in value;
}
