/**
 * @file Custom passes: one test per row of the conformance list, each in the file of its topic.
 */
import { test } from 'vitest';
import { jointPassAfter, jointPassBefore } from './custom-passes/joint.js';
import { postGradPassAfter, postGradPassBefore } from './custom-passes/post-grad.js';
import { mergesProductsOfSharedOperand } from './custom-passes/pre-grad.js';

test('test_custom_joint_pass_pre', jointPassBefore);
test('test_custom_joint_pass_post', jointPassAfter);
test('test_custom_pre_pass', postGradPassBefore);
test('test_custom_post_pass', postGradPassAfter);
test('test_custom_pre_grad_pass', mergesProductsOfSharedOperand);
