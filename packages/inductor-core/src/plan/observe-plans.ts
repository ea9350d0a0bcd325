/**
 * @file Who sees every plan that the compiler makes: tests, which verify them all.
 */
import type { CompileTarget } from '../compile-graph.js';
import type { ExecutionPlan } from './execution-plan.js';

/** Sees a plan before it is used. What it throws, the compilation throws. */
export type PlanObserver = (plan: ExecutionPlan, target: CompileTarget) => void;

const observers = new Set<PlanObserver>();

/**
 * Shows every plan made from now on to `observer`, until the function that it returns is called.
 *
 * @example observePlans((plan, { capabilities }) => verifyPlan(plan, capabilities.itemSize));
 */
export function observePlans(observer: PlanObserver): () => void {
  observers.add(observer);
  return () => observers.delete(observer);
}

/** Shows a plan to the observers. */
export function showPlan(plan: ExecutionPlan, target: CompileTarget): void {
  for (const observer of observers) observer(plan, target);
}
