/**
 * @file `Report`: everything a run found out; the JSON file is this value.
 */
import type { CompileOutcome } from '../compile-time/measure.js';
import type { Environment } from '../harness/environment.js';
import type { WorkloadOutcome } from '../harness/outcome.js';
import type { Device } from '../harness/workload.js';

/** An engine that took part, or why it did not. */
export interface EngineReport {
  readonly name: string;
  readonly about: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly threads: number;
  readonly hardware: string | null;
  readonly unavailable: string | null;
}

/** See the file header. Times are in µs unless they say ms. */
export interface Report {
  readonly benchmark: 'tessera';
  /** ISO 8601. */
  readonly date: string;
  readonly device: Device;
  /** Threads that engines were allowed. */
  readonly threads: number;
  readonly backend: string;
  readonly quick: boolean;
  readonly rounds: number;
  readonly environment: Environment;
  readonly engines: readonly EngineReport[];
  readonly workloads: readonly WorkloadOutcome[];
  readonly compilations: readonly CompileOutcome[];
}
