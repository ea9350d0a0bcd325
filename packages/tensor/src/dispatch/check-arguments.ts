/**
 * @file Checks of an op's arguments against its schema, before anything runs.
 */
import { isSymScalar, TesseraError } from '@tessera/shared';
import { DTYPES, isDType } from '../dtype.js';
import type { OpOverload } from '../op/op-overload.js';
import type { SchemaArgument } from '../op/schema.js';
import { isTensor } from '../tensor-factory.js';

/** @throws schema-arguments, device-mismatch */
export function checkArguments(op: OpOverload, args: readonly unknown[]): void {
  const formals = op.schema.args;
  if (args.length !== formals.length) {
    throw new TesseraError(
      'schema-arguments',
      `${op.qualifiedName} takes ${formals.length} arguments (${formals.map((f) => f.name).join(', ')}), got ${args.length}.`,
      {
        hints: [`Schema: ${op.schema.text}`],
      },
    );
  }
  const wrapsNumbers = op.hasTag('pointwise');
  let device: string | null = null;
  let wrapped: number | null = null;
  for (let i = 0; i < formals.length; i++) {
    const arg = args[i];
    const formal = formals[i]!;
    const isOne = formal.type.base === 'Tensor' && !formal.type.list;
    if (!kindMatches(formal, arg)) {
      if (!wrapsNumbers || !isOne || !isNumeric(arg)) mismatch(op, formal, arg);
      wrapped ??= i;
    }
    if (isTensor(arg)) {
      if (device === null) device = arg.device;
      else if (arg.device !== device) deviceMismatch(op, device, arg.device);
    } else if (formal.type.base === 'Tensor' && Array.isArray(arg)) {
      for (const item of arg) {
        if (!isTensor(item)) continue;
        if (device === null) device = item.device;
        else if (item.device !== device) deviceMismatch(op, device, item.device);
      }
    }
  }
  // A number is one beside a tensor.
  if (device === null && wrapped !== null) mismatch(op, formals[wrapped]!, args[wrapped]);
}

/**
 * Checks the arguments of a composite op, which may be left out where there is a default, before its
 * decomposition reads them. A number may stand for a tensor or a list of fixed length: what it decomposes into decides.
 *
 * @throws schema-arguments
 */
export function checkComposite(op: OpOverload, args: readonly unknown[]): void {
  const formals = op.schema.args;
  for (let i = 0; i < formals.length; i++) {
    const arg = args[i];
    const formal = formals[i]!;
    const { base, list, length, optional } = formal.type;
    if (arg === null || arg === undefined) {
      if (!optional && (arg === null || !formal.hasDefault)) mismatch(op, formal, arg);
    } else if (isNumeric(arg) && (base === 'Tensor' ? !list : length !== null)) {
      if (base === 'int' && !isWhole(arg)) mismatch(op, formal, arg);
    } else if (!kindMatches(formal, arg)) mismatch(op, formal, arg);
  }
}

/** Says which number a decomposition took for a tensor or a list, when it failed on it. @throws schema-arguments */
export function refuseNumbers(op: OpOverload, args: readonly unknown[]): void {
  op.schema.args.forEach((formal, i) => {
    const { base, list } = formal.type;
    if ((base === 'Tensor' || list) && isNumeric(args[i])) mismatch(op, formal, args[i]);
  });
}

/** Refuses what is no operator with a list of arguments. @throws schema-arguments */
export function refuseCall(op: unknown, args: unknown): never {
  const isOp = typeof op === 'object' && op !== null && 'schema' in op;
  throw new TesseraError(
    'schema-arguments',
    isOp
      ? `callOp: the arguments must be an array, not ${describe(args)}.`
      : `callOp: the operator must be what getOp returns, not ${describe(op)}.`,
    { hints: ["Write callOp(getOp('aten::mm'), [x, y])."] },
  );
}

function isNumeric(arg: unknown): boolean {
  return typeof arg === 'number' || typeof arg === 'boolean' || isSymScalar(arg);
}

/** No fraction, NaN or truth value. Infinity stands for an open end. */
function isWhole(arg: unknown): boolean {
  return (
    typeof arg !== 'boolean' &&
    (typeof arg !== 'number' || Number.isInteger(arg) || Math.abs(arg) === Infinity)
  );
}

