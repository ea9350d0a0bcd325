/**
 * @file What the build writes in sources, so that pages download and programs read less: see the files that this one calls.
 */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import ts from 'typescript';
import { assignedFields } from './assigned-fields.mjs';
import { writeDensePrograms } from './dense-programs.mjs';
import { inserted } from './inserted.mjs';
import { writeMethods } from './method-table.mjs';
import { privateNames } from './private-names.mjs';
import { pureMarks } from './pure-definitions.mjs';
import { blanks } from './without-comments.mjs';

const SOURCES = /packages[\\/](\w|-)+[\\/]src[\\/].*\.ts$/;

/** Packages whose parts pages leave out. */
const IN_PARTS = /packages[\\/](tensor|nn|inductor-core|inductor-wgsl)[\\/]src[\\/]/;

/** Modules and optimizers keep the order of their fields, which is that of state dicts. */
const ORDERED = /packages[\\/](nn|transformers)[\\/]src[\\/]/;

const SCALAR_FUNCTIONS = /inductor-core[\\/]src[\\/]schedule[\\/]functions[\\/]/;

/**
 * What was written of the sources that a process has read: bundles of a run share most of them.
 *
 * @type {Map<string, { readonly text: string; readonly lean: string }>}
 */
const written = new Map();

/** A plugin of esbuild. */
export function leanSources() {
  return {
    name: 'lean-sources',
    setup(build) {
      build.onLoad({ filter: SOURCES }, async ({ path }) => ({
        contents: writtenOnce(await readFile(path, 'utf8'), path),
        loader: 'ts',
      }));
    },
  };
}

/**
 * @param {string} text
 * @param {string} path
 */
function writtenOnce(text, path) {
  const known = written.get(path);
  if (known?.text === text) return known.lean;
  const lean = leanSource(text, path);
  // The methods are written from other files too.
  if (!isMethodTable(path)) written.set(path, { text, lean });
  return lean;
}

/** @param {string} path */
const isMethodTable = (path) => path.endsWith('tensor-methods.ts');

/**
 * @param {string} text
 * @param {string} path
 */
export function leanSource(text, path) {
  const whole = writtenOut(text, path);
  const source = ts.createSourceFile(path, whole, ts.ScriptTarget.Latest, true);
  return inserted(whole, [
    ...blanks(source),
    ...(IN_PARTS.test(path) ? pureMarks(source) : []),
    ...(ORDERED.test(path) ? [] : [...assignedFields(source), ...privateNames(source)]),
  ]);
}

/**
 * @param {string} text
 * @param {string} path
 */
function writtenOut(text, path) {
  if (isMethodTable(path)) return writeMethods(text, path, (file) => readFileSync(file, 'utf8'));
  return SCALAR_FUNCTIONS.test(path) ? writeDensePrograms(text, path) : text;
}
