/**
 * @file What a page carries: no loading where nothing is loaded, no reader of PyTorch's files for safetensors.
 */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';

/** Files of this package that end up in a bundle of some code, by path in `src`. */
async function bundled(code: string): Promise<string[]> {
  const result = await build({
    stdin: { contents: code, resolveDir: fileURLToPath(new URL('.', import.meta.url)) },
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['@tessera/source'],
    logLevel: 'silent',
  });
  const [output] = Object.values(result.metafile.outputs);
  return Object.entries(output!.inputs)
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => path.replace(/^.*?src\//, ''));
}

const TENSORS = "import { ones } from '../src/index.js'; console.log(ones([2]).add(1));";

describe('a bundle', () => {
  it('of tensors alone has nothing of loading', async () => {
    const files = await bundled(TENSORS);
    expect(files).toContain('tensor.ts');
    expect(files.filter((path) => path.startsWith('io/'))).toEqual([]);
  });

  it('of loadCheckpoint has nothing of zip files and pickles', async () => {
    const files = await bundled(
      "import { loadCheckpoint } from '../src/index.js'; console.log(loadCheckpoint('x'));",
    );
    expect(files).toContain('io/checkpoint.ts');
    expect(files.filter((path) => path.startsWith('io/torch/'))).toEqual([]);
  });

  it('of loadTorchCheckpoint has nothing of safetensors', async () => {
    const files = await bundled(
      "import { loadTorchCheckpoint } from '../src/index.js'; console.log(loadTorchCheckpoint('x'));",
    );
    expect(files).toContain('io/torch/unpickler.ts');
    expect(files.filter((path) => path.includes('safetensors'))).toEqual([]);
  });
});
