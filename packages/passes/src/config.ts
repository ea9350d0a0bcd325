/**
 * @file Configuration of the passes: switches, and the five hooks for passes of one's own.
 */
import type { Graph, GraphModule } from '@tessera/graph';
import { type OptionValidator, defineConfig, oneOf, option } from '@tessera/shared';
import type { Pass } from './pass.js';

/** A pass of the user's: a function that edits the graph, or a `Pass` (such as a `PatternMatcherPass`). */
export type CustomPass = Pass | ((graph: Graph, module: GraphModule) => void);

/** Options of the root section that passes read. */
export interface PassesConfig {
  readonly patternMatcher: boolean;
  readonly freezing: boolean;
  readonly freezingDiscardParameters: boolean;
  readonly layoutOptimization: boolean | null;
  readonly forceLayoutOptimization: boolean;
  readonly preGradCustomPass: CustomPass | null;
  readonly jointCustomPrePass: CustomPass | null;
  readonly jointCustomPostPass: CustomPass | null;
  readonly postGradCustomPrePass: CustomPass | null;
  readonly postGradCustomPostPass: CustomPass | null;
}

const isPass: OptionValidator<CustomPass | null> = (value) =>
  value === null || typeof value === 'function' || typeof value?.run === 'function'
    ? undefined
    : 'expected a function of (graph, module), a pass with name and run(module), or null';

/** The live view. */
export const passesConfig: PassesConfig = defineConfig<PassesConfig>('', {
  patternMatcher: option(true, 'run the built-in pattern matcher passes'),
  freezing: option(
    false,
    'take parameters and buffers as constants where no gradient is recorded, and fold what depends on them',
  ),
  freezingDiscardParameters: option(
    false,
    'release frozen parameters: the module can then only run compiled',
  ),
  layoutOptimization: option<boolean | null>(
    null,
    'let two convolutions and more, and what lies between them, work channels last, in training and inference; null: where that was measured faster, in frozen graphs on the CPU',
    oneOf<boolean | null>([true, false, null]),
  ),
  forceLayoutOptimization: option(
    false,
    'lay out convolutions channels last everywhere, also where there is one alone',
  ),
  preGradCustomPass: option<CustomPass | null>(
    null,
    'runs on captured graphs, before differentiation',
    isPass,
  ),
  jointCustomPrePass: option<CustomPass | null>(
    null,
    'runs on joint graphs, before the built-in passes',
    isPass,
  ),
  jointCustomPostPass: option<CustomPass | null>(
    null,
    'runs on joint graphs, after the built-in passes',
    isPass,
  ),
  postGradCustomPrePass: option<CustomPass | null>(
    null,
    'runs on each graph that is compiled, before the built-in passes',
    isPass,
  ),
  postGradCustomPostPass: option<CustomPass | null>(
    null,
    'runs on each graph that is compiled, after the built-in passes',
    isPass,
  ),
});
