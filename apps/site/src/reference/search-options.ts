/**
 * @file How names are found: the same for the index that is built and for the page that reads it.
 */
import type { Options } from 'minisearch';

/** An exported name. */
export interface SearchEntry {
  /** Its address, from the folder of the reference. */
  readonly id: string;
  readonly name: string;
  readonly module: string;
  readonly kind: string;
  readonly summary: string;
  /** Names of its members. */
  readonly members: string;
}

/** `LayerNorm` is found by its name and by its words. */
function wordsOf(text: string): string[] {
  const words = text.split(/[^\p{L}\p{N}_]+/u).filter((word) => word !== '');
  const parts = words.flatMap((word) => word.split(/(?<=[a-z0-9])(?=[A-Z])|_/));
  return [...new Set([...words, ...parts])];
}

/** See the file header. */
export const SEARCH_OPTIONS: Options<SearchEntry> = {
  fields: ['name', 'members', 'summary'],
  storeFields: ['name', 'module', 'kind', 'summary'],
  tokenize: wordsOf,
  searchOptions: { prefix: true, fuzzy: 0.15, boost: { name: 6, members: 2 } },
};
