/**
 * @file Set-up of the tests: every plan that the compiler makes is verified as one from a stranger would be.
 * It runs again for each test file, so it stops after each: files share the process.
 */
import { observePlans, verifyPlan } from '@tessera/inductor-core';
import { afterAll } from 'vitest';

afterAll(observePlans((plan, { capabilities }) => verifyPlan(plan, capabilities.itemSize)));
