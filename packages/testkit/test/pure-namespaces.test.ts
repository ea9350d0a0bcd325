/**
 * @file The objects of namespaces in built files: the same values, and gone where nothing reads them.
 */
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { pureNamespaces } from '../../../tooling/pure-namespaces.mjs';

const FILES: Readonly<Record<string, string>> = {
  // A variable of this name makes esbuild rename those of its helper.
  names:
    'export const all = 1; export const target = 2; export function both() { return all + target; }',
  reader: "import * as names from 'names'; export const read = () => Object.entries(names);",
  main: "export { read } from 'reader'; export { both } from 'names';",
  page: "import { both } from 'built'; console.log(both());",
};

async function bundle(file: string, built = ''): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [file],
    bundle: true,
    format: 'esm',
    write: false,
    plugins: [
      {
        name: 'files',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /.*/ }, ({ path }) => ({ path, namespace: 'memory' }));
          onLoad({ filter: /.*/, namespace: 'memory' }, ({ path }) => ({
            contents: path === 'built' ? built : FILES[path]!,
          }));
        },
      },
    ],
  });
  return outputFiles[0]!.text;
}

test('a namespace has its values', async () => {
  const built = pureNamespaces(await bundle('main'));
  expect(built).toContain('/* @__PURE__ */ ((target, all)');
  const { read } = (await import(`data:text/javascript,${encodeURIComponent(built)}`)) as {
    read: () => [string, unknown][];
  };
  expect(read().map(([name]) => name)).toEqual(['all', 'both', 'target']);
  expect(read()[0]![1]).toBe(1);
});

test('a namespace that nothing reads is dropped', async () => {
  const built = await bundle('main');
  expect(await bundle('page', built)).toContain('__export');
  expect(await bundle('page', pureNamespaces(built))).not.toContain('names_exports');
});

test('no line moves', async () => {
  const built = await bundle('main');
  expect(pureNamespaces(built).split('\n').length).toBe(built.split('\n').length);
});
