/**
 * @file Draws the package picture in ARCHITECTURE.md from the imports that are really there.
 *
 * `node scripts/package-diagram.mjs` writes it between the two markers; `--check` fails when it is
 * out of date; `--print` writes it to the terminal. An arrow points at what a package imports;
 * arrows that others imply are left out.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { layers, root } from './workspace.mjs';

const START = '<!-- package-diagram:start (node scripts/package-diagram.mjs) -->';
const END = '<!-- package-diagram:end -->';
const TARGET = 'ARCHITECTURE.md';

/** Which packages each package's sources import. */
function importedPackages() {
  const json = execFileSync(
    process.execPath,
    [
      join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs'),
      '--config=.dependency-cruiser.mjs',
      '--output-type=json',
      'packages',
    ],
    { cwd: root, maxBuffer: 1 << 28, encoding: 'utf8' },
  );
  const owner = (path) => /^packages\/([^/]+)\/src\//.exec(path)?.[1];
  const edges = new Map();
  for (const module of JSON.parse(json).modules) {
    const from = owner(module.source);
    if (from === undefined) continue;
    if (!edges.has(from)) edges.set(from, new Set());
    for (const dependency of module.dependencies) {
      const to = owner(dependency.resolved);
      if (to !== undefined && to !== from) edges.get(from).add(to);
    }
  }
  return edges;
}

/** The same graph without the arrows that longer paths imply. */
function withoutImplied(edges) {
  const reaches = (from, to, seen = new Set()) => {
    const stack = [from];
    while (stack.length > 0) {
      const at = stack.pop();
      if (at === to) return true;
      if (seen.has(at)) continue;
      seen.add(at);
      stack.push(...(edges.get(at) ?? []));
    }
    return false;
  };
  const reduced = new Map();
  for (const [from, targets] of edges) {
    reduced.set(
      from,
      [...targets].filter((to) => ![...targets].some((via) => via !== to && reaches(via, to))),
    );
  }
  return reduced;
}

function mermaid() {
  const order = Object.keys(layers);
  const edges = withoutImplied(importedPackages());
  // `graph` is a word of mermaid's own, so no node is called just that.
  const id = (name) => `pkg_${name.replaceAll('-', '_')}`;
  const lines = ['```mermaid', 'flowchart BT'];
  for (const name of order.filter((n) => edges.has(n))) {
    lines.push(`  ${id(name)}["@tessera/${name}"]`);
  }
  for (const from of order) {
    for (const to of order.filter((n) => edges.get(from)?.includes(n))) {
      lines.push(`  ${id(from)} --> ${id(to)}`);
    }
  }
  lines.push('```');
  return lines.join('\n');
}

const mode = process.argv[2];
if (mode === '--print') {
  console.log(mermaid());
} else {
  const path = join(root, TARGET);
  if (!existsSync(path)) {
    console.error(`${TARGET} does not exist.`);
    process.exit(1);
  }
  const text = readFileSync(path, 'utf8');
  const start = text.indexOf(START);
  const end = text.indexOf(END);
  if (start < 0 || end < start) {
    console.error(
      `${TARGET} needs these two lines, the picture goes between them:\n${START}\n${END}`,
    );
    process.exit(1);
  }
  const updated = `${text.slice(0, start + START.length)}\n\n${mermaid()}\n\n${text.slice(end)}`;
  if (mode !== '--check') {
    writeFileSync(path, updated);
  } else if (updated !== text) {
    console.error(
      `The package picture in ${TARGET} is out of date: node scripts/package-diagram.mjs`,
    );
    process.exit(1);
  }
}
