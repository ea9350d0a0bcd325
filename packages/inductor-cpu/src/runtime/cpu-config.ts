/**
 * @file The configuration section `cpu`.
 */
import { type WorkerUrl, defineConfig, integerIn, oneOf, option } from '@tessera/shared';
import { MAX_THREADS } from './control-block.js';

/** Options of the CPU backend. */
export interface CpuConfig {
  readonly kernels: string;
  readonly threads: number;
  readonly relaxedSimd: boolean;
  readonly rowBits: 16 | 32;
  readonly workerUrl: WorkerUrl | null;
}

/** Live values of `config.cpu`. */
export const cpuConfig: Readonly<CpuConfig> = defineConfig<CpuConfig>('cpu', {
  kernels: option<string>(
    'wasm',
    "What runs on 'cpu': generated WebAssembly ('wasm'), or the plain kernels of operators ('reference').",
    oneOf(['wasm', 'reference']),
  ),
  threads: option<number>(
    0,
    'Threads that CPU kernels use, counting the calling one; 0 means one per core.',
    integerIn(0, MAX_THREADS),
  ),
  relaxedSimd: option<boolean>(
    true,
    'Fused multiply-add where the engine has relaxed SIMD; results may then differ in the last bit from engines without it.',
  ),
  rowBits: option<16 | 32>(
    32,
    'Bits of the values of one row times weights of 8 or 4 bits: 32 is as exact as floats, 16 rounds them and is faster.',
    oneOf([16, 32]),
  ),
  workerUrl: option<WorkerUrl | null>(
    null,
    'Address of a copy of @tessera/inductor-cpu/worker.js, for pages that may not start workers from blobs.',
  ),
});

/** Whether nothing may run on `cpu` but the reference kernels of operators: `config` option `cpu.kernels`. */
export function onlyReferenceKernels(): boolean {
  return cpuConfig.kernels === 'reference';
}
