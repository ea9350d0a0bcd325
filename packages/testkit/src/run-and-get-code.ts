/**
 * @file Watching what a function compiles to: plans and generated code.
 */
import { observeCompilations } from '@tessera/compile';
import type { GraphModule } from '@tessera/graph';
import type { CompiledGraph, ExecutionPlan } from '@tessera/inductor-core';

/** Kernels for which PyTorch calls a library: products, attention and recurrent layers. */
const TEMPLATES: ReadonlySet<string> = new Set(['matmul', 'attention', 'recurrence']);

/** One compiled graph. */
export interface CompiledCode {
  /** The functional graph that was compiled. */
  readonly graph: GraphModule;
  readonly plan: ExecutionPlan;
  /** Generated text of each kernel, in the plan's order. */
  readonly code: readonly string[];
}

/** Result of a function and everything it compiled. */
export interface RunAndCode<R> {
  readonly result: R;
  readonly compiled: readonly CompiledCode[];
}

/**
 * Runs `fn` and collects what `inductor` compiled meanwhile (an async `fn` is awaited).
 *
 * @example const { result, compiled } = await runAndGetCode(compile(fn), x);
 * @see torch._inductor.utils.run_and_get_code
 */
export async function runAndGetCode<A extends readonly unknown[], R>(
  fn: (...args: A) => R | Promise<R>,
  ...args: A
): Promise<RunAndCode<R>> {
  const compiled: CompiledCode[] = [];
  const stop = observeCompilations((graph: GraphModule, made: CompiledGraph) => {
    compiled.push({
      graph,
      plan: made.plan,
      code: made.executable.sources.map((source) => source.text),
    });
  });
  try {
    return { result: await fn(...args), compiled };
  } finally {
    stop();
  }
}

/** Kernel launches of a plan; matmul templates are not counted, as in PyTorch's own counts. */
export function kernelCount(plan: ExecutionPlan, options: { templates?: boolean } = {}): number {
  return plan.launches.filter(
    (launch) => options.templates === true || !TEMPLATES.has(plan.kernels[launch.kernel]!.kind),
  ).length;
}

/** Asserts that a plan launches at most `limit` kernels besides templates. */
export function expectKernelCount(plan: ExecutionPlan, limit: number): void {
  const count = kernelCount(plan);
  if (count > limit) {
    const names = plan.launches.map((launch) => plan.kernels[launch.kernel]!.name).join(', ');
    throw new Error(
      `Plan '${plan.name}' launches ${count} kernels besides templates, at most ${limit} are allowed: ${names}`,
    );
  }
}
