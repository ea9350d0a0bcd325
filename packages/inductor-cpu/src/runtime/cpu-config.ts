/**
 * @file The configuration section `cpu`.
 */
import { defineConfig, integerIn, option } from '@tessera/shared';
import { MAX_THREADS } from './control-block.js';

/** Options of the CPU backend. */
export interface CpuConfig {
  readonly threads: number;
  readonly relaxedSimd: boolean;
}

/** Live values of `config.cpu`. */
export const cpuConfig: Readonly<CpuConfig> = defineConfig<CpuConfig>('cpu', {
  threads: option<number>(
    0,
    'Threads that CPU kernels use, counting the calling one; 0 means one per core.',
    integerIn(0, MAX_THREADS),
  ),
  relaxedSimd: option<boolean>(
    true,
    'Fused multiply-add where the engine has relaxed SIMD; results may then differ in the last bit from engines without it.',
  ),
});
