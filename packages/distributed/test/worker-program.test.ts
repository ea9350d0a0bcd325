/**
 * The text of the thread that owns MPI is what its sources are bundled into. `UPDATE_DOCS=1` rewrites it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, it } from 'vitest';

const source = (path: string): string =>
  fileURLToPath(new URL(`../src/mpi/${path}`, import.meta.url));

const HEADER = `/**
 * @file The program of the thread that owns MPI: \`worker/main.ts\` bundled into one text, so that a program that uses
 * this package stays one file whatever bundles it. Made by \`UPDATE_DOCS=1 npx vitest run worker-program\`.
 */
`;

it('the embedded worker program is made from its sources', async () => {
  const { outputFiles } = await build({
    entryPoints: [source('worker/main.ts')],
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'node',
    target: 'es2022',
    minify: true,
    charset: 'ascii',
    legalComments: 'none',
    conditions: ['@tessera/source'],
  });
  const program = outputFiles[0]!.text.trim();
  const text = `${HEADER}// prettier-ignore\nexport const MPI_WORKER_PROGRAM: string = ${JSON.stringify(program)};\n`;
  const path = source('worker-program.ts');
  if (process.env.UPDATE_DOCS === '1') writeFileSync(path, text);
  expect(readFileSync(path, 'utf8')).toBe(text);
});
