/**
 * @file Joining along axes by name (hstack, vstack, dstack, column_stack), blocks on a diagonal, chunks.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { defineOp } from '../../op/op-overload.js';
import { formatSizes, wrapDim, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { resultType } from '../../type-promotion.js';
import { toDtype } from './copy.js';
import { zeros } from '../factory/factory.js';
import { cat } from './join.js';
import { constantPad } from '../resample/pad.js';
import { atleast1d, atleast2d, atleast3d } from '../view/rank.js';
import { reshape } from '../view/view.js';

/** @throws invalid-argument for an empty list */
function nonEmpty(name: string, list: readonly Tensor[]): readonly Tensor[] {
  if (list.length === 0)
    throw new TesseraError('invalid-argument', `${name} expects a non-empty TensorList`, {
      hints: ['Pass at least one tensor.'],
    });
  return list;
}

const hstackOp = defineOp('aten::hstack(Tensor[] tensors) -> Tensor', {
  decompose: ({ tensors }) => {
    const list = atleast1d(nonEmpty('hstack', tensors));
    return cat(list, list[0]!.ndim === 1 ? 0 : 1);
  },
});
const vstackOp = defineOp('aten::vstack(Tensor[] tensors) -> Tensor', {
  decompose: ({ tensors }) => cat(atleast2d(nonEmpty('vstack', tensors)), 0),
});
const dstackOp = defineOp('aten::dstack(Tensor[] tensors) -> Tensor', {
  decompose: ({ tensors }) => cat(atleast3d(nonEmpty('dstack', tensors)), 2),
});
const columnStackOp = defineOp('aten::column_stack(Tensor[] tensors) -> Tensor', {
  decompose: ({ tensors }) =>
    cat(
      nonEmpty('column_stack', tensors).map((x) => (x.ndim <= 1 ? reshape(x, [x.numel, 1]) : x)),
      1,
    ),
});

const blockDiagOp = defineOp('aten::block_diag(Tensor[] tensors) -> Tensor', {
  decompose: ({ tensors: list }) => {
    if (list.length === 0) return zeros([1, 0]);
    const dtype = resultType(list);
    const blocks = list.map((tensor, i) => {
      if (tensor.ndim > 2)
        throw new TesseraError(
          'invalid-dim',
          `torch.block_diag: Input tensors must have 2 or fewer dimensions. Input ${i} has ${tensor.ndim} dimensions`,
          { hints: ['Pass matrices, vectors (one row) or scalars.'] },
        );
      return atleast2d(toDtype(tensor, dtype));
    });
    const width = blocks.reduce((sum, block) => sum + block.sizes[1]!, 0);
    let before = 0;
    const rows = blocks.map((block) => {
      const left = before;
      before += block.sizes[1]!;
      return constantPad(block, [left, width - before]);
    });
    return cat(rows, 0);
  },
});

// Every tensor is padded to a whole number of chunks; chunk c of the result holds chunk c of each.
const chunkCatOp = defineOp(
  'aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor',
  {
    decompose: ({ tensors, dim, num_chunks: chunks }) => {
      const list = nonEmpty('_chunk_cat', tensors);
      if (!(chunks >= 1))
        throw new TesseraError(
          'invalid-argument',
          `_chunk_cat expects positive num_chunks, got ${chunks}`,
          { hints: ['Ask for at least one chunk.'] },
        );
      const at = wrapDim(dim, list[0]!.ndim, '_chunk_cat');
      const lead = formatSizes(list[0]!.sizes.slice(0, at));
      const parts = list.map((tensor) => {
        if (
          tensor.ndim <= at ||
          tensor.numel === 0 ||
          formatSizes(tensor.sizes.slice(0, at)) !== lead
        )
          throw new TesseraError(
            'shape-mismatch',
            `_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors and no empty tensor, got ${formatSizes(tensor.sizes)}`,
            { hints: ['Only dimensions from dim on may differ.'] },
          );
        const size = tensor.sizes[at]!;
        const missing = Math.ceil(size / chunks) * chunks - size;
        const pad = [...Array<number>(2 * (tensor.ndim - at - 1)).fill(0), 0, missing];
        const whole = missing === 0 ? tensor : constantPad(tensor, pad);
        return reshape(whole, [
          ...tensor.sizes.slice(0, at),
          chunks,
          whole.numel / (chunks * outer(tensor, at)),
        ]);
      });
      return cat(parts, at + 1);
    },
  },
);

function outer(tensor: Tensor, dim: number): number {
  return numelOf(tensor.sizes.slice(0, dim));
}

/** Tensors side by side: along dimension 1, vectors along 0. @throws shape-mismatch, invalid-argument */
export function hstack(tensors: readonly Tensor[]): Tensor {
  return callOp(hstackOp, [tensors]);
}

/** Tensors one below the other; vectors are rows. @throws shape-mismatch, invalid-argument */
export function vstack(tensors: readonly Tensor[]): Tensor {
  return callOp(vstackOp, [tensors]);
}

/** Tensors along dimension 2; lower ranks as by `atleast3d`. @throws shape-mismatch, invalid-argument */
export function dstack(tensors: readonly Tensor[]): Tensor {
  return callOp(dstackOp, [tensors]);
}

/** Columns side by side; vectors are columns. @throws shape-mismatch, invalid-argument */
export function columnStack(tensors: readonly Tensor[]): Tensor {
  return callOp(columnStackOp, [tensors]);
}

/** Matrices along the diagonal of a matrix of zeros. @throws invalid-dim */
export function blockDiag(tensors: readonly Tensor[]): Tensor {
  return callOp(blockDiagOp, [tensors]);
}

/** Tensors cut into zero-padded chunks along `dim`, joined chunk by chunk. @throws invalid-argument, shape-mismatch */
export function chunkCat(tensors: readonly Tensor[], dim: number, numChunks: number): Tensor {
  return callOp(chunkCatOp, [tensors, dim, numChunks]);
}
