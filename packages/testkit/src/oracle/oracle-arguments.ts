/**
 * @file Arguments of an oracle case: tensors in the layout that PyTorch saw, and everything else by the schema.
 */
import { SymScalar } from '@tessera/shared';
import { type DeviceType, type OpOverload, type Tensor, fromBytes, zeros } from '@tessera/tensor';
import {
  contiguousStrides,
  fakeFromMeta,
  makeTensor,
  readNumbers,
  storageExtent,
  toDevice,
  writeNumbers,
} from '@tessera/tensor/internal';
import {
  type OracleCase,
  type OracleFile,
  type OracleTensor,
  type OracleValue,
  isOracleTensor,
} from './oracle-file.js';

/** How the tensors of a case are made: real, fake, on a device. */
export type MakeTensor = (reference: OracleTensor) => Tensor;

const FORMATS: Readonly<Record<string, string>> = {
  preserve_format: 'preserve',
  contiguous_format: 'contiguous',
  channels_last: 'channelsLast',
  channels_last_3d: 'channelsLast3d',
};

/** A CPU tensor of a case. */
export function oracleTensor(file: OracleFile, reference: OracleTensor): Tensor {
  const { dtype, shape, stride } = reference;
  const dense = fromBytes(file.bytes(reference), shape, dtype);
  if (stride === undefined) return dense;
  // What lies between the elements is copied to devices too, which refuse some numbers.
  const { storage } = zeros([storageExtent(shape, stride)], { dtype });
  const out = makeTensor(storage, dtype, 'cpu', shape, stride);
  writeNumbers(out, readNumbers(dense));
  return out;
}

/** A tensor of a case on another device, in the same layout: a copy would make an expanded one dense. */
export function oracleTensorOn(
  file: OracleFile,
  reference: OracleTensor,
  device: DeviceType,
): Tensor {
  const source = oracleTensor(file, reference);
  const { sizes, strides, dtype } = source;
  const whole = makeTensor(source.storage, dtype, 'cpu', [storageExtent(sizes, strides)], [1]);
  return makeTensor(toDevice(whole, device).storage, dtype, device, sizes, strides);
}

/** A FakeTensor of a case. */
export function fakeOracleTensor({ shape, stride, dtype }: OracleTensor): Tensor {
  return fakeFromMeta({
    sizes: shape,
    strides: stride ?? contiguousStrides(shape),
    dtype,
    device: 'cpu',
  });
}

/** Every tensor of a value, in order. */
export function tensorsIn(value: unknown): OracleTensor[] {
  if (isOracleTensor(value)) return [value];
  return Array.isArray(value) ? value.flatMap(tensorsIn) : [];
}

/**
 * Positional arguments of a case: defaults filled in, single numbers widened to fixed-length lists, results
 * wanted on `device` instead of the recorded one.
 */
export function oracleArguments(
  op: OpOverload,
  entry: OracleCase,
  make: MakeTensor,
  device?: DeviceType,
): unknown[] {
  const floats = readsFloats(entry);
  return op.schema.args.map((formal) => {
    const { base, list, length } = formal.type;
    // A factory makes its result on the device that is checked.
    if (base === 'Device' && device !== undefined) return device;
    const given = entry.args[formal.name];
    const value = given === undefined ? formal.default : decode(given, make);
    if (base === 'MemoryFormat' && (value === 0 || value === 'contiguous_format'))
      return 'contiguous';
    if (list)
      return length !== null && typeof value === 'number'
        ? Array<number>(length).fill(value)
        : value;
    const scalar = base === 'Tensor' || base === 'Scalar';
    return scalar && typeof value === 'number' && Number.isInteger(value) && floats(given)
      ? new SymScalar(value, 'float')
      : value;
  });
}

/**
 * Whether a whole number was a float to PyTorch. It matters only beside tensors that are all integers; a
 * file that lost the difference shows it in the result.
 */
function readsFloats(entry: OracleCase): (value: OracleValue | undefined) => boolean {
  const floating = ({ dtype }: OracleTensor): boolean =>
    dtype.startsWith('float') || dtype === 'bfloat16';
  if (Object.values(entry.args).flatMap(tensorsIn).some(floating)) return () => false;
  // A named dtype decides by itself.
  if (entry.args['dtype'] !== undefined && entry.args['dtype'] !== null) return () => false;
  const floatResult = entry.out.flatMap(tensorsIn).some(floating);
  return (value) =>
    floatResult || (typeof value === 'object' && value !== null && 'float' in value);
}

function decode(value: OracleValue, make: MakeTensor): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (isOracleTensor(value)) return make(value);
  if (Array.isArray(value)) return value.map((item) => decode(item, make));
  if ('float' in value) return Number(value.float!.replace('inf', 'Infinity'));
  if ('dtype' in value) return value.dtype;
  if ('device' in value) return value.device;
  if ('memory_format' in value) return FORMATS[value.memory_format!];
  return null;
}

/** Whether the shape of the result depends on values: by tag, or by a bool mask among indices. */
export function isDataDependent(op: OpOverload, entry: OracleCase): boolean {
  if (op.hasTag('data-dependent')) return true;
  const masks = tensorsIn(entry.args['indices']).some(
    ({ dtype }) => dtype === 'bool' || dtype === 'uint8',
  );
  return masks || (entry.op === 'aten.one_hot.default' && entry.args['num_classes'] === undefined);
}
