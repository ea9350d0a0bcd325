/**
 * @file Operators that get code for every size where they run eagerly. The lists may only become shorter.
 */

const EVERYWHERE: readonly string[] = [
  // Windows whose number is a quotient of two sizes, rounded.
  'aten::_adaptive_avg_pool2d',
  'aten::_adaptive_avg_pool3d',
  'aten::_adaptive_avg_pool3d_backward',
  'aten::adaptive_max_pool2d',
  'aten::adaptive_max_pool3d',
  'aten::avg_pool2d',
  'aten::avg_pool2d_backward',
  'aten::avg_pool3d',
  'aten::avg_pool3d_backward',
  'aten::max_pool2d_with_indices_backward',
  'aten::max_pool3d_with_indices_backward',
  // Positions are quotients of sizes.
  'aten::_upsample_bilinear2d_aa_backward',
  'aten::_upsample_nearest_exact1d',
  'aten::_upsample_nearest_exact1d_backward',
  'aten::_upsample_nearest_exact2d',
  'aten::_upsample_nearest_exact2d_backward',
  'aten::_upsample_nearest_exact3d',
  'aten::_upsample_nearest_exact3d_backward',
  'aten::upsample_bicubic2d',
  'aten::upsample_bicubic2d_backward',
  'aten::upsample_bilinear2d',
  'aten::upsample_bilinear2d_backward',
  'aten::upsample_linear1d',
  'aten::upsample_linear1d_backward',
  'aten::upsample_nearest1d',
  'aten::upsample_nearest1d_backward',
  'aten::upsample_nearest2d',
  'aten::upsample_nearest2d_backward',
  'aten::upsample_nearest3d',
  'aten::upsample_nearest3d_backward',
  'aten::upsample_trilinear3d',
  'aten::upsample_trilinear3d_backward',
  // Modes and padding are numbers, which vary here where sizes are like them.
  'aten::grid_sampler_3d',
  'aten::replication_pad2d',
  'aten::replication_pad2d_backward',
  // Channels, heads and bags are numbers where products and searches are laid out.
  'aten::_embedding_bag',
  'aten::_embedding_bag_backward',
  'aten::_scaled_dot_product_flash_attention_for_cpu',
  'aten::_scaled_dot_product_flash_attention_for_cpu_backward',
  'aten::convolution',
  'aten::convolution_backward',
  // Numbers of rows are computed from a count of pairs.
  'aten::_pdist_forward',
  'aten::tril_indices',
];

/** By device. */
export const COMPILED_PER_SIZE: Readonly<Record<'cpu' | 'wgpu', readonly string[]>> = {
  cpu: [...EVERYWHERE, 'aten::triu_indices'],
  // Bisection has as many steps as the length has digits.
  wgpu: [...EVERYWHERE, 'aten::bucketize.Tensor', 'aten::searchsorted.Scalar'],
};
