/**
 * Launches that do not wait for each other are joined, and give what they give one after the other.
 */
import {
  type ExecutionPlan,
  type FusedKernel,
  compileGraph,
  interpretPlan,
} from '@tessera/inductor-core';
import { makeFx } from '@tessera/graph';
import { type Tensor, manualSeed, randn, tensor, zeros } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { BASELINE_TARGET, type WgslTarget, wgslCapabilities } from '../src/index.js';
import { generateKernel } from '../src/codegen/generate.js';
import { deviceLaunches } from '../src/runtime/plan/chain-launches.js';
import { joinLaunches } from '../src/runtime/plan/join-launches.js';
import { openGpu } from './support/open-gpu.js';
import { deviceTensor, readTensor } from './support/plans.js';
import { recurrenceKernel } from './support/recurrence-kernel.js';
import { expectClose, runOnDevice } from './support/run-kernel.js';

const gpu = await openGpu();

type Program = (...inputs: Tensor[]) => Tensor[];

function planOf(
  program: Program,
  inputs: readonly Tensor[],
  target: WgslTarget = BASELINE_TARGET,
): ExecutionPlan {
  return compileGraph(makeFx(program)(...inputs), {
    backend: { device: 'wgpu', capabilities: wgslCapabilities(target) },
    name: 'joined',
  });
}

/** Two recurrences of so many units, each with buffers of its own. */
function recurrences(units: readonly [number, number], lengths = [5, 5]): ExecutionPlan {
  const rows = 3;
  const parts = units.map((n, i) => {
    const steps = lengths[i];
    const kernel = { ...recurrenceKernel(rows, steps, n), name: `recurrence_${i}` };
    const sizes = [rows * n, steps * rows * n, 3 * n * n, steps * rows * n, rows * n];
    return { kernel, sizes };
  });
  const inputs = parts.flatMap(({ sizes }) => sizes.slice(0, 3));
  const outputs = parts.flatMap(({ sizes }) => sizes.slice(3));
  const buffer = (kind: 'input' | 'output') => (numel: number, index: number) => ({
    name: `${kind}${index}`,
    dtype: 'float32' as const,
    numel,
    source: { kind, index },
  });
  return {
    version: 1,
    name: 'recurrences',
    device: 'wgpu',
    buffers: [...inputs.map(buffer('input')), ...outputs.map(buffer('output'))],
    constants: [],
    scalars: [],
    kernels: parts.map(({ kernel }) => kernel),
    launches: [0, 1].map((i) => ({
      kernel: i,
      buffers: [0, 1, 2].map((k) => 3 * i + k).concat([6 + 2 * i, 7 + 2 * i]),
      scalars: [],
    })),
    numInputs: inputs.length,
    outputs: outputs.map((numel) => ({ dtype: 'float32', sizes: [numel], strides: [1] })),
    arenaBytes: 0,
  };
}

/** How many kernels of the plan each launch is of. */
function joined(plan: ExecutionPlan, target: WgslTarget = BASELINE_TARGET): number[] {
  const { kernels, launches } = joinLaunches(plan, target);
  return launches.map(({ kernel }) => {
    const made = kernels[kernel];
    return made.kind === 'joined' ? made.parts.length : 1;
  });
}

/** A row, and matrices of so many columns. */
function rowAnd(...columns: number[]): Tensor[] {
  manualSeed(3);
  return [randn([1, 256]), ...columns.map((n) => randn([n, 256]))];
}

const products: Program = (x, ...matrices) => matrices.map((w) => x.mm(w.t()));

/** A product of another width, and two of which one writes a row of a table whose number is an input. */
const projections: Program = (x, query, key, value, table, place) => [
  x.mm(query.t()),
  x.mm(key.t()).sin(),
  table.indexCopy(0, place, x.mm(value.t())),
];

