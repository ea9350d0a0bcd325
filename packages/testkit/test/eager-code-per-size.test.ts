/**
 * @file Which operators get code for every size where they run eagerly: those that are listed, and no other.
 *
 * Every operator that is lowered (a few of them in one run, all in a full one) runs recorded calls at nine sizes. The first few sizes have code of their own; of the
 * last three none may need any. On CPU results at the first and the last three (in a full run at all) are those of the
 * reference kernels. On WebGPU nothing is loaded or run, since shaders take minutes: what is counted is how often the
 * compiler is asked for a plan.
 */
import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { config, initWebGpu } from '@tessera/compile';
import {
  EagerProvider,
  type Executable,
  type ExecutionPlan,
  type KernelBackend,
  TemplateSizes,
  loweredOps,
  planAt,
} from '@tessera/inductor-core';
import { cpuBackend } from '@tessera/inductor-cpu';
import { isTesseraError } from '@tessera/shared';
import { type DeviceType, type OpOverload, callOp, isTensor, noGrad } from '@tessera/tensor';
import {
  findOp,
  kernelProvider,
  readNumbers,
  registerKernelProvider,
} from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { fullTests, sampleName, sampled } from '../../../tooling/full-tests.js';
import { KNOWN_DEVIATIONS, type OracleCase, qualifiedName, unpackOracle } from '../src/index.js';
import { type SizedCall, sizedCalls } from './sized-calls.js';
import { COMPILED_PER_SIZE } from './compiled-per-size.js';

/** By how much longer calls are. */
const LONGER = [0, 1, 2, 3, 4, 6, 7, 9, 12];
/** Sizes that may have code made. */
const LEARNING = 6;
/** Calls that are tried of an operator, in ways to make them longer. */
const WAYS = 2;

/** The calls that the repository carries. */
const RECORDED = new URL('../../../apps/oracle/data/ops.br', import.meta.url);

const file = unpackOracle(brotliDecompressSync(readFileSync(RECORDED)));
const lowered = new Set(loweredOps());

/** Calls of each operator, those in float32 with the most dimensions first. */
const byOp = new Map<string, OracleCase[]>();
for (const entry of file.cases)
  if (lowered.has(qualifiedName(entry)))
    byOp.set(qualifiedName(entry), [...(byOp.get(qualifiedName(entry)) ?? []), entry]);

const isFloat32 = ({ args }: OracleCase): number =>
  JSON.stringify(args).includes('"float32"') ? 0 : 1;

interface Counted {
  readonly provider: EagerProvider;
  made: number;
}

function idle(plan: ExecutionPlan): Executable {
  return { plan, sources: [], run: () => undefined, dispose: () => undefined };
}

function counted(base: KernelBackend): Counted {
  const state = { made: 0 };
  const backend = Object.create(base, {
    loadingSteps: { value: undefined },
    load: {
      value(plan: Parameters<KernelBackend['load']>[0]): Executable {
        state.made++;
        return base.device === 'cpu' ? base.load(plan) : idle(plan);
      },
    },
    loadTemplate: {
      value(template: Parameters<NonNullable<KernelBackend['loadTemplate']>>[0]) {
        state.made++;
        if (base.device === 'cpu') return base.loadTemplate!(template);
        const sizes = new TemplateSizes(template.symbols);
        const at = (values: readonly number[]): Executable =>
          idle(planAt(template, sizes.at(values)));
        return { template, at, dispose: () => undefined };
      },
    },
  }) as KernelBackend;
  return Object.assign(state, { provider: new EagerProvider(backend) });
}

function numbersOf(result: unknown): number[] {
  if (isTensor(result)) return Array.from(readNumbers(result), Number);
  return Array.isArray(result) ? result.flatMap(numbersOf) : [];
}

const isNear = (a: number, b: number): boolean =>
  Object.is(a, b) || a === b || Math.abs(a - b) <= 1e-3 + 1e-2 * Math.abs(b);

/** Code that was made for the last sizes; null if the call exists at its own size only, or nothing runs compiled. */
function lateCode(
  op: OpOverload,
  call: SizedCall,
  base: KernelBackend,
  compare: boolean,
): number | null {
  const { device } = base;
  const previous = kernelProvider(device)!;
  const state = counted(base);
  let late = 0;
  let ran = false;
  registerKernelProvider(device, {
    run(overload, args, outs) {
      const isDone = state.provider.run(overload, args, outs);
      ran ||= isDone && overload === op;
      return isDone || (device !== 'cpu' && previous.run(overload, args, outs));
    },
  });
  try {
    for (const [i, longer] of LONGER.entries()) {
      const before = state.made;
      const result = noGrad(() => callOp(op, call(longer)));
      if (i >= LEARNING) late += state.made - before;
      const isCompared = fullTests || i === 0 || i >= LEARNING;
      if (!compare || !isCompared) continue;
      const wanted = config.patch({ 'eager.kernels': 'reference' }, () =>
        noGrad(() => callOp(op, call(longer))),
      );
      const [got, values] = [numbersOf(result), numbersOf(wanted)];
      const wrong = got.findIndex((value, k) => !isNear(value, values[k]!));
      expect(
        wrong,
        `${op.qualifiedName}, ${longer} longer: ${got[wrong]}, not ${values[wrong]}`,
      ).toBe(-1);
    }
    return ran ? late : null;
  } catch (error) {
    if (!isTesseraError(error)) throw error;
    return null;
  } finally {
    registerKernelProvider(device, previous);
  }
}

/** Operators that this run tries. */
const tried = new Map(sampled([...byOp], 24));

/** Operators that get code at every size. */
function growing(base: KernelBackend): string[] {
  const found: string[] = [];
  for (const [name, cases] of tried) {
    const op = findOp(name)!;
    if (op.hasTag('random')) continue;
    const deviation = KNOWN_DEVIATIONS[cases[0]!.op];
    const compare = base.device === 'cpu' && deviation?.unspecified === undefined;
    let left = WAYS;
    let late = 0;
    for (const entry of [...cases].sort((a, b) => isFloat32(a) - isFloat32(b)).slice(0, 4))
      for (const call of sizedCalls(file, op, entry, base.device)) {
        if (left === 0) break;
        const made = lateCode(op, call, base, compare);
        if (made === null) continue;
        left--;
        late += made;
      }
    if (late > 0) found.push(name);
  }
  return found.sort();
}

async function backendOf(device: DeviceType): Promise<KernelBackend | null> {
  if (device === 'cpu') return cpuBackend;
  try {
    return (await initWebGpu()).backend;
  } catch (error) {
    if (process.env['TESSERA_REQUIRE_WEBGPU'] === '1') throw error;
    return null;
  }
}

describe('eager operators', () => {
  it.each(['cpu', 'wgpu'] as const)(
    `get no code for a new size, but for those that are listed: %s (${sampleName})`,
    { timeout: 1_000_000 },
    async (device) => {
      const base = await backendOf(device);
      if (base === null) return;
      expect(growing(base)).toEqual(
        COMPILED_PER_SIZE[device].filter((name) => tried.has(name) || !byOp.has(name)).sort(),
      );
    },
  );
});
