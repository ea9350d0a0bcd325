/**
 * @file Kernels of a plan replaced by several that run one after another: a rewrite before code is generated.
 */
import type { ExecutionPlan, FusedKernel, Launch, PlanBuffer } from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';

/** A plan whose launches may be parts of those of another. */
export interface SplitPlan extends ExecutionPlan {
  /** The launch that each launch is a part of, if some are. */
  readonly launchOrigins?: readonly number[];
}

/** What stands for a kernel. */
export interface Replacement {
  /** In the order of their launches. Parameters and scalars are the kernel's, by name, or `scratch`. */
  readonly kernels: readonly FusedKernel[];
  /** Memory between them, by the names of its parameters. */
  readonly scratch: readonly {
    readonly name: string;
    readonly dtype: DType;
    readonly numel: number;
  }[];
}

/** The plan with kernels replaced where `replace` gives something; the same object where it never does. */
export function replaceKernels(
  plan: SplitPlan,
  replace: (kernel: FusedKernel) => Replacement | null,
): SplitPlan {
  const kernels: FusedKernel[] = [];
  const replaced = plan.kernels.map((kernel) => {
    const replacement = replace(kernel);
    return {
      at: kernels.length,
      replacement,
      count: kernels.push(...(replacement?.kernels ?? [kernel])),
    };
  });
  if (replaced.every(({ replacement }) => replacement === null)) return plan;
  const buffers: PlanBuffer[] = [...plan.buffers];
  const launches = plan.launches.map((launch): Launch[] => {
    const { at, replacement } = replaced[launch.kernel];
    if (replacement === null) return [{ ...launch, kernel: at }];
    const { name, params, scalars } = plan.kernels[launch.kernel];
    const bound = new Map(params.map((param, i) => [param.name, launch.buffers[i]]));
    const given = new Map(scalars.map((scalar, i) => [scalar.name, launch.scalars[i]]));
    for (const { name: part, dtype, numel } of replacement.scratch) {
      const source = { kind: 'arena', offset: 0 } as const;
      bound.set(part, buffers.push({ name: `${name}_${part}`, dtype, numel, source }) - 1);
    }
    return replacement.kernels.map((kernel, i) => ({
      kernel: at + i,
      buffers: kernel.params.map((param) => bound.get(param.name)!),
      scalars: kernel.scalars.map((scalar) => given.get(scalar.name)!),
    }));
  });
  const origins = plan.launchOrigins ?? [...plan.launches.keys()];
  return {
    ...plan,
    kernels,
    buffers,
    launches: launches.flat(),
    launchOrigins: launches.flatMap((parts, launch) => parts.map(() => origins[launch])),
  };
}
