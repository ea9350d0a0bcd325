/**
 * @file Engine `tessera`: the model in the format, generating with a static cache.
 */
import type { Module } from '@tessera/nn';
import type { DType } from '@tessera/tensor';
import { type CausalLM, TextGenerator, quantize } from '@tessera/transformers';
import { type Format, GROUP } from '../formats.js';
import { type LanguageEngine, timed } from '../language-engine.js';

/** Most tokens of a prompt that are taken in at once. */
const MAX_CHUNK = 128;

async function inFormat(model: CausalLM, format: Format): Promise<void> {
  if (format === 'float16') model.to('float16' satisfies DType);
  // Tables have 8 bits in both, as llama.cpp's files of 4 bits have more for them.
  else if (format === 'int8') await quantize(model, { bits: 8, embeddings: { bits: 8 } });
  else if (format === 'int4')
    await quantize(model, { bits: 4, group: GROUP, embeddings: { bits: 8 } });
}

/** Bytes of what a token reads: all but tables of which it reads a row. */
function weightBytes(model: CausalLM): number {
  const { embed_tokens: table, embed_positions: positions } = model.model;
  const rowsOf = (module: Module): boolean =>
    module === positions || (module === table && model.lm_head !== null);
  let bytes = 0;
  for (const module of model.modules()) {
    if (rowsOf(module)) continue;
    const own = [...module.parameters({ recurse: false }), ...module.buffers({ recurse: false })];
    for (const { storage } of own) bytes += storage.nbytes;
  }
  return bytes;
}

/** See the file header. */
export const tesseraLanguage: LanguageEngine = {
  name: 'tessera',
  async load({ weights, format, maxLength, promptLength }) {
    const model = weights.toModel();
    await inFormat(model, format);
    const generator = new TextGenerator(model, {
      maxLength,
      chunk: Math.min(promptLength, MAX_CHUNK),
    });
    async function* tokens(prompt: readonly number[], count: number): AsyncGenerator<number> {
      for await (const step of generator.stream([...prompt], { maxNewTokens: count }))
        yield step.tokens[0]!;
    }
    return {
      about: 'WebAssembly SIMD and threads',
      weightBytes: weightBytes(model),
      answer: (prompt, count) => timed(tokens(prompt, count), count),
      async dispose() {
        for (const tensor of Object.values(model.stateDict())) tensor.dispose();
      },
    };
  },
};
