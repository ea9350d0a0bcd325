/**
 * @file The conformance suite that a backend runs on itself: as a report, or as tests of any runner.
 */
import { type DeviceType, type DType } from '@tessera/tensor';
import { CONTRACT_CHECKS } from './contract.js';
import { type JudgedBackend, isKernelBackend, runConformanceCase } from './run-case.js';
import { BACKEND_CONFORMANCE_CASES } from './suite.js';

/** What to run. */
export interface ConformanceOptions {
  /** Only cases whose name contains this. */
  readonly only?: string;
  /** Where a graph backend computes (default `cpu`); a kernel backend says so itself. */
  readonly device?: DeviceType;
}

/** What became of the suite. */
export interface ConformanceReport {
  readonly backend: string;
  readonly passed: readonly string[];
  readonly failed: readonly { readonly name: string; readonly error: string }[];
  /** Cases about element types that the backend says it does not have. */
  readonly notApplicable: readonly { readonly name: string; readonly missing: readonly DType[] }[];
}

interface Entry {
  readonly name: string;
  readonly missing: readonly DType[];
  readonly run: () => Promise<void>;
}

function nameOf(backend: JudgedBackend): string {
  return typeof backend === 'string' ? backend : backend.name;
}

function entries(
  backend: JudgedBackend,
  { only = '', device = 'cpu' }: ConformanceOptions,
): Entry[] {
  const dtypes = isKernelBackend(backend) ? backend.capabilities.dtypes : null;
  const on = isKernelBackend(backend) ? backend.device : device;
  const cases = BACKEND_CONFORMANCE_CASES.map((test): Entry => ({
    name: test.name,
    missing: dtypes === null ? [] : (test.dtypes ?? []).filter((dtype) => !dtypes.has(dtype)),
    run: () => runConformanceCase(test, backend, on),
  }));
  const contract = !isKernelBackend(backend)
    ? []
    : CONTRACT_CHECKS.map((check): Entry => ({
        name: check.name,
        missing: [],
        run: async () => check.run(backend),
      }));
  return [...contract, ...cases].filter(({ name }) => name.includes(only));
}

/**
 * Runs the suite on a backend, one case after another. A kernel backend is registered for its device
 * while a case runs; what was there before is there again afterwards.
 *
 * @example const { failed } = await runBackendConformance(myBackend);
 */
export async function runBackendConformance(
  backend: JudgedBackend,
  options: ConformanceOptions = {},
): Promise<ConformanceReport> {
  const passed: string[] = [];
  const failed: { name: string; error: string }[] = [];
  const notApplicable: { name: string; missing: readonly DType[] }[] = [];
  for (const { name, missing, run } of entries(backend, options)) {
    if (missing.length > 0) {
      notApplicable.push({ name, missing });
      continue;
    }
    try {
      await run();
      passed.push(name);
    } catch (error) {
      failed.push({ name, error: error instanceof Error ? error.message : String(error) });
    }
  }
  return { backend: nameOf(backend), passed, failed, notApplicable };
}

/**
 * Registers every case that applies as a test: `test` is that of vitest, `node:test` or another runner.
 *
 * @example testBackendConformance(test, myBackend);
 */
export function testBackendConformance(
  test: (name: string, run: () => Promise<void>) => unknown,
  backend: JudgedBackend,
  options: ConformanceOptions = {},
): void {
  for (const { name, missing, run } of entries(backend, options))
    if (missing.length === 0) test(`${nameOf(backend)} conforms: ${name}`, run);
}
