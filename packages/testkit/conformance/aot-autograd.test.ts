/**
 * @file AOT autograd: one test per row of the conformance list, each in the file of its topic.
 */
import { test } from 'vitest';
import {
  addsToLeafUnderNoGrad,
  addsToSine,
  assignsSliceOfInput,
  assignsSliceOfIntermediate,
} from './aot-autograd/in-place.js';
import {
  expandMutationBackwards,
  expandMutationError,
  expandMutationFunctionalizes,
} from './aot-autograd/expanded-memory.js';

test('test_mutation', addsToLeafUnderNoGrad);
test('test_mutation1', assignsSliceOfInput);
test('test_negative_testing_mutation', assignsSliceOfIntermediate);
test('test_negative_testing', addsToSine);

test('test_aot_autograd_expand_mutation_functionalizes', expandMutationFunctionalizes);
test('test_aot_autograd_expand_mutation_backwards', expandMutationBackwards);
test('test_aot_autograd_expand_mutation_error', expandMutationError);
