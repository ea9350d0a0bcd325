/**
 * @file Checks what npm shows of each published package: where it lives, words to find it by, what is packed, and
 * that its README has no link that ends outside the package, since nothing is there on npm.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { members, root } from './workspace.mjs';

/** The address that errors name is the one in the manifests. */
const source = readFileSync(join(root, 'packages/shared/src/repository.ts'), 'utf8');
const [, repository = ''] = /REPOSITORY = '(.*)'/.exec(source) ?? [];

/** Fields that follow from where a package is. */
const expected = (dir) => ({
  license: 'MIT',
  homepage: `${repository}/tree/main/${dir}#readme`,
  bugs: `${repository}/issues`,
  repository: { type: 'git', url: `git+${repository}.git`, directory: dir },
});

/** What is wrong with a README's links, in words. */
function badLinks(dir, text) {
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target);
  return links.flatMap((target) => {
    if (target.startsWith('#') || /^[a-z]+:/.test(target)) {
      const inside = target.startsWith(`${repository}/`) ? target.slice(repository.length) : '';
      const [, path] = /^\/(?:blob|tree)\/main\/([^#]*)/.exec(inside) ?? [];
      const exists = path === undefined || existsSync(join(root, path));
      return exists ? [] : [`README.md: ${target} is not there`];
    }
    const leaves = normalize(target).startsWith('..') || target.startsWith('/');
    const missing = !existsSync(join(root, dir, target.replace(/#.*/, '')));
    if (!leaves && !missing) return [];
    return [`README.md: ${target} leads nowhere on npm; write ${repository}/blob/main/…`];
  });
}

const problems = [];
for (const { dir, manifest, isApp } of members()) {
  if (isApp || manifest.private === true) continue;
  const say = (text) => problems.push(`${dir}: ${text}`);
  for (const [key, value] of Object.entries(expected(dir)))
    if (!isDeepStrictEqual(manifest[key], value))
      say(`package.json: "${key}" should be ${JSON.stringify(value)}`);
  if (!(manifest.keywords?.length >= 3)) say('package.json: give at least three keywords');
  if ((manifest.description ?? '') === '') say('package.json: give a description');
  if (manifest.publishConfig?.access !== 'public') say('package.json: publishConfig.access');
  for (const file of ['dist', 'README.md', 'CHANGELOG.md'])
    if (!manifest.files?.includes(file)) say(`package.json: "files" should have ${file}`);
  const readme = join(root, dir, 'README.md');
  if (!existsSync(readme)) say('README.md is missing');
  else badLinks(dir, readFileSync(readme, 'utf8')).forEach(say);
  if (!existsSync(join(root, dir, 'test/readme.test.ts')))
    say('test/readme.test.ts is missing: it runs the code in README.md');
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
