/**
 * @file Layout optimisation: one test per row of the conformance list and device, each in the file of its
 * topic. Model rows are broken by `graphBreak()`.
 */
import { test } from 'vitest';
import {
  modelsInDataParallel,
  mutateBaseForConvOutput,
  mutateViewForConvOutput,
  threeConvsWithGraphBreak,
  trainingAccuracy,
  twoConvsWithGraphBreak,
} from './layout-optim/models.js';
import {
  dynamicShapeSpecialization,
  keepOutputLayoutInfer,
  keepOutputLayoutWithFreezing,
  mutateBase,
  mutateView,
  nllLossBackward,
} from './layout-optim/outputs.js';
import { devices } from './support/devices.js';

test.each(devices)('test_2conv_with_graph_break (%s)', twoConvsWithGraphBreak);
test.each(devices)('test_3conv_with_graph_break (%s)', threeConvsWithGraphBreak);
test.each(devices)('test_keep_output_layout_infer (%s)', keepOutputLayoutInfer);
test.each(devices)('test_keep_output_layout_with_freezing (%s)', keepOutputLayoutWithFreezing);
test.each(devices)('test_training_acc (%s)', trainingAccuracy);
test.each(devices)('test_mutate_view (%s)', mutateView);
test.each(devices)('test_mutate_base (%s)', mutateBase);
test.each(devices)('test_mutate_base_for_conv_output (%s)', mutateBaseForConvOutput);
test.each(devices)('test_mutate_view_for_conv_output (%s)', mutateViewForConvOutput);
test.each(devices)('test_dynamic_shape_specialization (%s)', dynamicShapeSpecialization);
// Ten billion multiplications take minutes on a software adapter.
test.each(devices)('test_nll_loss_backward (%s)', nllLossBackward, 600_000);

test.each(devices)(
  'the model rows wrapped in DistributedDataParallel, a one-process group (%s)',
  modelsInDataParallel,
);
