/**
 * @file Calls of the differentiable operators that no recorded case has gradients of. Tensors are float64 and, unless
 * they are wrapped in `fixed`, want a gradient.
 */
import { type Tensor, eye, fromTypedArray, getOp } from '@tessera/tensor';
import '@tessera/tensor/linalg';
import type { OpInput } from '@tessera/testkit';

/** An argument that wants no gradient. */
class Fixed {
  constructor(readonly tensor: Tensor) {}
}

/** Values between -1 and 1, none at a kink of the operators below. */
function values(...sizes: number[]): Tensor {
  const count = sizes.reduce((a, b) => a * b, 1);
  return fromTypedArray(
    Float64Array.from({ length: count }, (_, i) => Math.sin(0.7 + 2.3 * i)),
    sizes,
  );
}

/** A square matrix far from singular ones. */
function regular(n: number): Tensor {
  return values(n, n).add(eye(n, null, { dtype: 'float64' }).mul(2));
}

function fixed(tensor: Tensor): Fixed {
  return new Fixed(tensor);
}

function ones(channels: number): Fixed {
  return fixed(values(channels).mul(0).add(1));
}

const NORM = [values(4, 2), values(2), values(2), ones(2), ones(2)];

/** Numbers of 8 or 4 bits in words. */
function words(rows: number, columns: number): Fixed {
  const packed = Int32Array.from({ length: rows * columns }, (_, i) => Math.sin(1 + i) * 2 ** 31);
  return fixed(fromTypedArray(packed, [rows, columns]));
}

const CALLS: Readonly<Record<string, readonly (readonly unknown[])[]>> = {
  'aten::_weight_int8pack_mm': [
    [values(2, 8), words(3, 2), values(3)],
    [values(2, 16), words(3, 4), values(2, 3)],
  ],
  'aten::_weight_int4pack_mm': [[values(2, 64), words(3, 8), 32, values(2, 3, 2)]],
  'aten::hardsigmoid_backward': [[values(5), values(5).mul(5)]],
  'aten::silu_backward': [[values(5), values(5)]],
  'aten::mish_backward': [[values(5), values(5)]],
  'aten::logit_backward': [[values(5), values(5).mul(0.4).add(0.5), null]],
  'aten::remainder.Scalar': [[values(5).mul(5), 1.5]],
  'aten::fmod.Scalar': [[values(5).mul(5), 1.5]],
  'aten::polygamma': [[1, values(5).add(2)]],
  'aten::special_i0e': [[values(5)]],
  'aten::special_i1e': [[values(5)]],
  'aten::clamp': [[values(7), -0.5, 0.6]],
  'aten::clamp_max': [[values(7), 0.4]],
  'aten::nextafter': [[values(4), values(4).add(2)]],
  'aten::copy': [[values(3, 2), values(2), false]],
  'aten::fill.Tensor': [[values(4), values()]],
  'aten::zero': [[values(4)]],
  'aten::bernoulli': [[values(4).mul(0.4).add(0.5), null]],
  'aten::bernoulli.p': [[values(4), 0.3, null]],
  'aten::uniform': [[values(4), 0, 1, null]],
  'aten::normal_functional': [[values(4), 0, 1, null]],
  'aten::exponential': [[values(4), 2, null]],
  'aten::cauchy': [[values(4), 0, 1, null]],
  'aten::log_normal': [[values(4), 1, 2, null]],
  'aten::geometric': [[values(4), 0.3, null]],
  'aten::poisson': [[values(4).add(2), null]],
  'aten::binomial': [[fixed(values(4).mul(0).add(9)), values(4).mul(0.4).add(0.5), null]],
  'aten::logcumsumexp': [[values(3, 2), 0]],
  'aten::linalg_inv_ex': [[regular(2), false]],
  'aten::_linalg_solve_ex': [
    [regular(2), values(2, 2), true, false],
    [regular(2), values(2, 2), false, false],
  ],
  'aten::_linalg_det': [[regular(3)]],
  'aten::linalg_ldl_solve': [
    [fixed(regular(2)), fixed(fromTypedArray(Int32Array.of(1, 2), [2])), values(2, 2), false],
  ],
  'aten::linalg_lu_factor_ex': [[regular(2), true, false]],
  'aten::linalg_lstsq': [[values(3, 2), values(3, 1), null, null]],
  'aten::native_dropout': [[values(6), 0.4, true]],
  'aten::slice_scatter': [[values(4, 3), values(2, 3), 0, 1, 3, 1]],
  'aten::_upsample_bilinear2d_aa': [[values(1, 1, 5, 5), [3, 2], false, null, null]],
  'aten::_upsample_bicubic2d_aa': [[values(1, 1, 5, 5), [3, 2], false, null, null]],
  'aten::_upsample_bicubic2d_aa_backward': [
    [values(1, 1, 3, 2), [3, 2], [1, 1, 5, 5], false, null, null],
  ],
  'aten::_native_batch_norm_legit_functional': [
    [...NORM, true, 0.1, 1e-5],
    [...NORM, false, 0.1, 1e-5],
  ],
  'aten::_native_batch_norm_legit_no_training': [[...NORM, 0.1, 1e-5]],
};

/** One call, ready for `gradcheckOp`. */
export interface GradcheckCall {
  readonly args: readonly unknown[];
  readonly inputs: readonly OpInput[];
}

/** The calls by display name. */
export const GRADCHECK_CALLS: ReadonlyMap<string, readonly GradcheckCall[]> = new Map(
  Object.entries(CALLS).map(([name, calls]) => {
    const op = getOp(name);
    return [
      op.displayName,
      calls.map((args) => ({
        args: args.map((arg) => (arg instanceof Fixed ? arg.tensor : arg)),
        inputs: args.flatMap((arg, i) =>
          op.schema.args[i]!.type.base === 'Tensor' && arg !== null && !(arg instanceof Fixed)
            ? [{ arg: i, index: null }]
            : [],
        ),
      })),
    ];
  }),
);
