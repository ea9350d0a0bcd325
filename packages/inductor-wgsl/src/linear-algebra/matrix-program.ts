/**
 * @file `MatrixCode`: WGSL of an algorithm over matrices, one workgroup for each matrix of a batch.
 *
 * What a factorization does next depends on what it has just done, so its steps are the loop of one workgroup, with
 * barriers between them. Every tensor is a batch of matrices, rows or single values with strides of its own; sizes and
 * strides are uniforms, so that one pipeline serves all sizes. `NAME(i, j)` is the place of an element of buffer `NAME`.
 */
import { counters } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { linearGrid } from '../codegen/dispatch.js';
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
  /** What one workgroup does for matrix `matrix`; `lane` is the number of the thread, `sync()` a barrier. */
  readonly body: string;
  /** Value of `i32` whose being other than 0 is an error if a check is given. */
  readonly refused?: string;
}

/** Lanes of a workgroup: what every adapter has; emulated ones wait longer at barriers. */
const THREADS = { gpu: 256, software: 64 };

/** Sizes and strides of a buffer. */
const PLACES = ['start', 'step', 'row', 'column'] as const;

/** The module of a program; with `checks`, its last binding is where a refused matrix is noted. */
export function matrixProgramText(
  { buffers, params, workgroup = '', body, refused }: MatrixCode,
  threads: number,
  checks: boolean,
): string {
  const names = Object.keys(buffers);
  const fields = [
    'count',
    'columns',
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
  return `const THREADS = ${threads}u;
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

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let number = group.y * params.columns + group.x;
  if (number >= params.count) { return; }
  matrix = number;
${body}${checks && refused !== undefined ? `\n  if (lane == 0u && ${refused} != 0) { refuse(${refused}); }` : ''}
}
`;
}

/** Start and strides of a dense tensor whose last `dims` dimensions are one matrix. */
function placesOf(tensor: Tensor, dims: number): number[] {
  const sizes = tensor.sizes.slice(tensor.ndim - dims);
  const [row = 0, column = 0] = tensor.strides.slice(tensor.ndim - dims);
  return [tensor.storageOffset, sizes.reduce((product, size) => product * size, 1), row, column];
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

/**
 * Runs code for a batch of matrices.
 *
 * @param tensors one per buffer, in memory of their own, with the batch outermost
 * @param groups workgroups, numbered by `matrix`
 * @param check what is reported with the next awaited read where the code refuses a matrix
 */
export function runMatrixCode(
  runtime: WgpuRuntime,
  code: MatrixCode,
  tensors: readonly Tensor[],
  params: readonly number[],
  groups: number,
  check: OwnCheck | null = null,
): void {
  if (groups === 0) return;
  const { context, stream, pipelines, uniforms, report, pool } = runtime;
  const { target, device } = context;
  const { pipeline, layout } = pipelines.get(
    programOf(code, target.software, check !== null),
    code.name,
  );
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
  const { workgroups } = linearGrid(groups, target);
  const dims = Object.values(code.buffers).map(([count]) => count);
  const words = [
    groups,
    workgroups[0],
    check === null ? 0 : report.firstNumber([check]),
    ...params,
    ...tensors.flatMap((tensor, i) => placesOf(tensor, dims[i])),
  ];
  const alone = pool.unproven > 0 && memories.some(({ isUnproven }) => isUnproven);
  if (alone) stream.flush();
  stream.makeRoom();
  const at = uniforms.reserve(words.length);
  uniforms.integers.set(words, at / 4);
  stream.dispatch({ pipeline, group }, workgroups[0], workgroups[1], null, uniforms.group, at);
  for (const memory of memories) stream.touch(memory);
  if (alone) stream.flush();
}
