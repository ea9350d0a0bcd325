/**
 * @file The same all-reduces in C on the same MPI: what there is to reach.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Arguments: the number of ranks, then sizes in bytes. */
const SOURCE = `
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int by_value(const void *a, const void *b) {
  double d = *(const double *)a - *(const double *)b;
  return (d > 0) - (d < 0);
}
int main(int argc, char **argv) {
  int rank, size, i, k;
  double times[200];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  /* Compiled for another MPI than the launcher's, every process is alone. */
  if (size != atoi(argv[1])) return 1;
  for (i = 2; i < argc; i++) {
    long bytes = atol(argv[i]), count = bytes / 4;
    int repeats = (1 << 24) / bytes;
    float *data = malloc(bytes);
    if (repeats < 7) repeats = 7;
    if (repeats > 200) repeats = 200;
    for (long j = 0; j < count; j++) data[j] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (k = -1; k < repeats; k++) {
      double start = MPI_Wtime();
      MPI_Allreduce(MPI_IN_PLACE, data, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      if (k >= 0) times[k] = MPI_Wtime() - start;
    }
    qsort(times, repeats, sizeof(double), by_value);
    if (rank == 0) printf("%ld %f\\n", bytes, times[repeats / 2] * 1e6);
    free(data);
  }
  MPI_Finalize();
  return 0;
}
`;

/** Compiles it with the compiler of the MPI that `mpirun` belongs to; null where that is not there. */
export function compileForMpi(mpirun: string): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-mpi-'));
  const source = join(folder, 'all-reduce.c');
  const program = join(folder, 'all-reduce');
  writeFileSync(source, SOURCE);
  // Debian's alternatives name compilers as they name launchers.
  const isMpich = /HYDRA/.test(spawnSync(mpirun, ['--version'], { encoding: 'utf8' }).stdout);
  for (const compiler of [isMpich ? 'mpicc.mpich' : 'mpicc.openmpi', 'mpicc'])
    if (spawnSync(compiler, ['-O2', '-o', program, source]).status === 0) return program;
  return null;
}
