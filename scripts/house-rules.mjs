/**
 * @file House rules that no linter knows: headers, file names, explicit entry points, file length,
 * relative imports with extensions.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { members, root } from './workspace.mjs';

const MAX_LINES = 400;

const rules = [
  {
    message: 'starts with a /** @file … */ header: what it is, where it sits, what it keeps true',
    breaks: ({ text, isSource }) =>
      isSource && !/^(?:#!.*\n)?\/\*\*\s*(?:\n \*\s*)?@file\s/.test(text),
  },
  {
    message: 'no `export *`: an entry point lists what it exports',
    // What Node has in place of an entry has the same names.
    breaks: ({ text, name }) =>
      /^export \*/m.test(text) &&
      !(name === 'node.ts' && /^export \* from '\.\/index\.js';$/m.test(text)),
  },
  {
    message: 'name the file after what it holds, not utils or helpers',
    breaks: ({ name, isSource }) => isSource && /^(?:utils?|helpers?|misc|common)\.ts$/.test(name),
  },
  {
    message: 'relative imports end in .js (or .json)',
    breaks: ({ text }) =>
      /(?:from|import)\s*\(?\s*'\.\.?\/(?:[^'\n]*\/)?[^'/\n]*'/.test(
        text.replaceAll(/'\.\.?\/[^'\n]+\.(?:js|mjs|json)'/g, "''"),
      ),
  },
  {
    message: `at most ${MAX_LINES} lines: one concept per file`,
    // An index is a list of exports, one name a line.
    breaks: ({ lines, name, isSource }) => isSource && name !== 'index.ts' && lines > MAX_LINES,
  },
  {
    message: 'no skipped, focused or todo tests (the conformance list names what is to come)',
    breaks: ({ text, name, part }) =>
      name.endsWith('.test.ts') &&
      (/\b(?:it|test|describe)\.(?:skip|only)\b/.test(text) ||
        (part !== 'conformance' && /\b(?:it|test|describe)\.todo\b/.test(text))),
  },
  {
    message: 'no TODO or FIXME left behind',
    breaks: ({ text }) => /\b(?:TODO|FIXME|XXX)\b/.test(text),
  },
];

const broken = [];
for (const member of members()) {
  for (const part of ['src', 'test', 'conformance']) {
    const folder = join(root, member.dir, part);
    let entries;
    try {
      entries = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    } catch {
      continue;
    }
    // Generated files have the rules of what made them.
    const own = entries.filter((e) => e.endsWith('.ts') && !/(?:^|[\\/])generated[\\/]/.test(e));
    for (const entry of own) {
      const path = join(folder, entry);
      const text = readFileSync(path, 'utf8');
      const file = {
        text,
        part,
        name: basename(path),
        isSource: part === 'src',
        lines: text.split('\n').length - 1,
      };
      for (const rule of rules) {
        if (rule.breaks(file)) broken.push(`${relative(root, path)}: ${rule.message}`);
      }
    }
  }
}
for (const line of broken) console.error(line);
process.exitCode = broken.length === 0 ? 0 : 1;
