/**
 * @file What started this process, and which MPI libraries that suggests.
 */

/** Variables of the environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** See the file header. */
export interface Launch {
  /** `null`: started by hand. */
  readonly launcher: 'Hydra' | 'Open MPI' | 'Slurm' | 'PMIx' | null;
  /** How many processes the launcher says it started; null if it does not say. */
  readonly size: number | null;
}

/** Reads what launchers leave in the environment. */
export function launchOf(env: Environment): Launch {
  const size = (name: string): number | null => {
    const value = Number(env[name]);
    return Number.isInteger(value) && value > 0 ? value : null;
  };
  if (env.OMPI_COMM_WORLD_SIZE !== undefined)
    return { launcher: 'Open MPI', size: size('OMPI_COMM_WORLD_SIZE') };
  if (env.SLURM_STEP_NUM_TASKS !== undefined && env.SLURM_PROCID !== undefined)
    return { launcher: 'Slurm', size: size('SLURM_STEP_NUM_TASKS') };
  if (env.PMI_RANK !== undefined || env.PMI_FD !== undefined)
    return { launcher: 'Hydra', size: size('PMI_SIZE') };
  return { launcher: env.PMIX_RANK === undefined ? null : 'PMIx', size: null };
}

const MPICH = ['libmpich.so.12', 'libmpi.so.12', 'libmpich.so', 'libmpi.12.dylib'];
const OPEN_MPI = ['libmpi.so.40', 'libmpi.so', 'libmpi.40.dylib', 'libmpi.dylib'];
const STANDARD = ['libmpi_abi.so.0', 'libmpi_abi.so', 'libmpi_abi.dylib'];

/** Libraries to try, in order; `TESSERA_MPI_LIBRARY` is the only one if it is set. */
export function librariesFor({ launcher }: Launch, env: Environment): readonly string[] {
  const own = env.TESSERA_MPI_LIBRARY;
  if (own !== undefined && own !== '') return [own];
  return launcher === 'Open MPI' || launcher === 'PMIx'
    ? [...OPEN_MPI, ...MPICH, ...STANDARD]
    : [...MPICH, ...OPEN_MPI, ...STANDARD];
}
