/**
 * @file Documents with generated blocks: `<!-- stage:name -->…<!-- /stage -->`.
 *
 * A test generates the blocks and compares; with `UPDATE_DOCS=1` it writes the document instead.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A document at the root of the repository. */
export function documentPath(name: string): string {
  return fileURLToPath(new URL(`../../../${name}`, import.meta.url));
}

/** Whether documents are rewritten instead of compared. */
export function updatesDocs(): boolean {
  return process.env['UPDATE_DOCS'] === '1';
}

/** Text of a fenced code block; at most `limit` lines of it, saying how many follow. */
export function fenced(language: string, text: string, limit: number = Infinity): string {
  const lines = text.trimEnd().split('\n');
  const shown = lines.slice(0, limit);
  const rest = lines.length - shown.length;
  const more = rest === 0 ? '' : `\n\n… and ${rest} more lines.`;
  return `\`\`\`${language}\n${shown.join('\n')}\n\`\`\`${more}`;
}

/** Names of the blocks of a document, in order. */
export function blockNames(document: string): string[] {
  return [...document.matchAll(/^<!-- stage:([a-z-]+) -->$/gm)].map((match) => match[1]!);
}

/** The document with a block's contents replaced; it must have the block. */
export function withBlock(document: string, name: string, contents: string): string {
  const start = `<!-- stage:${name} -->`;
  const from = document.indexOf(start);
  const to = document.indexOf('<!-- /stage -->', from);
  if (from < 0 || to < 0) throw new Error(`The document has no block '${name}'.`);
  return `${document.slice(0, from + start.length)}\n\n${contents.trim()}\n\n${document.slice(to)}`;
}

/** Fills all blocks of a document. Returns it as it is and as it should be; writes it when updating. */
export function checkedDocument(
  name: string,
  blocks: Readonly<Record<string, string>>,
): { actual: string; expected: string } {
  const path = documentPath(name);
  const before = readFileSync(path, 'utf8');
  let expected = before;
  for (const [block, contents] of Object.entries(blocks))
    expected = withBlock(expected, block, contents);
  if (!updatesDocs()) return { actual: before, expected };
  writeFileSync(path, expected);
  return { actual: expected, expected };
}
