/**
 * @file What a measurement was made on.
 */
import { availableParallelism, cpus, totalmem } from 'node:os';

/** Machine and runtime. */
export interface Environment {
  readonly cpu: string;
  /** Hardware threads that this process may use. */
  readonly cores: number;
  readonly memoryGiB: number;
  readonly platform: string;
  readonly node: string;
  readonly v8: string;
}

/** Describes this process's machine. */
export function describeEnvironment(): Environment {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
    node: process.versions.node,
    v8: process.versions.v8,
  };
}
