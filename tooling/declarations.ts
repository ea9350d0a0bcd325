/**
 * @file Writes a package's declarations: one `.d.ts` for each source that its public types reach.
 *
 * Sources carry all their types (`isolatedDeclarations`), so each file is translated alone, in milliseconds, and no
 * bundler of declarations stands between what was written and what users see.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { isolatedDeclarationSync } from 'oxc-transform';

/** What TypeScript has in no library of ES2022. */
const DISPOSABLE = /\b(?:Async)?Disposable\b|\[Symbol\.(?:asyncD|d)ispose\]/;

/** A declaration with the libraries that it needs: projects whose own `lib` is older check it, too. */
function withLibraries(code: string): string {
  return DISPOSABLE.test(code) ? `/// <reference lib="esnext.disposable" />\n${code}` : code;
}

/** Relative modules that a declaration names: `from './x.js'`, `import './x.js'`, `import('./x.js')`. */
function relativeImports(text: string): string[] {
  return [...text.matchAll(/\b(?:from|import)\s*\(?\s*["'](\.[^"']+)["']/g)].map(
    ([, name]) => name!,
  );
}

/** The declarations of entries (`src/index.ts`), and of what they name: texts by their paths within `src`. */
export function declarationsOf(folder: string, entries: readonly string[]): Map<string, string> {
  const sources = join(folder, 'src');
  const pending = entries.map((entry) => resolve(folder, entry));
  const seen = new Set(pending);
  const texts = new Map<string, string>();
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    const { code, errors } = isolatedDeclarationSync(file, readFileSync(file, 'utf8'), {
      stripInternal: true,
    });
    if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
    texts.set(relative(sources, file).replace(/\.ts$/, '.d.ts'), code);
    for (const name of relativeImports(code)) {
      const next = resolve(dirname(file), name.replace(/\.js$/, '.ts'));
      if (seen.has(next)) continue;
      if (relative(sources, next).startsWith('..'))
        throw new Error(`${file} takes types from '${name}', which is not published.`);
      seen.add(next);
      pending.push(next);
    }
  }
  return texts;
}

/** Writes the declarations of entries, and of what they name, below `dist`. `banner` opens the first. */
export function writeDeclarations(folder: string, entries: readonly string[], banner = ''): void {
  const first = relative(join(folder, 'src'), resolve(folder, entries[0]!)).replace(
    /\.ts$/,
    '.d.ts',
  );
  for (const [path, code] of declarationsOf(folder, entries)) {
    const target = join(folder, 'dist', path);
    mkdirSync(dirname(target), { recursive: true });
    const text = path === first && banner !== '' ? `${banner}\n${code}` : code;
    writeFileSync(target, withLibraries(text));
  }
}
