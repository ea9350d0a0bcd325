/**
 * @file Set-up of the tests: every plan that the compiler makes is verified as one from a stranger would be.
 */
import { observePlans, verifyPlan } from '@tessera/inductor-core';

observePlans((plan, { capabilities }) => verifyPlan(plan, capabilities.itemSize));
