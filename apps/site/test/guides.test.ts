/**
 * @file The code of the start page and of every guide has right types, runs, and prints what it says.
 */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { testReadme } from '../../../tooling/readme.js';
import { typeErrors } from './support/type-errors.js';

const site = new URL('../', import.meta.url);
const guides = readdirSync(new URL('guides', site)).map((file) => `guides/${file}`);
const documents = ['content/start.md', ...guides.sort()];

// The first import of the sources takes long on a busy machine: it is not part of a test's time.
beforeAll(() => import('@tessera/testkit'), 300_000);

for (const document of documents)
  describe(`the code of ${document}`, () => {
    testReadme(new URL(document, site), { from: site });
  });

it('has only samples with right types', () => {
  const results = new URL('.test-results/', site);
  const programs = documents.map((document) => {
    const name = document.replace(/^.*\//, '').replace('.md', '');
    return fileURLToPath(new URL(`readme-of-${name}.ts`, results));
  });
  expect(typeErrors(programs)).toEqual([]);
}, 120_000);
