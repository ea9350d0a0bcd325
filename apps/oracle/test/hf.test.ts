/**
 * @file The language models of `pnpm oracle:hf`, eager and compiled.
 */
import { describe, expect, it } from 'vitest';
import { runHfModels } from '../src/hf.js';

describe.each(['eager', 'inductor'] as const)('language models, %s', (mode) => {
  it('agree with transformers: logits, padded logits, forty tokens with either cache', async () => {
    const outcomes = await runHfModels(mode, 'cpu');
    expect(outcomes.filter(({ passed }) => !passed)).toEqual([]);
    expect(outcomes).toHaveLength(10);
    // One graph takes prompts in, one picks, one makes tokens.
    const graphs = mode === 'eager' ? 0 : 3;
    expect(outcomes.map((outcome) => outcome.graphs)).toEqual(Array(10).fill(graphs));
  }, 300_000);
});
