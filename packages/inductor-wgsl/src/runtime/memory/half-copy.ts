/**
 * @file Copies of native float16 elements that do not begin or end on a 4-byte word, which
 * `copyBufferToBuffer` cannot do.
 */
import { counters } from '@tessera/shared';
import type { GpuContext } from '../device/gpu-context.js';
import type { PipelineCache } from '../device/pipeline-cache.js';
import type { CommandStream } from '../device/command-stream.js';
import type { UniformRing } from '../plan/uniform-ring.js';
import type { WgpuMemory } from './wgpu-memory.js';
import { linearGrid } from '../../codegen/dispatch.js';
import type { WgslProgram } from '../../codegen/wgsl-program.js';

const THREADS = 64;

function program(grid: {
  readonly id: string;
  readonly workgroups: readonly [number, number];
}): WgslProgram {
  return {
    text: `enable f16;

struct Uniforms {
  source: u32,
  target_: u32,
  count: u32,
}
@group(1) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(0) var<storage, read> source: array<f16>;
@group(0) @binding(1) var<storage, read_write> target_: array<f16>;

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let i = ${grid.id} * ${THREADS}u + lane;
  if (i < uniforms.count) { target_[uniforms.target_ + i] = source[uniforms.source + i]; }
}
`,
    workgroups: grid.workgroups,
    slots: [
      { access: 'read', params: [0] },
      { access: 'read_write', params: [1] },
    ],
    checks: [],
    uniforms: [
      { kind: 'offset', param: 0 },
      { kind: 'offset', param: 1 },
      { kind: 'scalar', index: 0, type: 'u32' },
    ],
  };
}

/** Copies `count` float16 elements between two different buffers. Offsets in elements. */
export function copyHalves(
  parts: {
    readonly context: GpuContext;
    readonly stream: CommandStream;
    readonly pipelines: PipelineCache;
    readonly uniforms: UniformRing;
  },
  source: { readonly memory: WgpuMemory; readonly offset: number },
  target: { readonly memory: WgpuMemory; readonly offset: number },
  count: number,
): void {
  const { context, stream, pipelines, uniforms } = parts;
  const grid = linearGrid(Math.ceil(count / THREADS), context.target);
  const compiled = pipelines.get(program(grid), 'copy_float16');
  counters.inc('wgpu', 'bind_groups_created');
  const group = context.device.createBindGroup({
    layout: compiled.layout,
    entries: [source, target].map(({ memory }, binding) => ({
      binding,
      resource: { buffer: memory.buffer },
    })),
  });
  stream.makeRoom();
  const slot = uniforms.reserve(3);
  const [from, to] = [source, target].map(({ memory, offset }) => memory.start / 2 + offset);
  uniforms.integers.set([from, to, count], slot / 4);
  const { pipeline } = compiled;
  const [x, y] = grid.workgroups;
  stream.dispatch({ pipeline, group }, x, y, null, uniforms.group, slot);
  stream.touch(source.memory);
  stream.touch(target.memory);
}
