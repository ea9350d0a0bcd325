/**
 * @file `Pass`: one named transformation of a graph.
 */
import type { GraphModule } from '@tessera/graph';
import { type Steps, atOnce } from '@tessera/shared';

/** A transformation; the name is what logs and debug folders show. */
export interface Pass {
  readonly name: string;
  /** Changes the module in place; returns whether anything changed. */
  run(module: GraphModule): boolean;
  /** The same with pauses; a pass without it makes none. */
  steps?(module: GraphModule): Steps<boolean>;
}

/** A pass that makes pauses; `steps` counts what it changed. */
export function passOf(name: string, steps: (module: GraphModule) => Steps<number>): Pass {
  return {
    name,
    run: (module) => atOnce(steps(module)) > 0,
    *steps(module) {
      return (yield* steps(module)) > 0;
    },
  };
}
