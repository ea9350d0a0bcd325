/**
 * @file Operators that get code for every size where they run eagerly. The lists may only become shorter.
 */

const EVERYWHERE: readonly string[] = [
  // Kernels of windows are numbers, which vary here where sizes are like them.
  'aten::avg_pool2d',
  'aten::avg_pool3d',
  // A factor that is not that of the sizes.
  'aten::_upsample_nearest_exact3d_backward',
  // Modes and padding are numbers, which vary here where sizes are like them.
  'aten::grid_sampler_3d',
  'aten::replication_pad2d',
  'aten::replication_pad2d_backward',
  // Channels and heads are numbers where products are laid out.
  'aten::_scaled_dot_product_flash_attention_for_cpu',
  'aten::_scaled_dot_product_flash_attention_for_cpu_backward',
  'aten::convolution',
  // Numbers of rows are computed from a count of pairs.
  'aten::_pdist_forward',
  'aten::tril_indices',
];

/** By device. */
export const COMPILED_PER_SIZE: Readonly<Record<'cpu' | 'wgpu', readonly string[]>> = {
  cpu: [...EVERYWHERE, 'aten::triu_indices'],
  wgpu: [
    ...EVERYWHERE,
    // Bisection has as many steps as the length has digits.
    'aten::bucketize.Tensor',
    'aten::searchsorted.Scalar',
    // So many places as a number says, found by bisection.
    'aten::nonzero_static',
  ],
};
