/**
 * @file How a checkpoint's weights become the decoder's, and back: renamed, transposed, cut apart, put together.
 *
 * A rule names tensors by templates, in which `{i}` is the number of a layer and `{e}` that of an expert. It has both
 * directions, so that what was loaded can be saved as the family's own library reads it.
 */
import { type Tensor, cat } from '@tessera/tensor';
import type { DecoderConfig } from '../config/decoder-config.js';

/** See the file header. `values` are in the order of the templates; with `{e}`, all experts of the first come first. */
export interface WeightRule {
  readonly checkpoint: readonly string[];
  readonly model: readonly string[];
  readonly toModel: (values: readonly Tensor[], config: DecoderConfig) => Tensor[];
  readonly toCheckpoint: (values: readonly Tensor[], config: DecoderConfig) => Tensor[];
}

const same = (values: readonly Tensor[]): Tensor[] => [...values];
const turned = (values: readonly Tensor[]): Tensor[] =>
  values.map((value) => value.t().contiguous());

/** Another name. */
export function renamed(checkpoint: string, model: string): WeightRule {
  return { checkpoint: [checkpoint], model: [model], toModel: same, toCheckpoint: same };
}

/** A matrix that is stored as [in, out]. */
export function transposed(checkpoint: string, model: string): WeightRule {
  return { checkpoint: [checkpoint], model: [model], toModel: turned, toCheckpoint: turned };
}

/** Rows of query, key and value, or of two halves. */
function partSizes(count: number, total: number, { attention }: DecoderConfig): number[] {
  if (count === 2) return [total / 2, total / 2];
  const kv = attention.kvHeads * attention.headDim;
  return [attention.heads * attention.headDim, kv, kv];
}

/**
 * Several linear maps in one tensor: one below the other (`rows`), side by side in a transposed matrix (`columns`),
 * or head by head, query, key and value of each (`heads`).
 */
export function joined(
  checkpoint: string,
  model: readonly string[],
  how: 'rows' | 'columns' | 'heads',
): WeightRule {
  if (how === 'heads')
    return {
      checkpoint: [checkpoint],
      model,
      toModel: ([value], config) => byHead(value!, config),
      toCheckpoint: (values, { attention }) => {
        const heads = values.map((value) => value.reshape([attention.heads, 1, -1]));
        return [cat(heads, 1).reshape([-1, ...values[0]!.sizes.slice(1)])];
      },
    };
  const turn = how === 'columns' ? turned : same;
  return {
    checkpoint: [checkpoint],
    model,
    toModel(values, config) {
      const [value] = turn(values);
      const parts = value.split(partSizes(model.length, value.size(0), config), 0);
      return parts.map((part) => part.clone());
    },
    toCheckpoint: (values) => turn([cat([...values], 0)]),
  };
}

function byHead(value: Tensor, { attention }: DecoderConfig): Tensor[] {
  const { heads, headDim } = attention;
  const rest = value.sizes.slice(1);
  const split = value.reshape([heads, 3, headDim, ...rest]);
  return [0, 1, 2].map((i) => split.select(1, i).reshape([heads * headDim, ...rest]));
}

/**
 * The same map of all experts, which are one network as wide as all of them: one below the other (`rows`, what comes out
 * is theirs) or side by side (`columns`, what goes in is). A checkpoint has a tensor for each expert, where the name has
 * `{e}`, or one of [experts, rows, columns].
 */
export function stacked(checkpoint: string, model: string, how: 'rows' | 'columns'): WeightRule {
  const dim = how === 'rows' ? 0 : 1;
  const isOne = !checkpoint.includes('{e}');
  return {
    checkpoint: [checkpoint],
    model: [model],
    toModel: (values) => [
      isOne ? values[0]!.movedim(0, dim).flatten(dim, dim + 1) : cat([...values], dim),
    ],
    toCheckpoint([value], { feedForward }) {
      const { count } = feedForward.experts!;
      return isOne
        ? [value!.unflatten(dim, [count, -1]).movedim(dim, 0).contiguous()]
        : value!.chunk(count, dim).map((part) => part.contiguous());
    },
  };
}
