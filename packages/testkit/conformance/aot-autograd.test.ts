/**
 * @file AOT autograd: one test per row of the conformance list, each in the file of its topic.
 */
import { test } from 'vitest';
import { gradientIsInput } from './aot-autograd/aliased-gradients.js';
import { backwardDataAccess, copiesFakes, forwardDataAccess } from './aot-autograd/data-pointer.js';
import { doubleBackwardErrors } from './aot-autograd/double-backward.js';
import { exportsForwardOnly } from './aot-autograd/export.js';
import {
  addsToLeafUnderNoGrad,
  addsToSine,
  assignsSliceOfInput,
  assignsSliceOfIntermediate,
} from './aot-autograd/in-place.js';
import {
  fourArguments,
  requiresGradOfArgument,
  twoArguments,
  withGlobal,
  withLists,
  withNumbers,
  withParameter,
} from './aot-autograd/duplicate-arguments.js';
import {
  expandMutationBackwards,
  expandMutationError,
  expandMutationFunctionalizes,
} from './aot-autograd/expanded-memory.js';
import { setOfLeaf } from './aot-autograd/leaf-set.js';
import { bidirectionalLstm } from './aot-autograd/recurrent.js';
import { profiledSequenceNumbers } from './aot-autograd/profile.js';
import { jointTable, noMetadataIsLeft } from './aot-autograd/sequence-numbers.js';
import { duplicatesBetweenHalves } from './aot-autograd/split-graph.js';

import {
  aliasesAcrossBranch,
  changesGradMode,
  exportedControlFlow,
  exportedConvolution,
  exportedUnsafeWrite,
  makesParameter,
} from './aot-autograd/tracer.js';

test('test_LSTM', bidirectionalLstm);

test('test_mutation', addsToLeafUnderNoGrad);
test('test_mutation1', assignsSliceOfInput);
test('test_negative_testing_mutation', assignsSliceOfIntermediate);
test('test_negative_testing', addsToSine);

test('test_aot_autograd_expand_mutation_functionalizes', expandMutationFunctionalizes);
test('test_aot_autograd_expand_mutation_backwards', expandMutationBackwards);
test('test_aot_autograd_expand_mutation_error', expandMutationError);
test('test_aot_autograd_raises_invalid_leaf_set', setOfLeaf);

test('test_double_backward_errors', doubleBackwardErrors);
test('test_grad_inputs_alias_inputs', gradientIsInput);

test('test_multiple_aot_autograd_calls_dupe_args', duplicatesBetweenHalves);
test('test_aot_export_joint_simple_repro', exportsForwardOnly);

test('test_aot_sequence_nr', jointTable);
test('test_eager_sequence_nr', profiledSequenceNumbers);
test('test_split_with_sizes_aot_autograd_cleans_up_traceback_meta', noMetadataIsLeft);

test('test_data_ptr_access_copy', copiesFakes);
test('test_data_ptr_access_fails_in_forward', forwardDataAccess);
test('test_data_ptr_access_fails_in_backward', backwardDataAccess);

test('test_arg_dupe_via_dynamo_recompiles', twoArguments);
test('test_arg_dupe_via_dynamo_recompiles_many_args', fourArguments);
test('test_arg_dupe_via_dynamo_recompiles_many_args_param', withParameter);
test('test_arg_dupe_via_dynamo_recompiles_many_args_param_non_tensor_arg', withNumbers);
test('test_arg_dupe_via_dynamo_recompiles_many_args_param_non_tensor_arg_list', withLists);
test('test_arg_dupe_via_dynamo_recompiles_many_with_global', withGlobal);
test('test_requires_grad_fake_via_dynamo_recompiles', requiresGradOfArgument);

test('test_call_fn_with_non_const_inputs_aot_safe', exportedConvolution);
test('test_call_fn_with_non_const_inputs_aot_unsafe', exportedUnsafeWrite);
test('test_call_fn_with_non_const_inputs_aot_unsafe_control_flow', exportedControlFlow);
test('test_alias_inputs', aliasesAcrossBranch);
test('test_nn_parameter_construction', makesParameter);
test('test_aot_grad_mode_mutation', changesGradMode);