async function runBoth(plan: ExecutionPlan, inputs: readonly Tensor[]): Promise<void> {
  const values = inputs.map((input) => [...readNumbers(input.contiguous())]);
  const wanted = interpretPlan(
    plan,
    values.map((each) => [...each]),
  );
  const executable = gpu!.backend.load(plan);
  const tensors = inputs.map(({ dtype }, i) => deviceTensor(gpu!, dtype, values[i]));
  const outputs = plan.outputs.map(({ dtype, sizes }) => {
    const count = sizes.reduce((a, b) => a * b, 1);
    return deviceTensor(gpu!, dtype, new Array<number>(count).fill(0));
  });
  executable.run(tensors, outputs, []);
  for (const [i, { dtype }] of plan.outputs.entries()) {
    const actual = await readTensor(gpu!, outputs[i]);
    expectClose(
      actual,
      [...(wanted[i] as ArrayLike<number> & Iterable<number>)],
      dtype,
      `output ${i}`,
      10,
    );
  }
  executable.dispose();
}

describe('which launches are joined', () => {
  it('joins products of a row of any widths', () => {
    const plan = planOf(products, rowAnd(512, 128, 1000));
    expect(plan.launches).toHaveLength(3);
    expect(joined(plan)).toEqual([3]);
  });

  it('binds what several read once', () => {
    const plan = planOf(products, rowAnd(512, 128));
    const { kernels, launches } = joinLaunches(plan, BASELINE_TARGET);
    expect(kernels).toHaveLength(1);
    expect(kernels[0].params).toHaveLength(5);
    expect(launches[0].buffers).toHaveLength(5);
  });

  it('begins with the workgroups that read most', () => {
    const few: Program = (x, w, ...both) => {
      const [a, b] = both.map((each) => x.mm(each.t()));
      return [x.mm(w.t()), a.mul(b)];
    };
    const { kernels } = joinLaunches(planOf(few, rowAnd(512, 128, 128)), BASELINE_TARGET);
    expect(kernels).toHaveLength(1);
    const { text, workgroups } = generateKernel(kernels[0], BASELINE_TARGET);
    const [, first] = /if \(group\.x < (\d+)u\)/.exec(text)!;
    expect(5 * Number(first)).toBe((workgroups as readonly number[])[0]);
  });

  it('joins none that waits for another', () => {
    const plan = planOf(
      (x, w, v) => {
        const y = x.mm(w.t());
        return [y, y.mm(v)];
      },
      [...rowAnd(512), randn([512, 96])],
    );
    expect(joined(plan)).toEqual([1, 1]);
  });

  it('joins no more than a launch can bind', () => {
    const plan = planOf(products, rowAnd(512, 128, 1000, 300));
    expect(joined(plan)).toEqual([3, 1]);
    expect(joined(plan, { ...BASELINE_TARGET, maxStorageBuffers: 16 })).toEqual([4]);
  });

  it('leaves large kernels alone', () => {
    const plan = planOf(products, [zeros([1, 256]), zeros([40_000, 256]), zeros([128, 256])]);
    expect(joined(plan)).toEqual([1, 1]);
  });

  it('joins recurrences whose workgroups are alike, where a launch can bind so much', () => {
    const wide: WgslTarget = { ...BASELINE_TARGET, maxStorageBuffers: 10 };
    expect(joined(recurrences([32, 32]), wide)).toEqual([2]);
    expect(joined(recurrences([32, 40]), wide)).toEqual([1, 1]);
    expect(joined(recurrences([32, 32]))).toEqual([1, 1]);
  });

  it('joins the steps of wide recurrences, if there are as many', () => {
    const plan = recurrences([136, 161]);
    expect(joined(plan)).toEqual([2]);
    expect(joined(recurrences([32, 136]))).toEqual([1, 1]);
    expect(joined(recurrences([136, 136], [5, 4]))).toEqual([1, 1]);
    expect(joined(plan, { ...BASELINE_TARGET, maxStorageBuffers: 7 })).toEqual([1, 1]);
    const { kernels, launches, buffers } = deviceLaunches(plan, BASELINE_TARGET);
    expect(launches.map(({ kernel, times = 1 }) => [kernels[kernel].name, times])).toEqual([
      ['recurrence_0_start', 1],
      ['recurrence_1_start', 1],
      ['recurrence_0_with_recurrence_1_step', 5],
      ['recurrence_0_end', 1],
      ['recurrence_1_end', 1],
    ]);
    const scratch = buffers.slice(plan.buffers.length).map(({ name }) => name);
    expect(scratch.map((name) => /carried_?$/.exec(name)?.[0])).toEqual(['carried', 'carried_']);
  });

  it('divides workgroup memory among recurrences', () => {
    const { kernels } = deviceLaunches(recurrences([600, 700]), BASELINE_TARGET);
    const step = kernels.find(({ kind }) => kind === 'step')!;
    const { text } = generateKernel(step, BASELINE_TARGET);
    const shared = [...text.matchAll(/var<workgroup> \w+: array<f32, (\d+)>/g)];
    expect(shared).toHaveLength(4);
    const bytes = shared.reduce((sum, [, count]) => sum + 4 * Number(count), 0);
    expect(bytes).toBeLessThanOrEqual(BASELINE_TARGET.maxWorkgroupBytes);
  });

  it('joins nothing on software adapters', () => {
    const plan = planOf(products, rowAnd(512, 128));
    expect(joined(plan, { ...BASELINE_TARGET, software: true })).toEqual([1, 1]);
  });

  it('shares a joined kernel between launches', () => {
    const plan = planOf(
      (x, a, b, c) => {
        const y = x.mm(a.t());
        return [x.mm(b.t()), y, y.mm(b.t()), y.mm(c.t())];
      },
      rowAnd(256, 128, 256),
    );
    const { kernels, launches } = joinLaunches(plan, BASELINE_TARGET);
    expect(launches).toHaveLength(2);
    expect(new Set(kernels).size).toBe(kernels.length);
  });
});

