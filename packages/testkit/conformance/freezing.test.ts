/**
 * @file Freezing: one test per row of the conformance list and device, each in the file of its topic.
 */
import { test } from 'vitest';
import {
  convBnWithMultiBnShareConv,
  convFunctionalBnWithMultiBnShareConv,
  convMultipleUses,
  cppWrapper,
  dontChangeDtypeFolding,
  foldedConvBn,
  foldedConvBnWithModuleSharing,
  foldedConvFunctionalBnWithModuleSharing,
  unfoldedBn,
} from './freezing/conv-bn.js';
import {
  convLayoutConvertWithView,
  convWeightLayoutConvert,
  convWithAsStrided,
  redundantCloneForLayoutConvert,
} from './freezing/layout.js';
import { rngOp, symintNotFolded } from './freezing/not-folded.js';
import {
  aliasedParamReturn,
  autocastLinear,
  errorOnEager,
  mutation,
  paramDeallocated,
  unequalBiasHorizontalAddmmFusion,
} from './freezing/parameters.js';
import { devices } from './support/devices.js';

test.each(devices)('test_mutation (%s)', mutation);
test.each(devices)('test_aliased_param_return (%s)', aliasedParamReturn);
test.each(devices)('test_autocast (%s)', autocastLinear);
test.each(devices)('test_error_on_eager (%s)', errorOnEager);
test.each(devices)('test_rng_op (%s)', rngOp);
test.each(devices)('test_symint_not_folded (%s)', symintNotFolded);
test.each(devices)('test_conv_multiple_uses (%s)', convMultipleUses);
test.each(devices)('test_unfolded_bn (%s)', unfoldedBn);
test.each(devices)('test_folded_conv_bn (%s)', foldedConvBn);
test.each(devices)('test_folded_conv_bn_with_module_sharing (%s)', foldedConvBnWithModuleSharing);
test.each(devices)(
  'test_folded_conv_functional_bn_with_module_sharing (%s)',
  foldedConvFunctionalBnWithModuleSharing,
);
test.each(devices)('test_conv_bn_with_multi_bn_share_conv (%s)', convBnWithMultiBnShareConv);
test.each(devices)(
  'test_conv_functional_bn_with_multi_bn_share_conv (%s)',
  convFunctionalBnWithMultiBnShareConv,
);
test.each(devices)('test_dont_change_dtype_folding (%s)', dontChangeDtypeFolding);
test.each(devices)('test_param_deallocated (%s)', paramDeallocated);
test.each(devices)('test_conv_with_as_strided (%s)', convWithAsStrided);
test.each(devices)('test_cpp_wrapper (%s)', cppWrapper);
test.each(devices)('test_conv_layout_convert_with_view (%s)', convLayoutConvertWithView);
test.each(devices)('test_conv_weight_layout_convert (%s)', convWeightLayoutConvert);
test.each(devices)(
  'test_unequal_bias_horizontal_addmm_fusion (%s)',
  unequalBiasHorizontalAddmmFusion,
);
test.each(devices)('test_redundant_clone_for_layout_convert (%s)', redundantCloneForLayoutConvert);
