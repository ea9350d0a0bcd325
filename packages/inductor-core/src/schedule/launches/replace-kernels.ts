/**
 * @file Kernels replaced by several that run one after another: a rewrite of what is launched, before code is generated.
 */
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { BufferParam, ScalarParam } from '../../ir/kernel.js';
import type { Launch } from '../../plan/execution-plan.js';

/** What is launched: parameters are bound in their order. */
interface Launchable {
  readonly name: string;
  readonly params: readonly BufferParam[];
  readonly scalars: readonly ScalarParam[];
}

/** A launch that may be of several times in a row. */
export interface RepeatedLaunch extends Launch {
  /** How often; once where absent. */
  readonly times?: Size;
}

/** Memory between the kernels that stand for one. */
export interface ScratchBuffer<S extends Size = number> {
  readonly name: string;
  readonly dtype: DType;
  readonly numel: S;
}

/** What stands for a kernel. */
export interface Replacement<K, S extends Size = number> {
  /** In the order of their launches. Parameters and scalars are the kernel's, by name, or `scratch`. */
  readonly kernels: readonly K[];
  /** How often each is launched, where that is not once. */
  readonly times?: readonly (Size | undefined)[];
  /** By the names of its parameters. */
  readonly scratch: readonly ScratchBuffer<S>[];
}

/** Kernels, launches and buffers, and the launch that each launch is a part of. */
export interface ReplacedLaunches<K, B> {
  readonly kernels: readonly K[];
  readonly launches: readonly RepeatedLaunch[];
  readonly buffers: readonly B[];
  readonly origins: readonly number[];
}

/** What is launched with kernels replaced where `replace` gives something; null where it never does. */
export function replaceKernels<K extends Launchable, P extends Launchable, S extends Size, B>(
  plan: {
    readonly kernels: readonly K[];
    readonly launches: readonly Launch[];
    readonly buffers: readonly B[];
  },
  replace: (kernel: K) => Replacement<P, S> | null,
): ReplacedLaunches<K | P, B | ArenaBuffer<S>> | null {
  const kernels: (K | P)[] = [];
  const replaced = plan.kernels.map((kernel) => {
    const replacement = replace(kernel);
    const at = kernels.length;
    kernels.push(...(replacement?.kernels ?? [kernel]));
    return { at, replacement };
  });
  if (replaced.every(({ replacement }) => replacement === null)) return null;
  const buffers: (B | ArenaBuffer<S>)[] = [...plan.buffers];
  const launches = plan.launches.map((launch): RepeatedLaunch[] => {
    const { at, replacement } = replaced[launch.kernel]!;
    if (replacement === null) return [{ ...launch, kernel: at }];
    const { name, params, scalars } = plan.kernels[launch.kernel]!;
    const bound = new Map(params.map((param, i) => [param.name, launch.buffers[i]!]));
    const given = new Map(scalars.map((scalar, i) => [scalar.name, launch.scalars[i]!]));
    for (const scratch of replacement.scratch) {
      const source = { kind: 'arena', offset: 0 } as const;
      const buffer = { ...scratch, name: `${name}_${scratch.name}`, source };
      bound.set(scratch.name, buffers.push(buffer) - 1);
    }
    return replacement.kernels.map((kernel, i) => ({
      kernel: at + i,
      buffers: kernel.params.map((param) => bound.get(param.name)!),
      scalars: kernel.scalars.map((scalar) => given.get(scalar.name)!),
      ...(replacement.times?.[i] !== undefined && { times: replacement.times[i] }),
    }));
  });
  const origins = launches.flatMap((parts, launch) => parts.map(() => launch));
  return { kernels, launches: launches.flat(), buffers, origins };
}

/** Such memory as a buffer of a plan. */
export interface ArenaBuffer<S extends Size = number> extends ScratchBuffer<S> {
  readonly source: { readonly kind: 'arena'; readonly offset: number };
}
