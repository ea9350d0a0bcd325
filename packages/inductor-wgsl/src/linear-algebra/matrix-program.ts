/**
 * @file `MatrixCode`: WGSL of a step of an algorithm over matrices, by one workgroup for each matrix of a batch or each
 * part of one.
 *
 * What a factorization does next depends on what it has just done, so its steps are the loop of one workgroup, with
 * barriers between them, or launches of their own. Every tensor is a batch of matrices, rows or single values with strides
 * of its own; sizes and strides are uniforms, so that one pipeline serves all sizes. `NAME(i, j)` is the place of an element
 * of buffer `NAME`.
 */
import type { FunctionTable } from '@tessera/inductor-core';
import { counters } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { linearGrid } from '../codegen/dispatch.js';
import { FunctionLibrary } from '../codegen/functions/function-library.js';
import type { WgslProgram } from '../codegen/wgsl-program.js';
import type { OwnCheck } from '../runtime/device/check-report.js';
import type { WgpuRuntime } from '../runtime/device/wgpu-runtime.js';

/** See the file header. */
export interface MatrixCode {
  readonly name: string;
  /** Buffers in the order of their tensors: how many dimensions are one matrix's, and what is stored. */
  readonly buffers: Readonly<Record<string, readonly [dims: 0 | 1 | 2, type: 'f32' | 'i32']>>;
  /** Numbers that differ between calls: `params.NAME`. */
  readonly params: readonly string[];
  /** Variables of the workgroup, in which `THREADS` is the number of its lanes. */
  readonly workgroup?: string;
  /**
   * What one workgroup does for part `part` of matrix `matrix`; `lane` is the number of the thread, `sync()` a barrier, and
   * `total(lane, x)` the sum of all lanes' values.
   */
  readonly body: string;
  /** Functions that the body calls as `@name(…)`. */
  readonly functions?: FunctionTable;
  /** Value of `i32` whose being other than 0 is an error if a check is given. */
  readonly refused?: string;
}

/** Lanes of a workgroup: what every adapter has; emulated ones have no use for more than one. */
const THREADS = { gpu: 256, software: 1 };

/** The sum of all lanes' values. */
const TOTAL = `var<workgroup> sums: array<f32, THREADS>;
fn total(lane: u32, value: f32) -> f32 {
  workgroupBarrier();
  sums[lane] = value;
  workgroupBarrier();
  for (var half = THREADS / 2u; half > 0u; half /= 2u) {
    if (lane < half) { sums[lane] += sums[lane + half]; }
    workgroupBarrier();
  }
  return sums[0];
}
`;

/** Sizes and strides of a buffer. */
const PLACES = ['start', 'step', 'row', 'column'] as const;

/** The module of a program; with `checks`, its last binding is where a refused matrix is noted. */
export function matrixProgramText(
  { buffers, params, workgroup = '', body: written, functions, refused }: MatrixCode,
  threads: number,
  checks: boolean,
): string {
  const names = Object.keys(buffers);
  const library = new FunctionLibrary(functions);
  const body = written.replace(/@(\w+)/g, (_, name: string) => library.use(name, 1));
  const fields = [
    'count',
    'columns',
    'parts',
    'first_check',
    ...params,
    ...names.flatMap((name) => PLACES.map((place) => `${name}_${place}`)),
  ];
  const failed = `@group(0) @binding(${names.length}) var<storage, read_write> failed: array<atomic<u32>, 4>;
fn refuse(value: i32) {
  if (atomicOr(&failed[0], 1u) != 0u) { return; }
  atomicStore(&failed[1], params.first_check);
  atomicStore(&failed[2], bitcast<u32>(value));
}
`;
  return `${library.render()}const THREADS = ${threads}u;
struct Params {
${fields.map((field) => `  ${field}: u32,\n`).join('')}}
@group(1) @binding(0) var<uniform> params: Params;
${names
  .map(
    (
      name,
      i,
    ) => `@group(0) @binding(${i}) var<storage, read_write> ${name}_: array<${buffers[name][1]}>;
fn ${name}(i: u32, j: u32) -> u32 {
  return params.${name}_start + matrix * params.${name}_step + i * params.${name}_row + j * params.${name}_column;
}
`,
  )
  .join('')}${checks ? failed : ''}var<private> matrix: u32;
${workgroup}
fn sync() {
  workgroupBarrier();
  storageBarrier();
}
${body.includes('total(') ? TOTAL : ''}
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let number = group.y * params.columns + group.x;
  if (number >= params.count) { return; }
  matrix = number / params.parts;
  let part = number % params.parts;
${body}${checks && refused !== undefined ? `\n  if (lane == 0u && ${refused} != 0) { refuse(${refused}); }` : ''}
}
`;
}

