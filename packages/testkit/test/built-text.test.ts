/**
 * @file What the build leaves out of the text that programs read: comments, and imports of what is imported already.
 */
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { oneImport } from '../../../tooling/one-import.mjs';
import { withoutComments } from '../../../tooling/without-comments.mjs';

describe('comments', () => {
  const without = (text: string): string => withoutComments(text, 'place.ts');

  test('go, and lines stay', () => {
    const text =
      '/** @file … */\nexport const a = 1; // one\n/*\n two */ export const b = /* three */ 2;\n// end';
    const written = without(text);
    expect(written).not.toMatch(/file|one|two|three|end|[*/]/);
    expect(written.split('\n').map((line) => line.trim())).toEqual([
      '',
      'export const a = 1;',
      '',
      expect.stringMatching(/^export const b = +2;$/),
      '',
    ]);
  });

  test.each([
    ["strings: 'http://a /* b */'", `export const a = 'http://a /* b */';`],
    ['templates', 'export const a = `// no ${1 + 1} /* comment */`;'],
    ['regular expressions', String.raw`export const a = /\/\*x\*\/ \/\/y/;`],
    [
      'marks for bundlers',
      'export const a = /* @__PURE__ */ make();\nimport(/* @vite-ignore */ a);',
    ],
    ['licences', '/*! (c) */\nexport const a = 1;'],
  ])('are not sought in %s', (_what, text) => {
    expect(without(text)).toBe(text);
  });
});

describe('imports of another package', () => {
  /** What a package of these files is built to. */
  async function built(files: Readonly<Record<string, string>>): Promise<string> {
    const { outputFiles } = await build({
      entryPoints: ['./index.js'],
      bundle: true,
      write: false,
      format: 'esm',
      plugins: [
        oneImport(Object.values(files)),
        {
          name: 'files',
          setup(plugins) {
            plugins.onResolve({ filter: /^\.\// }, ({ path }) => ({ path, namespace: 'files' }));
            plugins.onLoad({ filter: /.*/, namespace: 'files' }, ({ path }) => ({
              contents: files[path],
              loader: 'ts',
            }));
          },
        },
      ],
    });
    return outputFiles[0]!.text;
  }

  test('are one statement, with the names that modules use', async () => {
    const text = await built({
      './index.js': `
        import { type Size, log } from '@tessera/shared';
        import { helper } from './helper.js';
        export { gcd } from '@tessera/shared';
        export const run = (size: Size): unknown => helper(log(size));`,
      './helper.js': `
        import { TesseraError, log as print } from '@tessera/shared';
        import { isTensor } from '@tessera/tensor';
        export const helper = (x: unknown): unknown => {
          if (isTensor(x)) throw new TesseraError('invalid-argument', print('no'));
          return import('@tessera/nn');
        };`,
    });
    expect(text.match(/^import .*$/gm)!.sort()).toEqual([
      'import { TesseraError, gcd, log } from "@tessera/shared";',
      'import { isTensor } from "@tessera/tensor";',
    ]);
    expect(text.match(/\blog\(/g)).toHaveLength(2);
    expect(text).toContain('import("@tessera/nn")');
    expect(text).toMatch(/export \{\s+gcd,\s+run\s+\};/);
  });

  test('of a whole package, and for its effects, stay', async () => {
    const text = await built({
      './index.js': `
        import * as core from '@tessera/shared';
        import '@tessera/tensor';
        import { helper } from './helper.js';
        export const run = (size: number): unknown => helper(core.log(size));`,
      './helper.js': `
        import { log } from '@tessera/shared';
        export const helper = (x: unknown): unknown => log(x);`,
    });
    expect(text).toContain('import * as core from "@tessera/shared";');
    expect(text).toContain('core.log(size)');
    expect(text).toContain('import "@tessera/tensor";');
  });
});
