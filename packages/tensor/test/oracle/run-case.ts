/**
 * @file Running one oracle case against the registry: forward, FakeTensor, gradients, mutated arguments.
 */
import {
  type DType,
  type OpOverload,
  Storage,
  SymScalar,
  type Tensor,
  callOp,
  contiguousStrides,
  fakeFromMeta,
  fromBytes,
  itemSize,
  makeTensor,
  noGrad,
  runBackward,
  storageExtent,
  writeNumbers,
  readNumbers,
  isTensor,
} from './tessera.js';
import { type Tolerance, layoutDifference, valueDifference } from './compare.js';
import type { CaseOptions } from './exceptions.js';
import {
  type OracleCase,
  type OracleFile,
  type OracleTensor,
  type OracleValue,
  isOracleTensor,
} from './oracle-file.js';

const FORMATS: Readonly<Record<string, string>> = {
  preserve_format: 'preserve',
  contiguous_format: 'contiguous',
  channels_last: 'channelsLast',
  channels_last_3d: 'channelsLast3d',
};

/** Makes a tensor of a case, in the layout that PyTorch saw. */
export function makeOracleTensor(file: OracleFile, reference: OracleTensor): Tensor {
  const { dtype, shape, stride } = reference;
  const dense = fromBytes(file.bytes(reference, itemSize(dtype)), shape, dtype);
  if (stride === undefined) return dense;
  const storage = Storage.allocate('cpu', storageExtent(shape, stride) * itemSize(dtype));
  const out = makeTensor(storage, dtype, 'cpu', shape, stride);
  writeNumbers(out, readNumbers(dense));
  return out;
}

function fakeOf(reference: OracleTensor): Tensor {
  return fakeFromMeta({
    sizes: reference.shape,
    strides: reference.stride ?? contiguousStrides(reference.shape),
    dtype: reference.dtype,
    device: 'cpu',
  });
}

function decode(value: OracleValue, make: (reference: OracleTensor) => Tensor): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (isOracleTensor(value)) return make(value);
  if (Array.isArray(value)) return value.map((item) => decode(item as OracleValue, make));
  const object = value as Record<string, string>;
  if ('float' in object)
    return object.float === 'inf' ? Infinity : object.float === '-inf' ? -Infinity : NaN;
  if ('dtype' in object) return object.dtype as DType;
  if ('device' in object) return object.device;
  if ('memory_format' in object) return FORMATS[object.memory_format!];
  return null;
}

/** Positional arguments of a case: defaults filled in, single numbers widened to fixed-length lists. */
export function buildArguments(
  op: OpOverload,
  entry: OracleCase,
  make: (reference: OracleTensor) => Tensor,
): unknown[] {
  return op.schema.args.map((formal) => {
    const given =
      formal.name in entry.args ? decode(entry.args[formal.name]!, make) : formal.default;
    const value =
      formal.type.base === 'MemoryFormat' && (given === 0 || given === 'contiguous_format')
        ? 'contiguous'
        : given;
    const widened =
      formal.type.list && formal.type.length !== null && typeof value === 'number'
        ? Array<number>(formal.type.length).fill(value)
        : value;
    return formal.type.base === 'Tensor' &&
      !formal.type.list &&
      typeof widened === 'number' &&
      isFloatScalar(entry)
      ? new SymScalar(widened, 'float')
      : widened;
  });
}

/** JSON cannot tell 2.0 from 2: where the result is floating but every tensor is not, the number was a float. */
function isFloatScalar(entry: OracleCase): boolean {
  const floating = (value: OracleValue): boolean =>
    isOracleTensor(value) && (value.dtype.startsWith('float') || value.dtype === 'bfloat16');
  return entry.out.some(floating) && !Object.values(entry.args).some(floating);
}

function asList(result: unknown): unknown[] {
  return isTensor(result) || !Array.isArray(result) ? [result] : result;
}

/** Flattens results the way the oracle lists them. */
function outputsOf(entry: OracleCase, result: unknown): unknown[] {
  const list = asList(result);
  return entry.out.length === 1 && Array.isArray(entry.out[0]) ? [list] : list;
}

function isUnspecified(options: CaseOptions, index: number): boolean {
  return (
    options.unspecified === true ||
    (Array.isArray(options.unspecified) && options.unspecified.includes(index))
  );
}

const NO_EXCEPTION: CaseOptions = { reason: '' };

