/**
 * @file Random graphs through every pass alone and through the pipelines: what the caller gets stays the same.
 *
 * `TESSERA_FUZZ_SEED` and `TESSERA_FUZZ_GRAPHS` choose others than the few of every run; a failure names its
 * seed.
 */
import { type GraphModule, copyModule } from '@tessera/graph';
import { isTesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  type Pass,
  addmmFusion,
  attentionFusion,
  catSplit,
  constantFolding,
  convBinaryFolding,
  convBnFolding,
  cse,
  dce,
  freezingPipeline,
  horizontalMerging,
  jointPipeline,
  layoutOptimization,
  matmulEpilogue,
  noopRemoval,
  postGradPipeline,
  runPasses,
  viewFolding,
  weightPrepacking,
  useAttentionFusion,
} from '../src/index.js';
import { type Observation, observe, sameObservation } from './support/observe.js';
import { type GraphTraits, randomGraph } from './support/random-graph.js';

const first = Number(process.env['TESSERA_FUZZ_SEED'] ?? 1);
const graphs = Number(process.env['TESSERA_FUZZ_GRAPHS'] ?? 40);
const SIZE = 20;

useAttentionFusion();

/** Passes for graphs with any ops; pipelines, and passes on joint and later graphs, get functional ones. */
const PASSES: readonly (readonly [string, readonly Pass[], GraphTraits])[] = [
  ...[noopRemoval, viewFolding, constantFolding(), cse, dce, catSplit].map(
    (pass) => [pass.name, [pass], { mutation: true, random: true }] as const,
  ),
  ...[
    addmmFusion,
    matmulEpilogue,
    attentionFusion,
    convBnFolding,
    convBinaryFolding,
    horizontalMerging,
    weightPrepacking,
    layoutOptimization(false),
  ].map((pass) => [pass.name, [pass], { mutation: false, random: true }] as const),
  ['joint pipeline', jointPipeline(), { mutation: false, random: true }],
  ['post-grad pipeline', postGradPipeline(), { mutation: false, random: true }],
  ['freezing pipeline', freezingPipeline(), { mutation: false, random: true }],
  [
    'all of them',
    [...jointPipeline(), ...freezingPipeline(), ...postGradPipeline()],
    { mutation: false, random: false },
  ],
];

/** What a graph shows; null for one with an op that its values do not allow. */
function observeIfPossible(module: GraphModule, inputs: readonly Tensor[]): Observation | null {
  try {
    return observe(module, inputs);
  } catch (error) {
    if (isTesseraError(error)) return null;
    throw error;
  }
}

describe('random graphs', () => {
  it.each(PASSES)('%s keeps what they compute', (_name, passes, traits) => {
    for (let seed = first; seed < first + graphs; seed++) {
      const { module, inputs } = randomGraph(seed, SIZE, traits);
      module.lint();
      const expected = observeIfPossible(module, inputs());
      if (expected === null) continue;
      const changed = copyModule(module);
      try {
        runPasses(changed, passes);
        changed.lint();
        expect(sameObservation(observe(changed, inputs()), expected)).toBe('');
      } catch (error) {
        throw new Error(
          `TESSERA_FUZZ_SEED=${seed} TESSERA_FUZZ_GRAPHS=1: ${String(error)}\n${module.print()}\nafter:\n${changed.print()}`,
          { cause: error },
        );
      }
    }
  });
});
