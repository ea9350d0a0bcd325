/**
 * @file Launches of wide recurrences as chains of launches (recurrence-chain.ts): a rewrite of what is launched, before
 * code is generated.
 */
import { extent, type Launch } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { LaunchedKernel } from '../codegen/joined-kernel.js';
import { recurrenceChain } from '../codegen/recurrence-chain.js';
import type { WgslTarget } from '../codegen/target.js';
import { type Launches, joinLaunches } from './join-launches.js';

/** A launch that may be of several times in a row. */
export interface RepeatedLaunch extends Launch {
  /** How often; once where absent. */
  readonly times?: Size;
}

/** Kernels and launches of a plan on the device, and buffers: its own, and those between launches of a chain. */
export interface DeviceLaunches<B extends Launches['buffers'][number]> {
  readonly kernels: readonly LaunchedKernel[];
  readonly launches: readonly RepeatedLaunch[];
  readonly buffers: readonly (B | CarriedBuffer)[];
}

/** Memory between the launches of a chain. */
interface CarriedBuffer {
  readonly name: string;
  readonly dtype: DType;
  readonly numel: Size;
  readonly source: { readonly kind: 'arena'; readonly offset: 0 };
}

/** What of a plan, or of a template, is launched: small launches are joined, wide recurrences are chains. */
export function deviceLaunches<B extends Launches['buffers'][number]>(
  plan: Launches & { readonly buffers: readonly B[] },
  target: WgslTarget,
): DeviceLaunches<B> {
  const joined = joinLaunches(plan, target);
  const kernels: LaunchedKernel[] = [];
  const buffers: (B | CarriedBuffer)[] = [...plan.buffers];
  const placed = joined.kernels.map((kernel) => {
    const chain = kernel.kind === 'recurrence' ? recurrenceChain(kernel) : null;
    const parts =
      chain === null
        ? [kernel]
        : [chain.start, chain.step, ...(chain.end === null ? [] : [chain.end])];
    return { at: kernels.push(...parts) - parts.length, parts, chain };
  });
  const launches = joined.launches.flatMap((launch): RepeatedLaunch[] => {
    const { at, parts, chain } = placed[launch.kernel];
    if (chain === null) return [{ ...launch, kernel: at }];
    const { recurrence } = chain.step;
    const { params, scalars } = recurrence;
    const bound = new Map(params.map(({ name }, i) => [name, launch.buffers[i]]));
    const given = new Map(scalars.map(({ name }, i) => [name, launch.scalars[i]]));
    const source = { kind: 'arena', offset: 0 } as const;
    const { carried: name, numel } = chain;
    bound.set(name, buffers.push({ name, dtype: recurrence.accDtype, numel, source }) - 1);
    return parts.map((part, i) => ({
      kernel: at + i,
      buffers: part.params.map((param) => bound.get(param.name)!),
      scalars: part.scalars.map((scalar) => given.get(scalar.name)!),
      ...(part.kind === 'step' ? { times: extent(recurrence.step) } : {}),
    }));
  });
  return { kernels, launches, buffers };
}
