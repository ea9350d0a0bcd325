/**
 * @file What is launched of a plan: small launches are joined, wide recurrences are chains of launches.
 */
import {
  recurrenceChain,
  type RecurrenceKernel,
  type ReplacedLaunches,
  replaceKernels,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { LaunchedKernel } from '../../codegen/scheduled/joined-kernel.js';
import type { WgslTarget } from '../../codegen/target.js';
import { type Launches, joinLaunches } from './join-launches.js';

/** Memory between the launches of a chain. */
interface CarriedBuffer {
  readonly name: string;
  readonly dtype: DType;
  readonly numel: Size;
  readonly source: { readonly kind: 'arena'; readonly offset: number };
}

/** Kernels and launches of a plan on the device, and buffers: its own, and those between launches of a chain. */
export type DeviceLaunches<B extends Launches['buffers'][number]> = Omit<
  ReplacedLaunches<LaunchedKernel, B | CarriedBuffer>,
  'origins'
>;

/** See the file header; of a plan, or of a template. */
export function deviceLaunches<B extends Launches['buffers'][number]>(
  plan: Launches & { readonly buffers: readonly B[] },
  target: WgslTarget,
): DeviceLaunches<B> {
  const { buffers } = plan;
  const joined = { ...joinLaunches(plan, target), buffers };
  const {
    kernels,
    launches,
    buffers: all,
  } = replaceKernels(joined, (kernel) => {
    const recurrences = recurrencesOf(kernel);
    return recurrences.length === 0 ? null : recurrenceChain(recurrences);
  }) ?? joined;
  return { kernels, launches, buffers: all };
}

/** The recurrences that a launch is of. */
function recurrencesOf(kernel: LaunchedKernel): readonly RecurrenceKernel<Size>[] {
  const parts = kernel.kind === 'joined' ? kernel.parts : [kernel];
  return parts.filter((part) => part.kind === 'recurrence');
}
