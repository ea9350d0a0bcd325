/**
 * @file Columns of features: scaled, normalized, completed, chosen, counted, coded.
 */
import { type Tensor, cat, index, searchsorted, where, zeros } from '@tessera/tensor';
import type { NodeCall } from '../../run/node-call.js';
import type { Value } from '../../run/value.js';
import type { OperatorTable } from '../../registry.js';
import { wrapped } from '../like.js';
import { constantOf, optionalConstant } from './constants.js';
import type { AttributeValue } from '../../model/model.js';
import { type NodeReader, type NodeTables, floatTable, intTable } from './node-tables.js';

const isWhole = ({ dtype }: Tensor): boolean => dtype.startsWith('int') || dtype.startsWith('uint');

/** Float32 of whole numbers; floats as they are. */
function asFloats(x: Tensor): Tensor {
  return x.dtype === 'float64' ? x : x.to('float32');
}

function scaler(call: NodeCall): Tensor {
  const x = asFloats(call.tensor(0));
  const offset = optionalConstant(call, '$offset');
  const scale = optionalConstant(call, '$scale');
  const moved = offset === null ? x : x.sub(offset);
  return scale === null ? moved : moved.mul(scale);
}

/** Rows divided by their largest number, their sum of sizes, or their length; rows of zeros stay. */
function normalizer(call: NodeCall): Tensor {
  const x = asFloats(call.tensor(0));
  const norm = call.choice('norm', ['MAX', 'L1', 'L2'], 'MAX');
  const size =
    norm === 'MAX'
      ? x.amax([-1], { keepdim: true })
      : norm === 'L1'
        ? x.abs().sum([-1], { keepdim: true })
        : x.square().sum([-1], { keepdim: true }).sqrt();
  return x.div(where(size.eq(0), size.add(1), size));
}

function binarizer(call: NodeCall): Tensor {
  const x = call.tensor(0);
  return x.gt(call.float('threshold', 0)).to(x.dtype);
}

function imputer(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const values = constantOf(call, '$values').to(x.dtype);
  const replaced = isWhole(x)
    ? call.int('replaced_value_int64', 0)
    : call.float('replaced_value_float', 0);
  const isMissing = Number.isNaN(replaced) ? x.isnan() : x.eq(replaced);
  return where(isMissing, values, x);
}

/** Columns of several inputs side by side: as many of each as the file says, zeros where it has fewer. */
function featureVectorizer(call: NodeCall): Tensor {
  const widths = call.ints('inputdimensions');
  const parts = call.tensors().map((x, i) => {
    const rows = asFloats(x.ndim < 2 ? x.reshape([1, -1]) : x.flatten(1));
    const [count, width] = [rows.shape[0]!, rows.shape[1]!];
    const wanted = widths?.[i] ?? width;
    if (wanted <= width) return wanted === width ? rows : rows.narrow(1, 0, wanted);
    return cat([rows, zeros([count, wanted - width], { dtype: rows.dtype, device: x.device })], 1);
  });
  return cat(parts, 1);
}

function arrayFeatureExtractor(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const at = wrapped(call.tensor(1).to('int64').reshape([-1]), x.shape.at(-1) ?? 1);
  const chosen = index(x, [...Array<null>(Math.max(0, x.ndim - 1)).fill(null), at]);
  return x.ndim === 1 ? chosen.unsqueeze(0) : chosen;
}

function oneHotEncoder(call: NodeCall): Tensor {
  if (call.texts('cats_strings') !== null) call.unsupported('a list of texts (cats_strings)');
  if (!call.flag('zeros', true)) call.unsupported('an error for unknown categories (zeros = 0)');
  const x = call.tensor(0);
  const categories = constantOf(call, '$categories');
  const same = isWhole(x) ? x.to('int64') : x.trunc();
  return same.unsqueeze(-1).eq(categories.to(same.dtype)).to('float32');
}

/** Places of keys in a sorted list are found by halving; what is not there gets the default. */
function labelEncoder(call: NodeCall): Tensor {
  const x = call.tensor(0);
  if (call.texts('keys_strings') !== null) call.unsupported('a list of texts (keys_strings)');
  const values = constantOf(call, '$values');
  const keys = constantOf(call, '$keys');
  const fallback = constantOf(call, '$default');
  const hasNaN = call.flag('$hasNaN');
  const own = keys.dtype === 'int64' ? x.to('int64') : x.to(keys.dtype);
  const last = keys.shape[0]! - 1;
  // NaN is behind all others, and is equal to nothing.
  const place = searchsorted(keys, own.contiguous()).clamp(0, last);
  const found = index(keys, [place]);
  const isKnown = hasNaN ? found.eq(own).logicalOr(own.isnan()) : found.eq(own);
  const at = hasNaN ? where(own.isnan(), place.mul(0).add(last), place) : place;
  return where(isKnown, index(values, [at]), fallback);
}

