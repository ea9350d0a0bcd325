/**
 * @file What the explorer's editor knows types from: declarations of the packages that a program may import, made from
 * their sources, and those of the language.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { declarationsOf } from '../../../../tooling/declarations.js';
import { PROGRAM_PACKAGES } from '../explorer/program-packages.js';
import { pathOf } from './repository-files.js';

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly '@tessera/source'?: string }>>;
}

/** Files of a package and of those that its declarations name. */
function addPackage(files: Map<string, string>, name: string): void {
  const root = `/node_modules/@tessera/${name}`;
  if (files.has(`${root}/package.json`)) return;
  const folder = pathOf(`packages/${name}`);
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  const sources = Object.entries(manifest.exports).flatMap(([entry, conditions]) => {
    const source = conditions['@tessera/source'];
    return source === undefined ? [] : [[entry, source] as const];
  });
  const exports = sources.map(([entry, source]) => [
    entry,
    { types: source.replace('./src/', './').replace(/\.ts$/, '.d.ts') },
  ]);
  files.set(
    `${root}/package.json`,
    JSON.stringify({
      name: `@tessera/${name}`,
      type: 'module',
      exports: Object.fromEntries(exports),
    }),
  );
  const texts = declarationsOf(
    folder,
    sources.map(([, source]) => source),
  );
  for (const [path, text] of texts) {
    files.set(`${root}/${path}`, text);
    for (const [, other] of text.matchAll(/['"]@tessera\/([\w-]+)[/\w-]*['"]/g))
      addPackage(files, other!);
  }
}

/** Declarations of ECMAScript; a page's are three times as large, and programs use only the console. */
function addLanguage(files: Map<string, string>): void {
  const folder = dirname(createRequire(import.meta.url).resolve('typescript/lib/typescript.js'));
  for (const name of readdirSync(folder))
    if (/^lib\.(es|decorators).*\.d\.ts$/.test(name) && !name.includes('full'))
      files.set(`/${name}`, readFileSync(join(folder, name), 'utf8'));
}

/** Texts by path, as JSON. */
export function typeFiles(): string {
  const files = new Map<string, string>();
  for (const name of PROGRAM_PACKAGES) addPackage(files, name);
  addLanguage(files);
  return JSON.stringify(Object.fromEntries(files));
}
