/**
 * @file The configuration section `distributed`.
 */
import { defineConfig, integerIn, option } from '@tessera/shared';
import { hostProcess } from './mpi/host.js';

/** Options of process groups. */
export interface DistributedConfig {
  readonly debug: boolean;
  readonly timeout: number;
}

const env = hostProcess()?.env ?? {};
const givenTimeout = Number(env.TESSERA_DISTRIBUTED_TIMEOUT);

/** Live values of `config.distributed`. */
export const distributedConfig: Readonly<DistributedConfig> = defineConfig<DistributedConfig>(
  'distributed',
  {
    debug: option<boolean>(
      env.TESSERA_DISTRIBUTED_DEBUG === '1',
      'Collectives also compare shapes across ranks, not only dtype and number of elements (TESSERA_DISTRIBUTED_DEBUG=1).',
    ),
    timeout: option<number>(
      givenTimeout > 0 ? givenTimeout : 30 * 60_000,
      'How long a collective waits for other ranks, in milliseconds, where initProcessGroup() is not told (TESSERA_DISTRIBUTED_TIMEOUT).',
      integerIn(1),
    ),
  },
);
