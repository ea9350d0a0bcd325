/**
 * @file Engine `llama-cpp`: llama.cpp as native code through node-llama-cpp, on a GGUF file that is written for it.
 */
import { join } from 'node:path';
import { packageVersion } from '../../engines/package-version.js';
import { ByteFile } from '../files/byte-file.js';
import { decoderGguf } from '../files/decoder-gguf.js';
import { type LanguageEngine, timed } from '../language-engine.js';

/** @see https://node-llama-cpp.withcat.ai */
export const llamaCpp: LanguageEngine = {
  name: 'llama-cpp',
  async load({ weights, format, maxLength, promptLength, threads, folder }) {
    const { LlamaLogLevel, getLlama } = await import('node-llama-cpp');
    const llama = await getLlama({
      gpu: false,
      build: 'never',
      skipDownload: true,
      maxThreads: threads,
      logLevel: LlamaLogLevel.error,
    });
    const file = new ByteFile(join(folder, 'model.gguf'));
    const weightBytes = decoderGguf(weights, format, file);
    file.close();
    const model = await llama.loadModel({ modelPath: file.path, gpuLayers: 0 });
    const context = await model.createContext({
      contextSize: maxLength,
      batchSize: promptLength,
      threads,
    });
    const sequence = context.getSequence();
    type Tokens = Parameters<typeof sequence.evaluate>[0];
    return {
      about: `node-llama-cpp ${packageVersion('node-llama-cpp')}`,
      weightBytes,
      async answer(prompt, count) {
        await sequence.clearHistory();
        const options = { temperature: 0, yieldEogTokens: true };
        const tokens = sequence.evaluate([...prompt] as unknown as Tokens, options);
        return timed(tokens as AsyncIterable<number>, count);
      },
      async dispose() {
        await context.dispose();
        await model.dispose();
        await llama.dispose();
      },
    };
  },
};
