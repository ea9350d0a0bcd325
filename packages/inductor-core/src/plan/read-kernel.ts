/**
 * @file Kernels in a plan's JSON, read with checks of everything but what `verifyKernel` checks on any kernel.
 */
import { type JsonField, encodeNumber } from '@tessera/graph';
import type { Stmt } from '../ir/expr.js';
import type { LoopVar } from '../ir/index-expr.js';
import type {
  BufferParam,
  ExternArg,
  ExternKernel,
  FusedKernel,
  ScalarParam,
  Stage,
} from '../ir/kernel.js';
import {
  ExpressionReader,
  IDENTIFIER,
  LARGEST,
  PARAMETER,
  VARIABLE,
  readDtype,
} from './read-expressions.js';

type BufferArg = Extract<ExternArg, { kind: 'buffer' }>;
type Plain = Extract<ExternArg, { kind: 'value' }>['value'];

/** Trips of one loop: counters have 32 bits. */
const LONGEST_LOOP = 2 ** 31 - 1;
const MOST_DIMS = 64;

/** A list of sizes, strides and the like. */
export function readSizes(json: JsonField): number[] {
  return json.items(MOST_DIMS).map((size) => size.integer(0, LARGEST));
}

/** A kernel. */
export function readKernel(json: JsonField): FusedKernel {
  const kind = json.field('kind').oneOf(['loop', 'matmul', 'attention', 'recurrence', 'extern']);
  const base = {
    name: json.field('name').name(IDENTIFIER),
    params: json.field('params').items().map(readParam),
    scalars: json.field('scalars').items().map(readScalar),
  };
  if (kind === 'extern') return { ...base, ...readExtern(json) };
  const reader = new ExpressionReader(json.field('exprs'));
  const loops = (key: string): LoopVar[] => readLoops(json.field(key));
  if (kind === 'loop') {
    const stages = json
      .field('stages')
      .items()
      .map((stage): Stage => ({
        kind: stage.field('kind').oneOf(['outer', 'inner']),
        body: stage
          .field('body')
          .items()
          .map((stmt) => reader.stmt(stmt)),
      }));
    return { ...base, kind, outer: loops('outer'), inner: loops('inner'), stages };
  }
  const stores = (key: string): Stmt[] => items(key).map((stmt) => reader.stmt(stmt));
  const items = (key: string): readonly JsonField[] => json.field(key).items();
  const rest = {
    ...base,
    batch: loops('batch'),
    n: loops('n'),
    k: loops('k'),
    accDtype: readDtype(json.field('accDtype')),
  };
  if (kind === 'recurrence')
    return {
      ...rest,
      kind,
      step: loops('step'),
      states: items('states').map((state) => ({
        initial: reader.ref(state.field('initial')),
        next: reader.ref(state.field('next')),
      })),
      vectors: items('vectors').map((vector) => reader.ref(vector)),
      products: items('products').map((terms) =>
        terms.items().map((term) => ({
          vector: term.field('vector').integer(0, LARGEST),
          weight: reader.ref(term.field('weight')),
        })),
      ),
      stores: stores('stores'),
      lastStores: stores('lastStores'),
    };
  const product = { ...rest, m: loops('m') };
  if (kind === 'matmul') {
    const [a, b] = [json.field('a'), json.field('b')].map((factor) => reader.ref(factor));
    return { ...product, kind, a: a!, b: b!, epilogue: stores('epilogue') };
  }
  const scores = items('scores').map((score) => ({
    a: reader.ref(score.field('a')),
    b: reader.ref(score.field('b')),
  }));
  return {
    ...product,
    kind,
    j: loops('j'),
    scores,
    weights: items('weights').map((weight) => reader.ref(weight)),
    values: items('values').map((value) => reader.ref(value)),
    columnSums: items('columnSums').map((sum) => ({
      weight: sum.field('weight').integer(0, LARGEST),
      value: reader.ref(sum.field('value')),
    })),
    softmax: json.field('softmax').boolean(),
    triangle: json.field('triangle').oneOf(['lower', 'upper', 'none']),
    epilogue: stores('epilogue'),
    rowStores: stores('rowStores'),
    columnStores: stores('columnStores'),
    weightStores: stores('weightStores'),
  };
}

function readParam(json: JsonField): BufferParam {
  return {
    name: json.field('name').name(PARAMETER),
    dtype: readDtype(json.field('dtype')),
    access: json.field('access').oneOf(['read', 'write', 'readwrite']),
  };
}

/** A runtime scalar. */
export function readScalar(json: JsonField): ScalarParam {
  return { name: json.field('name').name(IDENTIFIER), dtype: readDtype(json.field('dtype')) };
}

function readLoops(json: JsonField): LoopVar[] {
  return json.items(MOST_DIMS).map((loop) => ({
    name: loop.field('name').name(VARIABLE),
    size: loop.field('size').integer(0, LONGEST_LOOP),
  }));
}

function readExtern(json: JsonField): Pick<ExternKernel, 'kind' | 'op' | 'args' | 'outputs'> {
  return {
    kind: 'extern',
    op: json.field('op').string(200),
    args: json.field('args').items().map(readExternArg),
    outputs: json.field('outputs').items().map(readBuffer),
  };
}

function readBuffer(json: JsonField): BufferArg {
  json.field('kind').oneOf(['buffer']);
  const [sizes, strides] = [readSizes(json.field('sizes')), readSizes(json.field('strides'))];
  if (sizes.length !== strides.length) json.refuse('has another number of sizes than of strides');
  return {
    kind: 'buffer',
    name: json.field('name').name(PARAMETER),
    sizes,
    strides,
    offset: json.field('offset').integer(0, LARGEST),
  };
}

function readExternArg(json: JsonField): ExternArg {
  const kind = json.field('kind').oneOf(['buffer', 'list', 'scalar', 'value']);
  if (kind === 'buffer') return readBuffer(json);
  if (kind === 'scalar') return { kind, name: json.field('name').name(IDENTIFIER) };
  if (kind === 'list') return { kind, items: json.field('items').items().map(readExternArg) };
  return { kind, value: readPlain(json.field('value')) };
}

function readPlain(json: JsonField): Plain {
  if (!json.isList) return readPrimitive(json);
  const items = json.items().map(readPrimitive);
  if (items.every((item) => typeof item === 'number')) return items;
  if (items.every((item) => typeof item === 'boolean')) return items;
  return json.refuse('is a list of neither numbers nor booleans');
}

function readPrimitive(json: JsonField): number | string | boolean | null {
  const { value } = json;
  if (json.isRecord) return json.field('number').number();
  if (value === null || typeof value === 'boolean') return value;
  return typeof value === 'string' ? json.string() : json.finite();
}

/** An argument as JSON: numbers that JSON cannot hold stand in a record, as texts are arguments too. */
export function externArgToJson(arg: ExternArg): unknown {
  if (arg.kind === 'list') return { ...arg, items: arg.items.map(externArgToJson) };
  if (arg.kind !== 'value') return arg;
  const { value } = arg;
  const one = (item: unknown): unknown =>
    typeof item === 'number' && typeof encodeNumber(item) === 'string'
      ? { number: encodeNumber(item) }
      : item;
  return { ...arg, value: Array.isArray(value) ? value.map(one) : one(value) };
}
