/**
 * @file Recorded calls of operators at other sizes: the same operator, types, ranks and layouts, with longer dimensions.
 *
 * A dimension of the call, or all of them, are made longer wherever they occur. Elements are repeated, so indices
 * remain indices. Whether the call exists at other sizes is found by running it.
 */
import { type DeviceType, type OpOverload, Storage, type Tensor, itemSize } from '@tessera/tensor';
import { makeTensor, readNumbers, toDevice, writeNumbers } from '@tessera/tensor/internal';
import { type OracleCase, type OracleFile, oracleArguments, oracleTensor } from '../src/index.js';
import { type OracleTensor, isOracleTensor } from '../src/oracle/oracle-file.js';
import { tensorsIn } from '../src/oracle/oracle-arguments.js';

/** Arguments of a call that is `longer` by so many elements. */
export type SizedCall = (longer: number) => unknown[];

/** Dimensions from the innermost, if elements lie side by side in some order; null for other layouts. */
function memoryOrder({ shape, stride }: OracleTensor): number[] | null {
  const dims = shape.map((_, d) => d);
  if (stride === undefined) return dims.reverse();
  const order = dims.sort((a, b) => stride[a]! - stride[b]! || b - a);
  let below = 1;
  for (const d of order) {
    if (shape[d] !== 1 && stride[d] !== below) return null;
    below *= shape[d]!;
  }
  return order;
}

function resized(
  file: OracleFile,
  reference: OracleTensor,
  device: DeviceType,
  sizeOf: (size: number) => number,
): Tensor {
  const sizes = reference.shape.map(sizeOf);
  const strides = new Array<number>(sizes.length);
  let numel = 1;
  for (const d of memoryOrder(reference)!) {
    strides[d] = numel;
    numel *= sizes[d]!;
  }
  const { dtype } = reference;
  const recorded = readNumbers(oracleTensor(file, reference));
  const storage = Storage.allocate('cpu', Math.max(numel, 1) * itemSize(dtype));
  const flat = makeTensor(storage, dtype, 'cpu', [numel], [1]);
  const out = makeTensor(storage, dtype, 'cpu', sizes, strides);
  writeNumbers(
    out,
    Array.from({ length: numel }, (_, i) => recorded[i % recorded.length]!),
  );
  return device === 'cpu'
    ? out
    : makeTensor(toDevice(flat, device).storage, dtype, device, sizes, strides);
}

function isInteger(op: OpOverload, name: string): boolean {
  return op.schema.args.find((formal) => formal.name === name)?.type.base === 'int';
}

/** The ways to make a recorded call longer that are worth trying; none where its layouts are not dense. */
export function sizedCalls(
  file: OracleFile,
  op: OpOverload,
  entry: OracleCase,
  device: DeviceType,
): SizedCall[] {
  const tensors = Object.values(entry.args).flatMap(tensorsIn);
  if (tensors.some((t) => memoryOrder(t) === null || t.shape.includes(0))) return [];
  const sizes = [...new Set(tensors.flatMap(({ shape }) => shape))].filter((size) => size > 1);
  const lengthened = (isLonger: (size: number) => boolean, inNumbers: boolean): SizedCall => {
    return (longer) => {
      const sizeOf = (size: number): number => (size > 1 && isLonger(size) ? size + longer : size);
      const number = (value: unknown): unknown => {
        if (Array.isArray(value)) return value.map(number);
        const isSize = tensors.length === 0 || sizes.includes(value as number);
        return isSize ? sizeOf(value as number) : value;
      };
      const args = Object.entries(entry.args).map(([name, value]) => {
        const isSize = inNumbers && isInteger(op, name) && !isOracleTensor(value);
        return [name, isSize && value !== null ? number(value) : value];
      });
      const call = { ...entry, args: Object.fromEntries(args) as OracleCase['args'] };
      return oracleArguments(op, call, (t) => resized(file, t, device, sizeOf), device);
    };
  };
  const all = (): boolean => true;
  return [all, ...sizes.map((size) => (other: number) => other === size)].flatMap((isLonger) => [
    lengthened(isLonger, false),
    lengthened(isLonger, true),
  ]);
}