describe.skipIf(gpu === null)('joined launches', () => {
  it('compute what their kernels do one after the other', async () => {
    const inputs = rowAnd(512, 128, 100);
    await runBoth(planOf(products, inputs), inputs);
  });

  it('compute pointwise kernels of other lengths', async () => {
    const inputs = [randn([700]), randn([3, 1000])];
    const plan = planOf((x, y) => [x.sin(), y.exp()], inputs);
    await runBoth(plan, inputs);
  });

  it('compute recurrences side by side', async () => {
    const plan = recurrences([32, 32]);
    const target: WgslTarget = { ...BASELINE_TARGET, maxStorageBuffers: 10 };
    const { kernels, launches } = joinLaunches(plan, target);
    const kernel = kernels[launches[0].kernel] as FusedKernel;
    manualSeed(4);
    const values = plan.buffers.map(({ numel }) => [...readNumbers(randn([numel]).mul(0.5))]);
    const wanted = interpretPlan(plan, values.slice(0, plan.numInputs));
    const buffers = Object.fromEntries(
      kernel.params.map(({ name }, i) => [name, values[launches[0].buffers[i]]]),
    );
    const found = await runOnDevice(gpu!, kernel, buffers, [], {
      generate: (given, variant) => generateKernel(given, target, variant),
    });
    for (const [i, { name }] of kernel.params.entries()) {
      const output = launches[0].buffers[i] - plan.numInputs;
      if (output >= 0)
        expectClose(found[name], [...(wanted[output] as Float32Array)], 'float32', name, 10);
    }
  });

  it.each([
    [136, 161],
    [300, 136],
  ])('compute steps of wide recurrences side by side: %i and %i', async (...units) => {
    const plan = recurrences(units);
    expect(joined(plan, gpu!.backend.target)).toEqual([2]);
    manualSeed(5);
    const inputs = plan.buffers
      .slice(0, plan.numInputs)
      .map(({ numel }, i) => randn([numel]).mul(i % 3 === 2 ? 0.05 : 0.5));
    await runBoth(plan, inputs);
  });

  it('keep checks, each with its number', async () => {
    const target: WgslTarget = { ...gpu!.backend.target, maxStorageBuffers: 16 };
    const inputs = [...rowAnd(512, 128, 64), randn([9, 64]), tensor([4], { dtype: 'int64' })];
    const plan = planOf(projections, inputs, target);
    await runBoth(plan, inputs);
  });
});
