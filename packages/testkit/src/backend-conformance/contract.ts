/**
 * @file What the contract of kernel backends says beside results: pure generation, plans as data, executables
 * that live by themselves.
 */
import {
  type KernelBackend,
  SizeFamily,
  compileGraph,
  planFromJson,
  planToJson,
} from '@tessera/inductor-core';
import { makeFx } from '@tessera/graph';
import { isTesseraError } from '@tessera/shared';
import { type Tensor } from '@tessera/tensor';
import { emptyFromMeta, toDevice } from '@tessera/tensor/internal';
import { assertCloseAsync } from '../assert-close.js';
import { ramp, whole } from './conformance-case.js';

/** A check by name. */
export interface ContractCheck {
  readonly name: string;
  readonly run: (backend: KernelBackend) => void | Promise<void>;
}

const program = (x: Tensor, y: Tensor): Tensor =>
  x
    .matmul(y)
    .relu()
    .add(x.sum(1, { keepdim: true }));

function planFor(backend: KernelBackend, name: string) {
  const [x, y] = [ramp([4, 4], 0), ramp([4, 4], 1)].map((x) => toDevice(x, backend.device));
  const module = makeFx(program, { tracingMode: 'fake' })(x, y);
  return compileGraph(module, { backend, name });
}

/** Runs a plan of `program` and compares it with eager. */
async function check(backend: KernelBackend, run: ReturnType<KernelBackend['load']>, seed: number) {
  const inputs = [ramp([4, 4], seed), ramp([4, 4], seed + 1)] as const;
  const outputs = run.plan.outputs.map((output) =>
    emptyFromMeta({ ...output, device: backend.device }),
  );
  run.run(
    inputs.map((x) => toDevice(x, backend.device)),
    outputs,
    [],
  );
  await assertCloseAsync(outputs[0]!, program(...inputs), { rtol: 1e-4, atol: 1e-4 });
}

/** Looks a row up that does not exist. */
async function refuse(backend: KernelBackend): Promise<void> {
  const on = (x: Tensor): Tensor => toDevice(x, backend.device);
  const inputs = [on(ramp([4, 4], 0)), on(whole([5], 5, 0))];
  const module = makeFx((x: Tensor, rows: Tensor) => x.indexSelect(0, rows), {
    tracingMode: 'fake',
  })(inputs[0], inputs[1]);
  const run = backend.load(compileGraph(module, { backend, name: 'refused' }));
  const outputs = run.plan.outputs.map((output) =>
    emptyFromMeta({ ...output, device: backend.device }),
  );
  let said = 'nothing';
  try {
    run.run(inputs, outputs, []);
    await outputs[0]!.toArray();
  } catch (error) {
    said = isTesseraError(error) ? error.code : String(error);
  }
  run.dispose();
  if (said !== 'index-out-of-range') throw new Error(`row 4 of 4 rows was read: ${said}`);
}

/** Runs `program` at many sizes; a backend that loads templates loads nothing for the later ones. */
async function serveAllSizes(backend: KernelBackend): Promise<void> {
  if (backend.loadTemplate === undefined) return;
  let loads = 0;
  const counted: KernelBackend = {
    name: backend.name,
    device: backend.device,
    capabilities: backend.capabilities,
    generate: (kernel) => backend.generate(kernel),
    load: (plan) => (loads++, backend.load(plan)),
    loadTemplate: (template) => (loads++, backend.loadTemplate!(template)),
  };
  const family = new SizeFamily();
  const trace = makeFx(program, { tracingMode: 'fake' });
  for (const [call, n] of [4, 6, 3, 17, 33, 2, 17].entries()) {
    const inputs = [ramp([n, 4], call), ramp([4, 4], call + 1)] as const;
    const [x, y] = inputs.map((input) => toDevice(input, backend.device));
    const [result] = family.compile(trace(x, y), counted)([x, y]);
    await assertCloseAsync(result!, program(...inputs), { rtol: 1e-4, atol: 1e-4 });
  }
  if (loads !== 2) throw new Error(`seven calls at six sizes loaded ${loads} plans, not 2`);
}

/** See the file header. */
export const CONTRACT_CHECKS: readonly ContractCheck[] = [
  {
    name: 'contract: generated code follows from the kernel alone, and names it',
    run: (backend) => {
      for (const kernel of planFor(backend, 'generated').kernels) {
        const [first, second] = [backend.generate(kernel), backend.generate(kernel)];
        if (first.text !== second.text) throw new Error(`${kernel.name}: two texts of one kernel`);
        if (first.kernel !== kernel.name || first.text === '')
          throw new Error(`${kernel.name}: its source says '${first.kernel}': ${first.text}`);
      }
    },
  },
  {
    name: 'contract: an executable lists the source of each kernel of its plan',
    run: (backend) => {
      const run = backend.load(planFor(backend, 'listed'));
      const names = run.sources.map((source) => source.kernel);
      const wanted = run.plan.kernels.map((kernel) => kernel.name);
      run.dispose();
      if (names.join() !== wanted.join()) throw new Error(`${names.join()} for ${wanted.join()}`);
    },
  },
  {
    name: 'contract: a plan from JSON runs as the plan did',
    run: async (backend) => {
      const run = backend.load(planFromJson(planToJson(planFor(backend, 'from_json'))));
      await check(backend, run, 3);
      run.dispose();
    },
  },
  {
    name: 'contract: executables run in turns, and go on when others are disposed',
    run: async (backend) => {
      const plan = planFor(backend, 'in_turns');
      const [a, b] = [backend.load(plan), backend.load(plan)];
      await check(backend, a, 1);
      await check(backend, b, 2);
      await check(backend, a, 3);
      a.dispose();
      await check(backend, b, 4);
      b.dispose();
    },
  },
  {
    name: 'contract: the code of a template serves all sizes, if the backend loads templates',
    run: serveAllSizes,
  },
  {
    name: 'contract: an index out of range is an error of the run, or of the read that follows',
    run: refuse,
  },
];
