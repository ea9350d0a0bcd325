/**
 * @file Whether a replay may jump over a trusted region.
 */
import type { RegionInputs } from '@tessera/tensor';
import type { SizeTuple } from '../dynamic/size-tuple.js';
import { matchAll, unbindPatterns } from '../trace/pattern.js';
import type { Run } from '../trace/run.js';
import type { OutSpec, RegionJump, RegionStep } from '../trace/step.js';
import { regionLeaves } from './region-leaves.js';

/**
 * What the region leaves behind if its owner and inputs are as recorded, else null. A `SizeTuple` says that
 * they are, with sizes not met before.
 */
export function matchJump(
  step: RegionStep,
  jump: RegionJump,
  inputs: RegionInputs,
  run: Run,
): readonly OutSpec[] | SizeTuple | null {
  const { tuple } = run;
  if (!jump.guards.check(step.owner)) return null;
  if (!matchAll(step.inputs, regionLeaves(inputs), run)) return null;
  const withInputs = run.tuple;
  if (!matchAll(jump.implicit, jump.fetch(step.owner), run)) {
    unbindPatterns(step.inputs, step.inputs.length, run);
    run.unbindSymbols(tuple);
    return null;
  }
  const symbolic = run.tuple;
  if (symbolic.parent === null) return jump.produced;
  const known = symbolic.specs.get(step) as readonly OutSpec[] | undefined;
  if (known !== undefined) return known;
  // The body binds what it reads itself; its inputs stay bound.
  unbindPatterns(jump.implicit, jump.implicit.length, run);
  run.unbindSymbols(withInputs);
  return symbolic;
}