/** Runs a case; returns what differed, one line each. */
export function runCase(
  file: OracleFile,
  op: OpOverload,
  entry: OracleCase,
  exception: CaseOptions = NO_EXCEPTION,
): string[] {
  const options =
    exception.randomIf?.(entry.args) === true ? { ...exception, random: true } : exception;
  const failures: string[] = [];
  const attempt = (what: string, run: () => void): void => {
    try {
      run();
    } catch (error) {
      failures.push(
        `${what}: threw ${error instanceof Error ? (error.message.split('\n')[0] ?? '') + (error.name === 'TesseraError' ? '' : `\n${error.stack}`) : String(error)}`,
      );
    }
  };
  const make = (reference: OracleTensor): Tensor => makeOracleTensor(file, reference);
  const compare = (
    what: string,
    actual: unknown,
    expected: OracleValue,
    index: number,
    values: boolean,
    tolerances?: Tolerances,
  ): void => {
    if (expected === null) return;
    if (Array.isArray(expected)) {
      const list = actual as unknown[];
      if (list.length !== expected.length)
        failures.push(`${what}: ${list.length} tensors, expected ${expected.length}`);
      else
        expected.forEach((item, i) =>
          compare(`${what}[${i}]`, list[i], item as OracleValue, index, values, tolerances),
        );
      return;
    }
    if (!isOracleTensor(expected)) {
      if (actual !== expected)
        failures.push(`${what}: ${String(actual)}, expected ${JSON.stringify(expected)}`);
      return;
    }
    const layout = layoutDifference(actual as Tensor, expected);
    if (layout !== null) failures.push(`${what}: ${layout}`);
    else if (values && options.random !== true && !isUnspecified(options, index)) {
      const difference = valueDifference(
        actual as Tensor,
        make(expected),
        tolerances?.[expected.dtype],
      );
      if (difference !== null) failures.push(`${what}: ${difference}`);
    }
  };

  attempt('forward', () => {
    const args = buildArguments(op, entry, make);
    const outs = outputsOf(
      entry,
      noGrad(() => callOp(op, args)),
    );
    entry.out.forEach((expected, i) =>
      compare(`out ${i}`, outs[i], expected, i, true, options.tolerance),
    );
    for (const [name, expected] of Object.entries(entry.args_after ?? {}))
      compare(`${name} after`, args[op.argIndex.get(name)!], expected, 0, true, options.tolerance);
  });
  if (!dataDependent(op, entry)) {
    attempt('fake', () => {
      const outs = outputsOf(
        entry,
        noGrad(() => callOp(op, buildArguments(op, entry, fakeOf))),
      );
      entry.out.forEach((expected, i) => compare(`fake out ${i}`, outs[i], expected, i, false));
    });
  }
  if (entry.grad_in !== undefined)
    attempt('backward', () => checkGradients(op, entry, make, compare, options));
  return failures;
}

/** Whether the shape of the result depends on values: by tag, or by a bool mask among indices. */
function dataDependent(op: OpOverload, entry: OracleCase): boolean {
  if (op.hasTag('data-dependent')) return true;
  const masks = (value: OracleValue): boolean =>
    isOracleTensor(value) && (value.dtype === 'bool' || value.dtype === 'uint8');
  if (
    entry.args.indices !== undefined &&
    Array.isArray(entry.args.indices) &&
    (entry.args.indices as OracleValue[]).some(masks)
  )
    return true;
  return entry.op === 'aten.one_hot.default' && entry.args.num_classes === undefined;
}

type Tolerances = Partial<Record<DType, Tolerance>>;
type Compare = (
  what: string,
  actual: unknown,
  expected: OracleValue,
  index: number,
  values: boolean,
  tolerances?: Tolerances,
) => void;

function checkGradients(
  op: OpOverload,
  entry: OracleCase,
  make: (reference: OracleTensor) => Tensor,
  compare: Compare,
  options: CaseOptions,
): void {
  const args = buildArguments(op, entry, make);
  const inputs = entry.grad_in!.map(({ arg, index }) => {
    const value = args[op.argIndex.get(arg)!];
    return (index === null ? value : (value as unknown[])[index]) as Tensor;
  });
  inputs.forEach((input) => input.requiresGrad_());
  // A list result counts as one output per element in grad_out.
  const outs = asList(callOp(op, args)).flat() as Tensor[];
  const roots: Tensor[] = [];
  const seeds: Tensor[] = [];
  (entry.grad_out!.flat() as (OracleTensor | null)[]).forEach((seed, i) => {
    if (seed === null || !outs[i]!.requiresGrad) return;
    roots.push(outs[i]!);
    seeds.push(make(seed));
  });
  const grads =
    roots.length === 0
      ? inputs.map(() => null)
      : runBackward(roots, seeds, {
          retainGraph: false,
          createGraph: false,
          inputs,
          accumulate: false,
          allowUnused: true,
        });
  entry.grad_in!.forEach(({ arg, index, grad }, i) => {
    if (grad === null || options.skipGradientOf?.includes(arg) === true) return;
    const name = `gradient of ${arg}${index === null ? '' : `[${index}]`}`;
    if (grads[i] === null || grads[i] === undefined) throw new Error(`${name} is missing`);
    // Layouts of gradients are not part of the contract.
    compare(
      name,
      grads[i]!.contiguous(),
      { ...grad, stride: undefined } as OracleTensor,
      -1,
      true,
      options.gradTolerance ?? options.tolerance,
    );
  });
}
