/**
 * @file Plans from texts check what they are given: no guards stand before their runs, as before those of compiled functions.
 */
import type { Executable } from '../backend/kernel-backend.js';
import type { ExecutionPlan } from './execution-plan.js';

/** Checks what a plan is run with. @throws plan-invalid */
export type ArgumentCheck = (...args: Parameters<Executable['run']>) => void;

const checks = new WeakMap<ExecutionPlan, ArgumentCheck>();

/** Has a plan that was read from a text checked when it runs. */
export function checkRuns(
  plan: ExecutionPlan,
  check: (plan: ExecutionPlan, ...args: Parameters<ArgumentCheck>) => void,
): ExecutionPlan {
  checks.set(plan, (...args) => check(plan, ...args));
  return plan;
}

/** The check of a plan that was read from a text; null for one that was compiled here. */
export function argumentCheck(plan: ExecutionPlan): ArgumentCheck | null {
  return checks.get(plan) ?? null;
}

/** The executable of a plan; if the plan is from a text, it checks what it is run with. */
export function checkedExecutable(executable: Executable): Executable {
  const { plan, sources } = executable;
  const check = argumentCheck(plan);
  if (check === null) return executable;
  return {
    plan,
    sources,
    run(inputs, outputs, scalars) {
      check(inputs, outputs, scalars);
      executable.run(inputs, outputs, scalars);
    },
    dispose: () => executable.dispose(),
  };
}