/** Start and strides of a tensor whose last `dims` dimensions are one matrix, and the others one batch. */
function placesOf({ strides, ndim, storageOffset }: Tensor, dims: number): number[] {
  const [row = 0, column = 0] = strides.slice(ndim - dims);
  return [storageOffset, strides[ndim - dims - 1] ?? 0, row, column];
}

/** Programs by code, then by the text that an adapter needs. */
const programs = new WeakMap<MatrixCode, Map<string, WgslProgram>>();

function programOf(code: MatrixCode, software: boolean, checks: boolean): WgslProgram {
  let made = programs.get(code);
  if (made === undefined) programs.set(code, (made = new Map()));
  const key = `${software}${checks}`;
  let program = made.get(key);
  if (program === undefined) {
    const count = Object.keys(code.buffers).length + Number(checks);
    program = {
      text: matrixProgramText(code, software ? THREADS.software : THREADS.gpu, checks),
      workgroups: [1, 1],
      slots: Array.from({ length: count }, (_, i) => ({ access: 'read_write', params: [i] })),
      uniforms: [{ kind: 'checks' }],
      checks: [],
    };
    made.set(key, program);
  }
  return program;
}

/** How code is launched. */
export interface MatrixLaunch {
  /** Matrices. */
  readonly count: number;
  /** Workgroups for each matrix (default 1). */
  readonly parts?: number;
  /** Values of the code's parameters, for each of the launches in a row. */
  readonly launches: readonly (readonly number[])[];
  /** What is reported with the next awaited read where the code refuses a matrix. */
  readonly check?: OwnCheck | null;
}

/** Runs code for a batch of matrices; `tensors`, one per buffer, are in memory of their own. @throws device-lost, out-of-memory */
export function runMatrixCode(
  runtime: WgpuRuntime,
  code: MatrixCode,
  tensors: readonly Tensor[],
  { count, parts = 1, launches, check = null }: MatrixLaunch,
): void {
  const groups = count * parts;
  if (groups === 0) return;
  const { context, stream, pipelines, uniforms, report, pool } = runtime;
  context.check();
  const { target, device } = context;
  const program = programOf(code, target.software, check !== null);
  const { pipeline, layout } = pipelines.get(program, code.name);
  const memories = tensors.map(({ storage }) => runtime.own(storage.memory!));
  const ranges = memories.map(({ buffer, start, bytes }) => ({
    buffer,
    offset: start,
    size: bytes,
  }));
  if (check !== null) {
    report.open();
    ranges.push({ buffer: report.buffer, offset: 0, size: report.buffer.size });
  }
  counters.inc('wgpu', 'bind_groups_created');
  const group = device.createBindGroup({
    layout,
    label: code.name,
    entries: ranges.map((resource, binding) => ({ binding, resource })),
  });
  const [x, y] = linearGrid(groups, target).workgroups;
  const first = check === null ? 0 : report.firstNumber([check]);
  const dims = Object.values(code.buffers).map(([each]) => each);
  const places = tensors.flatMap((tensor, i) => placesOf(tensor, dims[i]));
  const alone = pool.unproven > 0 && memories.some(({ isUnproven }) => isUnproven);
  if (alone) stream.flush();
  for (const params of launches) {
    const words = [groups, x, parts, first, ...params, ...places];
    stream.makeRoom();
    const at = uniforms.reserve(words.length);
    uniforms.integers.set(words, at / 4);
    stream.dispatch({ pipeline, group }, x, y, null, uniforms.group, at);
  }
  for (const memory of memories) stream.touch(memory);
  if (alone) stream.flush();
}
