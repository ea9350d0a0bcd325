/**
 * @file `readPlan`: parsed JSON → an `ExecutionPlan` in which every part has its type and its range.
 *
 * What parts say of each other is checked by `verifyPlan`.
 */
import type { DeviceType } from '@tessera/tensor';
import { type JsonField } from '@tessera/graph';
import type {
  BufferSource,
  ExecutionPlan,
  Launch,
  PlanBuffer,
  PlanOutput,
} from './execution-plan.js';
import { LARGEST, readDtype } from './read-expressions.js';
import { readKernel, readScalar, readSizes } from './read-kernel.js';

/** Tensors, buffers, kernels, launches of one plan. */
const MOST = 2 ** 20;

function index(json: JsonField): number {
  return json.integer(0, MOST);
}

function readSource(json: JsonField): BufferSource {
  const kind = json.field('kind').oneOf(['input', 'output', 'arena', 'constant']);
  return kind === 'arena'
    ? { kind, offset: json.field('offset').integer(0, LARGEST) }
    : { kind, index: index(json.field('index')) };
}

function readBuffer(json: JsonField): PlanBuffer {
  return {
    name: json.field('name').string(1000),
    dtype: readDtype(json.field('dtype')),
    numel: json.field('numel').integer(0, LARGEST),
    source: readSource(json.field('source')),
  };
}

function readLaunch(json: JsonField): Launch {
  return {
    kernel: index(json.field('kernel')),
    buffers: json.field('buffers').items(MOST).map(index),
    scalars: json.field('scalars').items(MOST).map(index),
  };
}

function readOutput(json: JsonField): PlanOutput {
  const [sizes, strides] = [readSizes(json.field('sizes')), readSizes(json.field('strides'))];
  if (sizes.length !== strides.length) json.refuse('has another number of sizes than of strides');
  return { dtype: readDtype(json.field('dtype')), sizes, strides };
}

function readRandom(json: JsonField): NonNullable<ExecutionPlan['rng']> {
  return {
    seed: index(json.field('seed')),
    offset: index(json.field('offset')),
    count: json.field('count').integer(0, Number.MAX_SAFE_INTEGER),
  };
}

/** See the file header. The version was looked at before. */
export function readPlan(json: JsonField): ExecutionPlan {
  const rng = json.optional('rng');
  return {
    version: json.field('version').oneOf([1]),
    name: json.field('name').string(1000),
    device: json.field('device').name(/^[A-Za-z][\w-]*$/, 64) as DeviceType,
    buffers: json.field('buffers').items(MOST).map(readBuffer),
    numInputs: index(json.field('numInputs')),
    outputs: json.field('outputs').items(MOST).map(readOutput),
    scalars: json.field('scalars').items(MOST).map(readScalar),
    ...(rng === null ? {} : { rng: readRandom(rng) }),
    constants: json
      .field('constants')
      .items(MOST)
      .map((constant) => ({
        dtype: readDtype(constant.field('dtype')),
        values: constant
          .field('values')
          .items()
          .map((value) => value.number()),
      })),
    kernels: json.field('kernels').items(MOST).map(readKernel),
    launches: json.field('launches').items(MOST).map(readLaunch),
    arenaBytes: json.field('arenaBytes').integer(0, LARGEST),
  };
}