/** Rows of scores stay a tensor: column j belongs to the j-th of the node's labels. */
function zipMap(call: NodeCall): Value {
  return call.array(0);
}

/** Operators with one output each. */
export const featureOperators: OperatorTable = {
  Scaler: scaler,
  Normalizer: normalizer,
  Binarizer: binarizer,
  Imputer: imputer,
  FeatureVectorizer: featureVectorizer,
  ArrayFeatureExtractor: arrayFeatureExtractor,
  OneHotEncoder: oneHotEncoder,
  LabelEncoder: labelEncoder,
  ZipMap: zipMap,
};

/** The table of a list of floats, if the node has it. */
function optionalFloats(reader: NodeReader, name: string): NodeTables {
  const values = reader.numbers(name);
  return values === null ? {} : { [`$${name}`]: floatTable(values) };
}

/** The numbers of `keys_…` or `values_…`, whatever type the file has them in. */
function listOf(reader: NodeReader, name: 'keys' | 'values'): CodeList | null {
  for (const kind of ['int64s', 'floats', 'tensor']) {
    const numbers = reader.numbers(`${name}_${kind}`);
    if (numbers === null) continue;
    const dtype = kind === 'tensor' ? reader.literal(`${name}_tensor`)?.type.dtype : null;
    return {
      numbers,
      isWhole: kind === 'int64s' || (dtype ?? '').startsWith('int'),
      isDouble: dtype === 'float64',
    };
  }
  return null;
}

interface CodeList {
  readonly numbers: readonly number[];
  readonly isWhole: boolean;
  readonly isDouble: boolean;
}

function codeTable(
  { isWhole: areWhole, isDouble }: CodeList,
  numbers: readonly number[],
  shape: readonly number[] = [numbers.length],
): AttributeValue {
  return areWhole ? intTable(numbers, shape) : floatTable(numbers, shape, isDouble);
}

/** Keys in order, with their values. Texts among the values are told by their place. */
function encoderTables(reader: NodeReader): NodeTables {
  const keys = listOf(reader, 'keys');
  const texts = reader.texts('values_strings');
  const values =
    listOf(reader, 'values') ??
    (texts && { numbers: texts.map((_, i) => i), isWhole: true, isDouble: false });
  // Keys that are texts are refused where the node runs.
  if (keys === null || values === null) return {};
  const count = keys.numbers.length;
  if (values.numbers.length !== count)
    reader.fail(`${count} keys for ${values.numbers.length} values`);
  // The first of equal keys counts.
  const firsts = new Map<number, number>();
  keys.numbers.forEach((key, i) => {
    if (!firsts.has(key)) firsts.set(key, values.numbers[i]!);
  });
  const sorted = [...firsts].sort(
    ([a], [b]) => Number(Number.isNaN(a)) - Number(Number.isNaN(b)) || a - b,
  );
  const given = reader.numbers('default_tensor')?.[0];
  const plain = values.isWhole
    ? reader.number('default_int64', -1)
    : reader.number('default_float', -0);
  // Before the fourth version NaN was no key.
  const hasNaN = reader.node.opset >= 4 && firsts.has(NaN);
  return {
    $keys: codeTable(
      keys,
      sorted.map(([key]) => key),
    ),
    $values: codeTable(
      values,
      sorted.map(([, value]) => value),
    ),
    $default: codeTable(values, [texts === null ? (given ?? plain) : -1], []),
    $hasNaN: { kind: 'int', value: hasNaN ? 1 : 0 },
  };
}

/** What each operator reads besides its own attributes. */
export const featureTables: Readonly<Record<string, (reader: NodeReader) => NodeTables>> = {
  Scaler: (reader) => ({ ...optionalFloats(reader, 'offset'), ...optionalFloats(reader, 'scale') }),
  Imputer: (reader) => {
    const floats = reader.numbers('imputed_value_floats');
    if (floats !== null) return { $values: floatTable(floats) };
    return { $values: intTable(reader.some('imputed_value_int64s')) };
  },
  OneHotEncoder: (reader): NodeTables => {
    const values = reader.numbers('cats_int64s');
    return values === null ? {} : { $categories: intTable(values) };
  },
  LabelEncoder: encoderTables,
};
