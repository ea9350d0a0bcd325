/**
 * @file Padding with what is inside: mirrored (reflection) or the edge repeated (replication).
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { imageMeta } from '../../kernels/suggest-format.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { zerosLike } from '../factory/like.js';
import { planesOf } from '../pool/shape.js';

type Kind = 'reflection' | 'replication';

/** [before, after] of each padded dimension, outermost first. */
function padsOf(padding: readonly number[]): [number, number][] {
  return Array.from({ length: padding.length / 2 }, (_, i): [number, number] => [
    padding[padding.length - 2 - 2 * i]!,
    padding[padding.length - 1 - 2 * i]!,
  ]);
}

/** Sizes of the padded tensor. @throws shape-mismatch, invalid-argument */
function paddedSizes(
  op: string,
  kind: Kind,
  rank: number,
  self: Tensor,
  padding: readonly number[],
): number[] {
  if (padding.length !== 2 * rank)
    throw new TesseraError(
      'invalid-argument',
      `${op}: padding size is expected to be ${2 * rank}, got ${formatSizes(padding)}`,
      { hints: ['Give two counts per padded dimension, the last dimension first.'] },
    );
  const inner = self.sizes.slice(self.ndim === rank + 2 ? 1 : 0);
  if ((self.ndim !== rank + 1 && self.ndim !== rank + 2) || inner.includes(0))
    throw new TesseraError(
      'shape-mismatch',
      `${op}: Expected ${rank + 1}D or ${rank + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ${formatSizes(self.sizes)}`,
      { hints: ['The input is [N, C, …] or [C, …].'] },
    );
  const lead = self.ndim - rank;
  return self.sizes.map((size, d) => {
    if (d < lead) return size;
    const [before, after] = padsOf(padding)[d - lead]!;
    if (kind === 'reflection' && (before >= size || after >= size))
      throw new TesseraError(
        'invalid-argument',
        `${op}: Padding size should be less than the corresponding input dimension, but got: padding (${before}, ${after}) at dimension ${d} of input ${formatSizes(self.sizes)}`,
        { hints: ['Mirroring repeats no element twice; use replicate or circular padding.'] },
      );
    const padded = size + before + after;
    if (padded < 1)
      throw new TesseraError(
        'shape-mismatch',
        `${op}: input (size ${size} at dimension ${d}) is too small. Calculated output size: ${padded}`,
        { hints: ['Remove fewer elements than there are.'] },
      );
    return padded;
  });
}

/** The input position along a dimension that a padded position shows. */
function shown(kind: Kind, position: number, size: number): number {
  if (kind === 'replication') return Math.min(Math.max(position, 0), size - 1);
  const mirrored = Math.abs(position);
  return mirrored < size ? mirrored : 2 * (size - 1) - mirrored;
}

/** The positions of a whole input [planes, …] that the positions of the padded one show, in order. */
function sourcesOf(kind: Kind, self: Tensor, rank: number, padding: readonly number[]): number[] {
  const planes = Array.from({ length: planesOf(self, rank) }, (_, plane) => plane);
  return padsOf(padding).reduce((outer, [before, after], d) => {
    const size = self.sizes[self.ndim - rank + d]!;
    const along = Array.from({ length: size + before + after }, (_, o) =>
      shown(kind, o - before, size),
    );
    return outer.flatMap((at) => along.map((i) => at * size + i));
  }, planes);
}

function define(kind: Kind, rank: 1 | 2 | 3): OpOverload<Tensor> {
  const op = `${kind}_pad${rank}d`;
  const forward = defineOp(`aten::${op}(Tensor self, SymInt[${2 * rank}] padding) -> Tensor`, {
    meta: ({ self, padding }) => imageMeta(self, paddedSizes(op, kind, rank, self, padding)),
    kernel: ({ self, padding }, [out]) => {
      const values = readNumbers(self);
      const sources = sourcesOf(kind, self, rank, padding);
      writeNumbers(
        out!,
        sources.map((at) => values[at]!),
      );
    },
    saved: ['self'],
    vjp: ({ self, padding }, { grad }) => ({
      self: () => callOp(backward, [grad, self, padding]),
    }),
  });
  const backward: OpOverload<Tensor> = defineOp(
    `aten::${op}_backward(Tensor grad_output, Tensor self, SymInt[${2 * rank}] padding) -> Tensor`,
    {
      meta: ({ grad_output, self, padding }) => {
        const sizes = paddedSizes(op, kind, rank, self, padding);
        const given = grad_output.sizes;
        if (sizes.some((size, d) => size !== given[d]))
          throw new TesseraError(
            'shape-mismatch',
            `${op}_backward: grad_output sizes unexpected. Expected: ${formatSizes(sizes)}, Got: ${formatSizes(given)}`,
            { hints: ['The gradient has the shape of the padded tensor.'] },
          );
        return imageMeta(self, self.sizes);
      },
      kernel: ({ grad_output, self, padding }, [out]) => {
        const given = readNumbers(grad_output);
        const sums = new Float64Array(self.numel);
        sourcesOf(kind, self, rank, padding).forEach((at, i) => (sums[at]! += given[i]!));
        writeNumbers(out!, sums);
      },
      vjp: ({ padding }, { grad }) => ({
        grad_output: () => callOp(forward, [grad, padding]),
        self: () => zerosLike(grad),
      }),
    },
  );
  return forward;
}

const RANKS = [1, 2, 3] as const;
const reflections = RANKS.map((rank) => define('reflection', rank));
const replications = RANKS.map((rank) => define('replication', rank));

/** Pads the last 1 to 3 dimensions of [N, C, …] with the mirrored inside, two counts each, the last first. @throws shape-mismatch, invalid-argument */
export function reflectionPad(self: Tensor, padding: readonly number[]): Tensor {
  return callOp(opFor(reflections, padding), [self, padding]);
}

/** Pads the last 1 to 3 dimensions of [N, C, …] with their edges, two counts each, the last first. @throws shape-mismatch, invalid-argument */
export function replicationPad(self: Tensor, padding: readonly number[]): Tensor {
  return callOp(opFor(replications, padding), [self, padding]);
}

function opFor(ops: readonly OpOverload<Tensor>[], padding: readonly number[]): OpOverload<Tensor> {
  const op = ops[padding.length / 2 - 1];
  if (op !== undefined) return op;
  throw new TesseraError(
    'invalid-argument',
    `pad: padding size is expected to be 2, 4 or 6, got ${formatSizes(padding)}`,
    { hints: ['Give two counts per padded dimension, the last dimension first.'] },
  );
}
