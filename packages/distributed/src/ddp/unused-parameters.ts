/**
 * @file Parameters that get no gradient on some ranks: an error, or found out by a reduction of flags.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, cpuHeap } from '@tessera/tensor';
import { emptyContiguous } from '@tessera/tensor/internal';

/** A flag for each parameter, to be reduced with `max`: whether this rank has a gradient for it. uint8 [params.length] */
export function flagUsed(params: readonly Tensor[], used: ReadonlySet<Tensor>): Tensor {
  const flags = emptyContiguous([params.length], 'uint8', 'cpu');
  cpuHeap().u8.set(
    params.map((param) => (used.has(param) ? 1 : 0)),
    flags.dataPtr(),
  );
  return flags;
}

/** Who is flagged, on whichever rank, once the flags are reduced. Disposes of them. */
export function flaggedParameters(params: readonly Tensor[], flags: Tensor): ReadonlySet<Tensor> {
  const at = flags.dataPtr();
  const { u8 } = cpuHeap();
  const flagged = new Set(params.filter((_, i) => u8[at + i] === 1));
  flags.dispose();
  return flagged;
}

/** The error of a rank whose `backward()` left parameters out. */
export function unusedError(names: readonly string[], rank: number): TesseraError {
  const some = `${names.slice(0, 5).join(', ')}${names.length > 5 ? ', …' : ''}`;
  return new TesseraError(
    'distributed-mismatch',
    `Rank ${rank}: backward() gave no gradient to ${names.length} parameters (${some}), so their reduction over the ranks could not begin.`,
    {
      context: { parameters: names },
      hints: [
        'Let all outputs of forward() take part in the loss.',
        'Or pass { findUnusedParameters: true } to DistributedDataParallel.',
        'Gradients over several backward() calls are accumulated inside model.noSync(), but for the last.',
      ],
    },
  );
}

/** The error of a captured `backward()` that leaves parameters out, where such are looked for. */
export function unusedInGraph(name: string): TesseraError {
  return new TesseraError(
    'aot-unsupported',
    `Which parameters are unused on all ranks is only known at run time, so a compiled backward() cannot reduce gradients where ${name} has none.`,
    {
      hints: [
        'Compile the forward pass only, and call backward() outside; findUnusedParameters works there.',
      ],
    },
  );
}
