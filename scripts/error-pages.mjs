/**
 * @file Checks that every error code has a page in `docs/errors/` and a test that triggers it, that
 * no page is left without its code, and that the examples on the pages import names that exist.
 *
 * The codes are the keys in `packages/shared/src/error-codes.ts`. "A test that triggers it" means
 * that a test file names the code; whether the test then does what it says is for its author.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { members, root } from './workspace.mjs';

const pages = join(root, 'docs/errors');
const registry = readFileSync(join(root, 'packages/shared/src/error-codes.ts'), 'utf8');
const codes = [...registry.matchAll(/^ {2}'?([a-z0-9-]+)'?:\s/gm)].map((match) => match[1]);

let tests = '';
for (const member of members()) {
  const folder = join(root, member.dir, 'test');
  if (!existsSync(folder)) continue;
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (entry.endsWith('.test.ts')) tests += readFileSync(join(folder, entry), 'utf8');
  }
}

/** The names that each entry of a package lists, by the entry's name. */
const exported = new Map(
  members().flatMap((member) =>
    Object.entries(member.manifest.exports ?? {}).map(([entry, conditions]) => {
      const source = join(root, member.dir, conditions['@tessera/source'] ?? 'src/index.ts');
      const text = existsSync(source) ? readFileSync(source, 'utf8') : '';
      const lists = [...text.matchAll(/export (?:type )?\{([^}]*)\}/g)].map((match) => match[1]);
      const names = lists.flatMap((list) => list.split(',')).map((name) => name.trim());
      const known = new Set(names.map((name) => name.split(/\s/).at(-1)));
      return [`${member.manifest.name}${entry.slice(1)}`, known];
    }),
  ),
);

const problems = [];
if (codes.length === 0) problems.push('no codes found in packages/shared/src/error-codes.ts');
for (const code of codes) {
  const page = join(pages, `${code}.md`);
  if (!existsSync(page)) {
    problems.push(`${code}: docs/errors/${code}.md is missing`);
  } else if (!readFileSync(page, 'utf8').startsWith(`# ${code}\n`)) {
    problems.push(`${code}: docs/errors/${code}.md does not start with "# ${code}"`);
  }
  if (!tests.includes(`'${code}'`)) problems.push(`${code}: no test names it`);
}
for (const file of readdirSync(pages)) {
  if (file === 'README.md') continue;
  const code = file.replace(/\.md$/, '');
  if (!codes.includes(code)) problems.push(`docs/errors/${file}: no such error code`);
  const text = readFileSync(join(pages, file), 'utf8');
  for (const [, list, from] of text.matchAll(
    /import (?:type )?\{([^}]*)\} from '(@tessera\/.*)'/g,
  )) {
    for (const name of list.split(',').map((part) => part.trim())) {
      if (exported.get(from)?.has(name)) continue;
      problems.push(`docs/errors/${file}: ${from} does not export ${name}`);
    }
  }
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