function kindMatches(formal: SchemaArgument, arg: unknown): boolean {
  const { base, list, optional, elementOptional } = formal.type;
  if (isTensor(arg)) return !list && (base === 'Tensor' || base === 'Scalar');
  if (base === 'Tensor' && !list) return arg === null && optional;
  if (arg === null || arg === undefined) return optional;
  if (list) {
    if (!Array.isArray(arg)) return false;
    for (const item of arg) {
      if (base === 'Tensor' ? !isTensor(item) && !(elementOptional && item === null) : isText(item))
        return false;
      if (base === 'int' && !isWhole(item)) return false;
    }
    return true;
  }
  switch (base) {
    case 'Scalar':
    case 'float':
      return isNumeric(arg);
    case 'int':
      return isNumeric(arg) && isWhole(arg);
    case 'bool':
      return typeof arg === 'boolean';
    case 'str':
      return typeof arg === 'string';
    case 'ScalarType':
      // Schemas write a default as PyTorch's number of the dtype.
      return arg === formal.default || (typeof arg === 'string' && isDType(arg));
    default:
      return true;
  }
}

function isText(item: unknown): boolean {
  return typeof item === 'string' || item === null || item === undefined;
}

/** What a value is called in an error. */
export function describe(value: unknown): string {
  if (isTensor(value)) return `a ${value.dtype} tensor of shape [${value.sizes.join(', ')}]`;
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) {
    // A tensor would print all that it holds.
    if (value.flat(Infinity).some(isTensor))
      return value.some(isTensor) ? 'an array' : 'an array of arrays';
    const quoted = value.map((item) => (typeof item === 'string' ? `'${item}'` : String(item)));
    return `[${quoted.join(', ')}]`;
  }
  if (isPlain(value)) return `an object {${Object.keys(value).join(', ')}}`;
  return `${typeof value} ${String(value)}`;
}

function isPlain(value: unknown): value is object {
  return value?.constructor === Object;
}

function mismatch(op: OpOverload, formal: SchemaArgument, arg: unknown): never {
  throw new TesseraError(
    'schema-arguments',
    `${op.qualifiedName}: argument '${formal.name}' must be ${formal.type.base}${formal.type.list ? '[]' : ''}${formal.type.optional ? ' or null' : ''}, not ${describe(arg)}.`,
    {
      context: { op: op.qualifiedName, argument: formal.name },
      hints: [advice(op.schema.args, formal, arg), `Schema: ${op.schema.text}`],
    },
  );
}

/** What to pass. */
function advice(
  formals: readonly SchemaArgument[],
  formal: SchemaArgument,
  given: unknown,
): string {
  const { base, list } = formal.type;
  if (isPlain(given) && base !== 'Tensor') {
    // PyTorch's dim=1, taken for an option: all up to the last that is named. Switches are options.
    const names = formals
      .slice(formals.indexOf(formal))
      .filter(({ kwargOnly, type }) => !kwargOnly && type.base !== 'bool')
      .map(nameOf);
    const last = Math.max(...Object.keys(given).map((key) => names.indexOf(key)));
    if (last >= 0) return `Given by position: ${names.slice(0, last + 1).join(', ')}.`;
    return `Options come behind '${nameOf(formal)}'.`;
  }
  if (list && isNumeric(given)) return `Put it in brackets, with what follows: [${String(given)}].`;
  if (base === 'ScalarType') return `A dtype is one of ${Object.keys(DTYPES).join(', ')}.`;
  const wanted = WANTED[base];
  if (wanted === undefined) return `The schema says what '${formal.name}' may be.`;
  return list ? `Pass an array of ${wanted[1]}.` : `Pass ${wanted[0]}.`;
}

/** A parameter as functions here call it. */
function nameOf({ name }: SchemaArgument): string {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

const WANTED: Readonly<Record<string, readonly [one: string, many: string]>> = {
  Tensor: ['a tensor', 'tensors'],
  int: ['a whole number', 'whole numbers'],
  float: ['a number', 'numbers'],
  Scalar: ['a number', 'numbers'],
  bool: ['true or false', 'true and false'],
  str: ['a string', 'strings'],
};

function deviceMismatch(op: OpOverload, first: string, second: string): never {
  throw new TesseraError(
    'device-mismatch',
    `${op.qualifiedName}: expected all tensors to be on the same device, but found at least two devices, ${first} and ${second}.`,
    {
      context: { op: op.qualifiedName, devices: [first, second] },
      // Values come back from other devices only for who waits.
      hints: [`Move one of them: x.to('${first === 'cpu' ? second : first}').`],
    },
  );
}
